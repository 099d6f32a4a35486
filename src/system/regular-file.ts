import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** Carries a `code`, so that callers handle it like a system error. */
class UnusableFileError extends Error {
  readonly code: 'ENOTREG' | 'EISDIR' | 'EFBIG'
  constructor(file: string, code: UnusableFileError['code']) {
    super(`${code}: ${file}`)
    this.code = code
  }
}

/**
 * Opens a regular file and follows links. Throws with the system's `code`, EISDIR for a directory, ENOTREG for a pipe or
 * device.
 */
export function openRegular(file: string): number {
  const opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const stat = fstatSync(opened)
  if (stat.isFile()) return opened
  closeSync(opened)
  throw new UnusableFileError(file, stat.isDirectory() ? 'EISDIR' : 'ENOTREG')
}

/** A regular file's content and permission bits. Throws like `openRegular`, and with EFBIG above `bytesMax`. */
export function readRegular(
  file: string,
  bytesMax: number,
): { readonly data: Buffer; readonly mode: number } {
  const opened = openRegular(file)
  try {
    const { size, mode } = fstatSync(opened)
    if (size > bytesMax) throw new UnusableFileError(file, 'EFBIG')
    return { data: readFileSync(opened), mode }
  } finally {
    closeSync(opened)
  }
}
