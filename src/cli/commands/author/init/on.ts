import { join } from 'node:path'
import { listDiskFiles, readDiskFile, readText } from '../../../../config/yaml/files.ts'

const FOLDER = 'strategies'

/**
 * Strategies that a live config of this folder would trade: kept from before, as `init` writes every one of them off. By
 * the text alone, for a file with a mistake is not to hide behind it.
 */
export function strategiesThatAreOn(dir: string): readonly string[] {
  const names = listDiskFiles(join(dir, FOLDER)).filter((name) => /^[^.].*\.ya?ml$/.test(name))
  const on: string[] = []
  for (const name of names.sort()) {
    const file = `${FOLDER}/${name}`
    // What cannot be read is not known to be off.
    const read = readText(join(dir, file), readDiskFile)
    if (!read.ok || !/^enabled: +false\b/m.test(read.text)) on.push(file)
  }
  return on
}
