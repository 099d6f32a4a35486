import { type Answer, type BatchItem, type FakeRpcNode, startFakeRpcNode } from './fake-rpc-node.ts'

/** A refusal of a node, and its HTTP status. */
export type Refusals = {
  /** Requests that it takes in one batch; 0 for a node that takes no lists at all. Default any number. */
  readonly batchMax?: number
  readonly batchStatus?: number
  /** Blocks that it answers eth_getLogs for; 0 for a node without the method. Default any number. */
  readonly logBlocksMax?: number
  /** Other than 200: the refusal is the whole body. */
  readonly logStatus?: number
}

export type RefusingNode = FakeRpcNode & {
  refusals: Refusals
  /** Refused eth_getLogs requests. */
  readonly counted: { refusedLogs: number; answeredLogs: number }
}

type Reply = { readonly id: number; readonly result?: unknown; readonly error?: object }

/**
 * A proxy of a node that forwards everything it does not refuse. Its error texts are those of dRPC, Alchemy and geth.
 */
export async function startRefusingNode(target: string, refusals: Refusals): Promise<RefusingNode> {
  const counted = { refusedLogs: 0, answeredLogs: 0 }

  const wholly: Answer = (batch, { response }) => {
    const { batchMax = Number.POSITIVE_INFINITY, batchStatus = 200 } = node.refusals
    const isList = !node.alone.includes(batch)
    if (!isList || (batchMax > 0 && batch.length <= batchMax)) return undefined
    response.statusCode = batchStatus
    const error =
      batchMax === 0
        ? { code: -32600, message: 'Invalid request' }
        : { code: 31, message: `Batch of more than ${batchMax} requests are not allowed` }
    return { jsonrpc: '2.0', id: batchMax === 0 ? null : batch[0]?.id, error }
  }

  const node: RefusingNode = Object.assign(
    await startFakeRpcNode(async (batch, exchange) => {
      const refused = wholly(batch, exchange)
      if (refused !== undefined) return refused
      const errors = new Map(batch.flatMap((item) => logsErrorOf(item)))
      const { logStatus = 200 } = node.refusals
      if (errors.size > 0 && logStatus !== 200) {
        exchange.response.statusCode = logStatus
        const [error] = errors.values()
        return batch.map(({ id }) => ({ jsonrpc: '2.0', id, error }))
      }
      const replies = await passOn(target, batch)
      return replies.map((reply) => {
        const error = errors.get(reply.id)
        return error === undefined ? reply : { jsonrpc: '2.0', id: reply.id, error }
      })
    }),
    { refusals, counted },
  )

  function logsErrorOf({ id, method, params }: BatchItem): [number, object][] {
    const { logBlocksMax: max = Number.POSITIVE_INFINITY } = node.refusals
    if (method !== 'eth_getLogs') return []
    const { fromBlock, toBlock } = params[0] as Readonly<Record<'fromBlock' | 'toBlock', string>>
    const isRefused = Number(toBlock) - Number(fromBlock) + 1 > max
    counted[isRefused ? 'refusedLogs' : 'answeredLogs'] += 1
    if (!isRefused) return []
    const message = `You can make eth_getLogs requests with up to a ${max} block range.`
    return [[id, max === 0 ? MISSING : { code: -32600, message }]]
  }

  return node
}

const MISSING = { code: -32601, message: 'the method eth_getLogs does not exist/is not available' }

async function passOn(target: string, batch: readonly BatchItem[]): Promise<readonly Reply[]> {
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(batch) }
  return (await (await fetch(target, init)).json()) as readonly Reply[]
}
