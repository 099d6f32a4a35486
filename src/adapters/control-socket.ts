import { chmodSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'

/** A request to a running daemon: one line of JSON each way, one request a connection. */
export type ControlRequest = {
  readonly command: 'pause' | 'resume' | 'halt' | 'trigger' | 'reload'
  readonly strategy?: string | undefined
}

export type ControlAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly detail: string }

const LINE_BYTES_MAX = 4_096
const IDLE_MS_MAX = 10_000
/** The kernel's room for the path of a Unix socket, with its closing byte. */
const PATH_BYTES_MAX = 107
const COMMANDS: readonly string[] = ['pause', 'resume', 'halt', 'trigger', 'reload']

export class ControlPathError extends Error {
  override readonly name = 'ControlPathError'
}

export function controlPath(stateDir: string): string {
  return join(stateDir, 'control.sock')
}

/**
 * Listens on the state directory's socket, which only this user can open (mode 0600). The caller holds the directory's
 * lock, so that a socket found there belongs to nobody. Throws ControlPathError where the path is too long.
 */
export async function serveControl(
  path: string,
  answer: (request: ControlRequest) => Promise<ControlAnswer>,
): Promise<{ close(): Promise<void> }> {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX)
    throw new ControlPathError(
      `${path}: a Unix socket's path has at most ${PATH_BYTES_MAX} bytes; use a shorter stateDir`,
    )
  rmSync(path, { force: true })
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => socket.destroy())
    socket.setTimeout(IDLE_MS_MAX, () => socket.destroy())
    readLine(socket, (line) => {
      socket.setTimeout(0)
      const request = requestOf(line)
      const reply = request === undefined ? Promise.resolve(UNREADABLE) : answer(request)
      void reply.catch(failed).then((told) => socket.end(`${JSON.stringify(told, decimalText)}\n`))
    })
  })
  const before = process.umask(0o077)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(path, resolve)
    })
  } finally {
    process.umask(before)
  }
  chmodSync(path, 0o600)
  return {
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

const UNREADABLE: ControlAnswer = { ok: false, detail: 'the request could not be read' }

function failed(error: unknown): ControlAnswer {
  return { ok: false, detail: error instanceof Error ? error.message : String(error) }
}

function decimalText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

function readLine(socket: Socket, take: (line: string) => void): void {
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
    const end = text.indexOf('\n')
    if (end < 0 && text.length <= LINE_BYTES_MAX) return
    socket.removeAllListeners('data')
    take(end < 0 ? '' : text.slice(0, end))
  })
}

function requestOf(line: string): ControlRequest | undefined {
  try {
    const given: unknown = JSON.parse(line)
    if (typeof given !== 'object' || given === null) return undefined
    const { command, strategy } = given as Readonly<Record<string, unknown>>
    if (typeof command !== 'string' || !COMMANDS.includes(command)) return undefined
    if (strategy !== undefined && typeof strategy !== 'string') return undefined
    return { command: command as ControlRequest['command'], strategy }
  } catch {
    return undefined
  }
}

/** `absent`: no process listens. `silent`: one does, but gave no answer; whether it did as asked is not known. */
export type Asked =
  | { readonly tag: 'answered'; readonly answer: ControlAnswer }
  | { readonly tag: 'absent' | 'silent' }

/** Asks the daemon behind a socket. Never rejects. */
export function askControl(
  path: string,
  request: ControlRequest,
  timeoutMs: number,
): Promise<Asked> {
  return new Promise((resolve) => {
    const socket = connect(path)
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
      const answer = answerOf(text)
      if (answer !== undefined) resolve({ tag: 'answered', answer })
      else resolve({ tag: isConnected ? 'silent' : 'absent' })
    })
  })
}

function answerOf(text: string): ControlAnswer | undefined {
  if (!text.endsWith('\n')) return undefined
  return JSON.parse(text) as ControlAnswer
}
