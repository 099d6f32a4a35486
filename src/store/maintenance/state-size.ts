import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifThere } from '../../system/durable-file.ts'
import { stateFiles } from '../file/state-files.ts'

export type StateSize = Readonly<Record<'journal' | 'snapshot' | 'other', number>>

/** Upper bound on files per directory; a journal of that many is many GB. */
const FILES_MAX = 4_096

/** Bytes of the journal, the snapshot, and other files directly in the directory. Rejects if one cannot be read. */
export async function stateSize(dir: string): Promise<StateSize> {
  const files = stateFiles(dir)
  const [journal, snapshot, all] = await Promise.all([
    sumOf(files.journal),
    bytesOf(files.snapshot),
    sumOf(dir),
  ])
  return { journal, snapshot, other: Math.max(0, all - snapshot) }
}

async function sumOf(dir: string): Promise<number> {
  const names = (await ifThere(readdir(dir))) ?? []
  const sizes = await Promise.all(names.slice(-FILES_MAX).map((name) => bytesOf(join(dir, name))))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Zero for a missing path or a non-file. */
async function bytesOf(file: string): Promise<number> {
  const found = await ifThere(stat(file))
  return found?.isFile() === true ? found.size : 0
}
