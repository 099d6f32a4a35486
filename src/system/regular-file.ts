import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** Not an error of the system: `code` is its own, so that callers word it beside the system's. */
class UnusableFileError extends Error {
  readonly code: 'ENOTREG' | 'EISDIR' | 'EFBIG'
  constructor(file: string, code: UnusableFileError['code']) {
    super(`${code}: ${file}`)
    this.code = code
  }
}

/**
 * Opens a file for reading, through links. Throws with the system's `code`, with EISDIR for a directory, and with ENOTREG for a pipe
 * or a device, which is not waited for.
 */
export function openRegular(file: string): number {
  const opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const stat = fstatSync(opened)
  if (stat.isFile()) return opened
  closeSync(opened)
  throw new UnusableFileError(file, stat.isDirectory() ? 'EISDIR' : 'ENOTREG')
}

/** All of a regular file, and its permission bits. Throws as `openRegular`, and with EFBIG for more than `bytesMax`. */
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
