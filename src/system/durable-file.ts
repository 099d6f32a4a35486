import { randomBytes } from 'node:crypto'
import { copyFile, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeDirectory } from '../../files/directory.ts'

/** Files of the state directory can name wallets and orders: nobody but their owner reads them. */
export const PRIVATE_FILE = 0o600
const PRIVATE_DIRECTORY = 0o700
const TEMPORARY = '.tmp'

/** Makes a file's content survive a power cut or, of a directory, the names inside it: a file alone does not keep its name. */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes `dir` and its parents, 0700, unless it is there. */
export async function ensureDirectory(dir: string): Promise<void> {
  const firstMade = makeDirectory(dir, PRIVATE_DIRECTORY)
  if (firstMade === undefined) return
  const stopAt = dirname(firstMade)
  let parent = dirname(dir)
  while (parent.length > stopAt.length) {
    await syncFile(parent)
    parent = dirname(parent)
  }
  await syncFile(stopAt)
}

/** Creates an empty file, 0600, that is still there after a power cut. Fails with EEXIST if there is one. */
export async function createFile(file: string): Promise<void> {
  const handle = await open(file, 'wx', PRIVATE_FILE)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncFile(dirname(file))
}

/** Writes a new file, 0600, durably; its name is durable once its directory is synced. Fails with EEXIST if there is one. */
export async function writeNewFile(file: string, data: string | Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', PRIVATE_FILE)
  try {
    await handle.writeFile(data)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Gives a file or a directory another name on the same disk, durably. It replaces a file that has that name. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncFile(dirname(to))
  if (dirname(from) !== dirname(to)) await syncFile(dirname(from))
}

/**
 * Replaces a file's whole content, 0600. A reader sees the old text or the new one, also after a power cut at any
 * moment; once this resolves, the new one.
 */
export async function replaceFile(file: string, data: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}${TEMPORARY}`
  try {
    await writeNewFile(temporary, data)
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFile(dirname(file))
}

/** Cuts a file to `bytes`, durably. */
export async function truncateFile(file: string, bytes: number): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await handle.truncate(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes what a `replaceFile` of this file left behind when its process was killed. Only for the one writer. */
export async function removeLeftovers(file: string): Promise<void> {
  const dir = dirname(file)
  const prefix = `${basename(file)}.`
  for (const name of await readdir(dir)) {
    if (name.startsWith(prefix) && name.endsWith(TEMPORARY))
      await rm(join(dir, name), { force: true })
  }
}

/** Length of a file; undefined when there is none. */
export async function fileSize(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Whether a file operation failed because there is no such file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Whether a file operation failed because the disk, or what its user may have of it, is full. */
export function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && FULL.has(String(error.code))
}

const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT'])

/**
 * Puts a copy of a file in its place. What somebody still has open is not in that place from then on: whatever is written to
 * it, later or under way, changes nothing here.
 */
export async function severFile(file: string): Promise<void> {
  const copy = `${file}.${randomBytes(6).toString('hex')}${TEMPORARY}`
  try {
    await copyFile(file, copy)
    await syncFile(copy)
    await rename(copy, file)
  } catch (error) {
    await rm(copy, { force: true })
    if (!isMissing(error)) throw error
  }
  await syncFile(dirname(file))
}
