import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { listDiskFiles } from '../../../../config/yaml/files.ts'

const FOLDER = 'strategies'

/**
 * Strategies that a live config of this folder would trade: kept from before, as `init` writes every one of them off. By
 * the text alone, for a file with a mistake is not to hide behind it.
 */
export async function strategiesThatAreOn(dir: string): Promise<readonly string[]> {
  const names = listDiskFiles(join(dir, FOLDER)).filter((name) => /^[^.].*\.ya?ml$/.test(name))
  const on: string[] = []
  for (const name of names.sort()) {
    const file = `${FOLDER}/${name}`
    // What cannot be read is not known to be off.
    const text = await readFile(join(dir, file), 'utf8').catch(() => '')
    if (!/^enabled: +false\b/m.test(text)) on.push(file)
  }
  return on
}
