import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type BatchItem = {
  readonly jsonrpc: string
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

export type Answer = (
  batch: readonly BatchItem[],
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
) => unknown

/**
 * A loopback HTTP server in place of a node. The script's return value, or its resolved promise, is sent as JSON;
 * undefined sends nothing. A single request is passed as a batch of one, and its answer is sent without a list.
 */
export type FakeRpcNode = {
  readonly url: string
  readonly batches: (readonly BatchItem[])[]
  /** Those batches that were sent as a single request. */
  readonly alone: (readonly BatchItem[])[]
  answer: Answer
  close(): Promise<void>
}

/** Answers every call of a batch with the value of `results`. */
export function results(result: (item: BatchItem) => unknown): Answer {
  return (batch) =>
    batch.map((item) => ({ jsonrpc: '2.0', id: item.id, result: result(item) ?? null }))
}

export async function startFakeRpcNode(answer: Answer): Promise<FakeRpcNode> {
  const batches: (readonly BatchItem[])[] = []
  const alone: (readonly BatchItem[])[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const parsed: BatchItem | readonly BatchItem[] = JSON.parse(Buffer.concat(chunks).toString())
      const isList = Array.isArray(parsed)
      const batch = (isList ? parsed : [parsed]) as readonly BatchItem[]
      batches.push(batch)
      if (!isList) alone.push(batch)
      void Promise.resolve(node.answer(batch, { request, response })).then((answer) => {
        const body = !isList && Array.isArray(answer) && answer.length === 1 ? answer[0] : answer
        if (body !== undefined) response.end(JSON.stringify(body))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: FakeRpcNode = {
    url: `http://127.0.0.1:${port}`,
    batches,
    alone,
    answer,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return node
}

/** A node that forwards batches to another one and records them. */
export function startPassingNode(rpcUrl: string): Promise<FakeRpcNode> {
  return startFakeRpcNode(async (batch) => {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(batch),
    })
    return response.json()
  })
}
