import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import * as z from 'zod'
import { messageOf } from '../domain/errors.ts'
import { readJson } from '../system/read-json.ts'
import { type ControlAnswer, shortWayTo } from './ask-control.ts'

const intent = z.string()
const tx = (z.string().regex(/^0x[0-9a-f]{64}$/) as z.ZodType<`0x${string}`>).optional()
const baseUnitsText = z.string().regex(/^[1-9]\d{0,77}$/)

/** An order by hand. Amounts are base units as text. */
const orderSchema = z.strictObject({
  command: z.literal('order'),
  /** Names the order in the journal. */
  id: z.string().regex(/^[0-9a-f]{16}$/),
  strategy: z.string().optional(),
  /** `sell`: exact input, `buy`: exact output. */
  side: z.enum(['sell', 'buy']),
  sell: z.string(),
  buy: z.string(),
  /** Of the exact side. */
  amount: baseUnitsText,
  /** The least to receive for a `sell`, the most to pay for a `buy`. */
  limit: baseUnitsText.optional(),
  slippageBps: z.int().min(1).max(2_000).optional(),
})

/** Strict: an extra field such as a strategy's name would be mistaken for a limit to the command. */
const requestSchema = z.discriminatedUnion('command', [
  z.strictObject({ command: z.enum(['halt', 'reload', 'status']) }),
  z.strictObject({ command: z.enum(['pause', 'resume']), strategy: z.string().optional() }),
  z.strictObject({ command: z.literal('trigger'), strategy: z.string() }),
  z.strictObject({ command: z.literal('approve'), name: z.string() }),
  orderSchema,
  z.strictObject({ command: z.literal('inspect'), intent, tx }),
  z.strictObject({
    command: z.literal('settle'),
    intent,
    attempt: z.int(),
    as: z.enum(['executed', 'dead']),
    tx,
  }),
])

export type OrderRequest = z.output<typeof orderSchema>

/** A request to a running daemon. Each connection carries one request and one answer, each a line of JSON. */
export type ControlRequest = z.output<typeof requestSchema>

const LINE_LENGTH_MAX = 4_096
const REQUEST_MS_MAX = 10_000
const CONNECTIONS_MAX = 16

/**
 * Listens on the state directory's socket, which only this user can open (mode 0600). The caller holds the directory's
 * lock, so a socket found there is stale. Throws ControlPathError if neither the path nor a link to it is short enough.
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
      const request = readJson(requestSchema, line)
      const reply = request.ok ? answer(request.value) : Promise.resolve(UNREADABLE)
      void reply
        .catch((error: unknown) => ({ ok: false, detail: messageOf(error) }))
        .then((sent) => socket.end(`${JSON.stringify(sent, decimalText)}\n`))
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
  // A failed accept affects only its client.
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
