import { type Fault, locate } from './document.ts'
import { formatPath, type Problem, problemOf } from './problem.ts'
import { parseConfigText } from './tree.ts'
import { readDiskFile, readText } from './yaml-files.ts'

/** A fault that is found only when something that the file names is opened. The file is read again for its place. */
export function problemAt(file: string, fault: Fault): Problem {
  const read = readText(file, readDiskFile)
  if (read.ok) return locate(parseConfigText(file, read.text).document, fault)
  const { message, expected } = fault
  return problemOf({ file, path: formatPath(fault.path), message, expected })
}
