import { readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf } from '../../domain/errors.ts'
import {
  copyPrivately,
  ensureDirectory,
  fileSize,
  moveDurably,
  syncFile,
} from '../../system/durable-file.ts'
import { listSegments, sideFileOf } from './segments.ts'

/** Directory that takes finished journal files, and how many of them stay, at least 2. */
export type ArchiveRule = { readonly dir: string; readonly keepFiles: number }

/**
 * Moves finished journal files to the archive, oldest first, while more than `keepFiles` remain. Files after the snapshot
 * stay, because a start needs them. Each file is complete in at least one place at any moment. Returns the number moved.
 * Rejects if the archive cannot take a file, which then stays.
 */
export async function archiveFinished(
  journalDir: string,
  { dir, keepFiles }: ArchiveRule,
  snapshotSeq: number,
): Promise<number> {
  const segments = await listSegments(journalDir)
  const last = segments.length - Math.max(2, keepFiles)
  let moved = 0
  for (const [index, { file }] of segments.slice(0, Math.max(0, last)).entries()) {
    const next = segments[index + 1]
    if (next === undefined || next.firstSeq > snapshotSeq + 1) break
    if (moved === 0) await ensureDirectory(dir)
    const to = join(dir, basename(file))
    await moveSideFile(sideFileOf(file), sideFileOf(to))
    await moveOver(file, to)
    moved += 1
  }
  return moved
}

/** Goes first: one that is left alone counts as missing, and is made again. */
async function moveSideFile(from: string, to: string): Promise<void> {
  if ((await fileSize(from)) === undefined) return
  await copyPrivately(from, to)
  await rm(from)
}

/** A crash between copy and removal leaves both; the next run removes the original. */
async function moveOver(from: string, to: string): Promise<void> {
  if ((await fileSize(to)) === undefined) {
    try {
      await moveDurably(from, to)
      return
    } catch (error) {
      if (codeOf(error) !== 'EXDEV') throw error
      // The archive is on another disk.
      const copy = `${to}.tmp`
      await copyPrivately(from, copy)
      await moveDurably(copy, to)
    }
  }
  if (!(await isSame(from, to)))
    throw new Error(`${to} is there already and is another file: move one of them away`)
  await rm(from)
  await syncFile(dirname(from))
}

async function isSame(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([readFile(one), readFile(other)])
  return a.equals(b)
}
