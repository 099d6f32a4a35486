import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../domain/errors.ts'

export type ControlAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly detail: string }

/** The smallest kernel limit on a Unix socket's path, without the terminating zero byte. */
const PATH_BYTES_MAX = 103
export class ControlPathError extends Error {
  override readonly name = 'ControlPathError'
}

export const CONTROL_SOCKET = 'control.sock'

export function controlPath(stateDir: string): string {
  return join(stateDir, CONTROL_SOCKET)
}

/** The kernel silently truncates a longer path, which then names another socket. */
function fitsKernel(path: string): boolean {
  return Buffer.byteLength(path) <= PATH_BYTES_MAX
}

/** A shorter path to the socket, by a link in a directory that only this user can open. `leave` removes the link. */
export function shortWayTo(path: string): { readonly path: string; leave(): void } {
  if (fitsKernel(path)) return { path, leave: () => undefined }
  let link: string | undefined
  try {
    link = mkdtempSync(join(tmpdir(), 'tranched-'))
    const short = join(link, 's', basename(path))
    if (!fitsKernel(short)) throw new Error(`${tmpdir()} is too long as well`)
    symlinkSync(dirname(path), join(link, 's'))
    const made = link
    return { path: short, leave: () => rmSync(made, { recursive: true, force: true }) }
  } catch (error) {
    if (link !== undefined) rmSync(link, { recursive: true, force: true })
    throw new ControlPathError(
      `${path}: a Unix socket's path has at most ${PATH_BYTES_MAX} bytes, and there is no way around it (${messageOf(error)}): use a shorter stateDir`,
    )
  }
}

/** `absent`: no process listens. `silent`: a process listens but did not answer, and the request may have taken effect. */
export type Asked =
  | { readonly tag: 'answered'; readonly answer: ControlAnswer }
  | { readonly tag: 'absent' | 'silent' }

/** Sends a `ControlRequest`. Never rejects. */
export function askControl(path: string, request: object, timeoutMs: number): Promise<Asked> {
  let way: ReturnType<typeof shortWayTo>
  try {
    // Spares a command without a daemon the loading of net.
    if (!existsSync(path)) return Promise.resolve({ tag: 'absent' })
    way = shortWayTo(path)
  } catch {
    return Promise.resolve({ tag: 'absent' })
  }
  return new Promise((resolve) => {
    const socket = connect(way.path)
    let isConnected = false
    let text = ''
    socket.setEncoding('utf8').setTimeout(timeoutMs, () => socket.destroy())
    socket.on('connect', () => {
      isConnected = true
      socket.write(`${JSON.stringify(request)}\n`)
    })
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      way.leave()
      // Without its end of line, the answer was cut off.
      if (text.endsWith('\n')) resolve({ tag: 'answered', answer: JSON.parse(text) })
      else resolve({ tag: isConnected ? 'silent' : 'absent' })
    })
  })
}
