import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** A request to a running daemon: one line of JSON each way, one request a connection. */
export type ControlRequest = { readonly command: ControlCommand } & ControlFields

/** What a request says beside its command. */
type ControlFields = {
  readonly strategy?: string | undefined
  /** What is approved. */
  readonly name?: string | undefined
  /** An intent, by its id, and the attempt of it that is meant. */
  readonly intent?: string | undefined
  readonly attempt?: number | undefined
  /** What became of it, and in which transaction. */
  readonly as?: 'executed' | 'dead' | undefined
  readonly tx?: `0x${string}` | undefined
}

type ControlCommand =
  | 'pause'
  | 'resume'
  | 'approve'
  | 'halt'
  | 'trigger'
  | 'reload'
  | 'status'
  | 'look'
  | 'settle'

export type ControlAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly detail: string }

const LINE_LENGTH_MAX = 4_096
const REQUEST_MS_MAX = 10_000
const CONNECTIONS_MAX = 16
/** The least room that a kernel has for the path of a Unix socket, without its closing byte. */
const PATH_BYTES_MAX = 103
/** What a command may and must say. What does not belong to it is refused: a name would be taken for a limit to it. */
const TAKES: Readonly<
  Record<ControlCommand, Readonly<Partial<Record<keyof ControlFields, 'may' | 'must'>>>>
> = {
  pause: { strategy: 'may' },
  resume: { strategy: 'may' },
  approve: { name: 'must' },
  halt: {},
  trigger: { strategy: 'must' },
  reload: {},
  status: {},
  look: { intent: 'must', tx: 'may' },
  settle: { intent: 'must', attempt: 'must', as: 'must', tx: 'may' },
}
const isText = (given: unknown): boolean => typeof given === 'string'
const READABLE: Readonly<Record<keyof ControlFields, (given: unknown) => boolean>> = {
  strategy: isText,
  name: isText,
  intent: isText,
  attempt: (given) => Number.isSafeInteger(given),
  as: (given) => given === 'executed' || given === 'dead',
  tx: (given) => typeof given === 'string' && /^0x[0-9a-f]{64}$/.test(given),
}

export class ControlPathError extends Error {
  override readonly name = 'ControlPathError'
}

export const CONTROL_SOCKET = 'control.sock'

export function controlPath(stateDir: string): string {
  return join(stateDir, CONTROL_SOCKET)
}

/**
 * Listens on the state directory's socket, which only this user can open (mode 0600). The caller holds the directory's
 * lock, so that a socket found there is stale. Throws ControlPathError where neither the path nor a way around it
 * is short enough.
 */
export async function serveControl(
  path: string,
  answer: (request: ControlRequest) => Promise<ControlAnswer>,
): Promise<{ close(): Promise<void> }> {
  rmSync(path, { force: true })
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => socket.destroy())
    const timer = setTimeout(() => socket.destroy(), REQUEST_MS_MAX)
    socket.on('close', () => clearTimeout(timer))
    readLine(socket, (line) => {
      clearTimeout(timer)
      const request = requestOf(line)
      const reply = request === undefined ? Promise.resolve(UNREADABLE) : answer(request)
      void reply.catch(failed).then((told) => socket.end(`${JSON.stringify(told, decimalText)}\n`))
    })
  })
  server.maxConnections = CONNECTIONS_MAX
  const way = shortWayTo(path)
  const before = process.umask(0o077)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(way.path, resolve)
    })
  } finally {
    process.umask(before)
    way.leave()
  }
  chmodSync(path, 0o600)
  // A connection that could not be taken is its client's trouble, which asks again.
  server.on('error', () => undefined)
  return {
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy()
        server.close(() => {
          rmSync(path, { force: true })
          resolve()
        })
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
    if (end < 0 && text.length <= LINE_LENGTH_MAX) return
    socket.removeAllListeners('data')
    take(end < 0 ? '' : text.slice(0, end))
  })
}

/** Undefined for everything that is not exactly a request: half of one that was understood could stop the wrong thing. */
function requestOf(line: string): ControlRequest | undefined {
  const { command, ...fields } = fieldsOf(line) ?? {}
  if (!isCommand(command)) return undefined
  const takes: Readonly<Record<string, 'may' | 'must' | undefined>> = TAKES[command]
  const isWhole = Object.keys(takes).every((name) => takes[name] === 'may' || name in fields)
  const isReadable = Object.entries(fields).every(
    ([name, given]) => Object.hasOwn(takes, name) && READABLE[name as keyof ControlFields](given),
  )
  return isWhole && isReadable ? { command, ...fields } : undefined
}

function fieldsOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const given: unknown = JSON.parse(line)
    return typeof given === 'object' && given !== null ? { ...given } : undefined
  } catch {
    return undefined
  }
}

function isCommand(given: unknown): given is ControlCommand {
  return typeof given === 'string' && Object.hasOwn(TAKES, given)
}

/** A longer path would be cut off without a word, and name another socket. */
function fitsKernel(path: string): boolean {
  return Buffer.byteLength(path) <= PATH_BYTES_MAX
}

/**
 * The same socket under a path that the kernel has room for: it is the name that is given which must be short, and a link
 * to the directory may stand in it. The link is in a directory that is this user's alone, and goes with `leave`.
 */
function shortWayTo(path: string): { readonly path: string; leave(): void } {
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
    const why = error instanceof Error ? error.message : String(error)
    throw new ControlPathError(
      `${path}: a Unix socket's path has at most ${PATH_BYTES_MAX} bytes, and there is no way around it (${why}): use a shorter stateDir`,
    )
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
  let way: ReturnType<typeof shortWayTo>
  try {
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
      const answer = answerOf(text)
      if (answer !== undefined) resolve({ tag: 'answered', answer })
      else resolve({ tag: isConnected ? 'silent' : 'absent' })
    })
  })
}

/** An answer that was cut off is none. */
function answerOf(text: string): ControlAnswer | undefined {
  return text.endsWith('\n') ? (JSON.parse(text) as ControlAnswer) : undefined
}
