import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OperatorError } from '../../domain/errors.ts'
import { PRIVATE_FILE } from '../../system/durable-file.ts'

/** Packs exactly a state directory into a file that any `tar` opens (POSIX.1-1988 ustar). */

const BLOCK_BYTES = 512
const CHUNK_BYTES = 1024 * 1024
/** The only names packed or unpacked, so that no path escapes the directory. */
const NAMES = /^(state\.json|journal\.jsonl|journal\/\d{12}\.jsonl)$/
const SIZE_DIGITS = 11

class TarError extends OperatorError {
  override readonly name = 'TarError'
  readonly means = 'failed'
}

/** Packs the files of a state directory into a new file, 0600, durably. */
export async function packTar(dir: string, file: string, signal?: AbortSignal): Promise<void> {
  const names = (await readdir(dir, { recursive: true })).filter((name) => NAMES.test(name)).sort()
  const handle = await open(file, 'wx', PRIVATE_FILE)
  try {
    for (const name of names) {
      const { size } = await stat(join(dir, name))
      await handle.writeFile(headerOf(name, size))
      for await (const chunk of createReadStream(join(dir, name))) {
        signal?.throwIfAborted()
        await handle.writeFile(chunk)
      }
      await handle.writeFile(Buffer.alloc(paddingOf(size)))
    }
    await handle.writeFile(Buffer.alloc(2 * BLOCK_BYTES))
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Unpacks into `dir`, which is created. Throws OperatorError for a truncated file or unexpected content. */
export async function unpackTar(file: string, dir: string, signal?: AbortSignal): Promise<void> {
  await mkdir(dir, { mode: 0o700 })
  const handle = await open(file, 'r')
  try {
    for (let at = 0; ; ) {
      signal?.throwIfAborted()
      const header = await read(handle, { at, bytes: BLOCK_BYTES, file })
      if (header.every((byte) => byte === 0)) return
      const { name, size } = entryOf(header, file)
      await extract(handle, { from: at + BLOCK_BYTES, size, to: join(dir, name), file })
      at += BLOCK_BYTES + size + paddingOf(size)
    }
  } finally {
    await handle.close()
  }
}

async function extract(
  handle: FileHandle,
  entry: { from: number; size: number; to: string; file: string },
): Promise<void> {
  await mkdir(dirname(entry.to), { recursive: true, mode: 0o700 })
  const target = await open(entry.to, 'wx', PRIVATE_FILE)
  try {
    for (let done = 0; done < entry.size; ) {
      const bytes = Math.min(CHUNK_BYTES, entry.size - done)
      await target.writeFile(await read(handle, { at: entry.from + done, bytes, file: entry.file }))
      done += bytes
    }
    await target.sync()
  } finally {
    await target.close()
  }
}

async function read(
  handle: FileHandle,
  { at, bytes, file }: { at: number; bytes: number; file: string },
): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at)
  if (bytesRead < bytes) throw new TarError(`${file}: it is cut short: use another backup`)
  return buffer
}

function headerOf(name: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(name, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${size.toString(8).padStart(SIZE_DIGITS, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(`${sumOf(header).toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function entryOf(header: Buffer, file: string): { readonly name: string; readonly size: number } {
  const text = (from: number, length: number): string =>
    header.toString('latin1', from, from + length).replace(/[\0 ].*$/s, '')
  const name = text(0, 100)
  const size = Number.parseInt(text(124, 12), 8)
  if (Number.parseInt(text(148, 8), 8) !== sumOf(header) || !Number.isSafeInteger(size))
    throw new TarError(`${file}: it is no backup, or a damaged one: use another`)
  if (!NAMES.test(name) || text(156, 1) !== '0')
    throw new TarError(
      `${file}: it holds ${JSON.stringify(name)}, which is no part of a state: use another`,
    )
  return { name, size }
}

/** Header checksum, with its own field as blanks. */
function sumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0)
}

function paddingOf(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES
}
