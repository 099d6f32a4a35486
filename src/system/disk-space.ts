import { randomBytes } from 'node:crypto'
import { open, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../domain/errors.ts'
import { PRIVATE_FILE } from './durable-file.ts'

export type DiskInspection = {
  /** Free bytes for non-root users. */
  readonly freeBytes: number
  /** Undefined if the directory is missing, because a read-only check creates nothing. */
  readonly writes:
    | { readonly ok: true; readonly medianMs: number; readonly worstMs: number }
    | { readonly ok: false; readonly why: string }
    | undefined
}

const WRITES = 15
/** About the size of a record. */
const BYTES = 1_024

/** Writes and syncs a small file several times, then removes it. */
export async function inspectDisk(dir: string, monotonicMs: () => number): Promise<DiskInspection> {
  const there = await nearest(dir)
  const { bavail, bsize } = await statfs(there)
  const freeBytes = bavail * bsize
  if (there !== dir) return { freeBytes, writes: undefined }
  try {
    return { freeBytes, writes: { ok: true, ...(await measure(dir, monotonicMs)) } }
  } catch (error) {
    return { freeBytes, writes: { ok: false, why: codeOf(error) ?? String(error) } }
  }
}

async function measure(dir: string, monotonicMs: () => number) {
  const file = join(dir, `probe-${randomBytes(6).toString('hex')}.tmp`)
  const handle = await open(file, 'wx', PRIVATE_FILE)
  try {
    const data = Buffer.alloc(BYTES, 46)
    const times: number[] = []
    for (let n = 0; n < WRITES; n += 1) {
      const startedMs = monotonicMs()
      await handle.write(data, 0, BYTES, n * BYTES)
      await handle.datasync()
      times.push(monotonicMs() - startedMs)
    }
    times.sort((a, b) => a - b)
    return { medianMs: times[Math.floor(WRITES / 2)] ?? 0, worstMs: times.at(-1) ?? 0 }
  } finally {
    await handle.close()
    await rm(file, { force: true })
  }
}

async function nearest(dir: string): Promise<string> {
  for (let here = dir; ; here = dirname(here)) {
    const isThere = await stat(here).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (isThere || here === dirname(here)) return here
  }
}
