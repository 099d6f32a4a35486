import { randomBytes } from 'node:crypto'
import { copyFile, type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { codeOf } from '../domain/errors.ts'
import { makeDirectory } from './directory.ts'

/** State files can name wallets and orders, so only their owner may read them. */
export const PRIVATE_FILE = 0o600
const PRIVATE_DIRECTORY = 0o700
const TEMPORARY = '.tmp'

/** Syncs a file's content or a directory's names. Syncing a file does not sync its name. */
export function syncFile(file: string): Promise<void> {
  return opened(file, 'r', async () => undefined)
}

/** Opens a file, runs `act` on it and makes the result durable. */
async function opened(
  file: string,
  flags: string,
  act: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const handle = await open(file, flags, PRIVATE_FILE)
  try {
    await act(handle)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes a directory and its parents, 0700, durably. */
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

/** Creates an empty file, 0600, durably. Fails with EEXIST if it exists. */
export async function createFile(file: string): Promise<void> {
  await opened(file, 'wx', async () => undefined)
  await syncFile(dirname(file))
}

/** Writes a new file, 0600, durably; its name is durable once its directory is synced. Fails with EEXIST if it exists. */
export function writeNewFile(file: string, data: string | Uint8Array): Promise<void> {
  return opened(file, 'wx', (handle) => handle.writeFile(data))
}

/** Renames a file or directory on the same disk, durably. Replaces an existing file. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncFile(dirname(to))
  if (dirname(from) !== dirname(to)) await syncFile(dirname(from))
}

/** Replaces a file atomically, 0600, even across a power cut. Durable once it resolves. */
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

export function truncateFile(file: string, bytes: number): Promise<void> {
  return opened(file, 'r+', (handle) => handle.truncate(bytes))
}

/** Removes temporary files of killed `replaceFile` calls. Only for the single writer. */
export async function removeLeftovers(file: string): Promise<void> {
  const dir = dirname(file)
  const prefix = `${basename(file)}.`
  for (const name of await readdir(dir)) {
    if (name.startsWith(prefix) && name.endsWith(TEMPORARY))
      await rm(join(dir, name), { force: true })
  }
}

/** Undefined if the file is missing. */
export async function fileSize(file: string): Promise<number | undefined> {
  return (await ifThere(stat(file)))?.size
}

/** Undefined if the file or directory is missing. */
export async function ifThere<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Undefined if the file or directory is missing. */
export function ifThereNow<Found>(find: () => Found): Found | undefined {
  try {
    return find()
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

/** True if the disk or the user's quota is full. */
export function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '')
}

/** Copies a file, 0600, durably; its name is durable once its directory is synced. */
export async function copyPrivately(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  await opened(to, 'r+', (handle) => handle.chmod(PRIVATE_FILE))
}

/** Replaces a file by a copy of itself, so that writes through old descriptors no longer affect it. */
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
