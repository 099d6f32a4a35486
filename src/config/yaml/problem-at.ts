import { type Fault, locate } from './document.ts'
import { formatPath, type Problem, problemOf } from './problem.ts'
import { parseConfigText } from './tree.ts'
import { readDiskFile, readText } from './yaml-files.ts'

/** Locates a fault that appears only when a file named in the config is opened. Reads the config again for its position. */
export function problemAt(file: string, fault: Fault): Problem {
  const read = readText(file, readDiskFile)
  if (read.ok) return locate(parseConfigText(file, read.text).document, fault)
  const { message, expected } = fault
  return problemOf({ file, path: formatPath(fault.path), message, expected })
}
