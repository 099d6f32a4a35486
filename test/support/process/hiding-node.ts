import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** What a node that has lost its logs and receipts answers. */
const LOST: Readonly<Record<string, unknown>> = {
  eth_getLogs: [],
  eth_getTransactionReceipt: null,
}

export type HidingNode = {
  readonly url: string
  isHiding: boolean
  isStrange: boolean
  /** How much later than it is each block says that it is. */
  aheadSeconds: number
}

type Call = {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}
type Reply = { readonly id: number; result?: unknown }

/** Block 0 of a chain of the same id that is another. */
const OTHER_GENESIS = `0x${'9e'.repeat(32)}`

/** Unix seconds of about now, as a block's field and as a word of a call's result. */
const TIME = /(?<="timestamp":"0x)[0-9a-f]{8}(?=")|(?<=0{56})[1-9a-f][0-9a-f]{7}/g
const NOW_SECONDS = 600

/**
 * A node in front of another, which answers all that the other does but, while it hides, neither logs nor receipts: state
 * without what brought it about. While it is strange, its chain began with another block, and while it is ahead its blocks are
 * from the future, whoever asks for their time. It ends with the test.
 */
export async function startHidingNode(target: string): Promise<HidingNode> {
  const node = { url: '', isHiding: false, isStrange: false, aheadSeconds: 0 }
  const answer = async (body: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(target, { method: 'POST', headers, body })
    if (!node.isHiding && !node.isStrange) return later(await reply.text(), node.aheadSeconds)
    const calls = listOf<Call>(JSON.parse(body))
    const replies: unknown = await reply.json()
    for (const each of listOf<Reply>(replies)) {
      const { method = '', params } = calls.find(({ id }) => id === each.id) ?? {}
      if (node.isHiding && Object.hasOwn(LOST, method)) each.result = LOST[method]
      if (node.isStrange && method === 'eth_getBlockByNumber' && params?.[0] === '0x0')
        Object.assign(each.result ?? {}, { hash: OTHER_GENESIS })
    }
    return later(JSON.stringify(replies), node.aheadSeconds)
  }
  const server = createServer((request, response) => {
    text(request)
      .then(answer)
      .then((body) => response.setHeader('content-type', 'application/json').end(body))
      .catch(() => request.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return node
}

function later(text: string, seconds: number): string {
  if (seconds === 0) return text
  const now = Date.now() / 1000
  return text.replace(TIME, (hex) => {
    const time = Number.parseInt(hex, 16)
    return Math.abs(time - now) < NOW_SECONDS ? (time + seconds).toString(16) : hex
  })
}

function listOf<Item>(body: unknown): Item[] {
  return (Array.isArray(body) ? body : [body]) as Item[]
}
