import type { Hex } from '../../domain/money/units.ts'
import type { Reply } from '../../domain/order/quote.ts'
import type { AssemblyOptions } from '../final-blocks.ts'
import { MULTICALL3 } from '../snapshot-reads.ts'
import { BatchRefused, RpcRefusal, UnusableAnswer } from './batch.ts'
import { openNodes } from './nodes.ts'

export type LargeCallFault = {
  /** `tooMuch`: a node refused, so a smaller call may succeed. `unavailable`: no node answered. */
  readonly tag: 'tooMuch' | 'unavailable'
  readonly message: string
}

export type LargeCall = (data: Hex) => Promise<Reply<Hex, LargeCallFault>>

/**
 * How nodes refuse requests that are too large, besides a JSON-RPC error: by HTTP status, by closing the connection, or by
 * a timeout. These are statuses of `UnusableAnswer`.
 */
const REFUSALS: readonly string[] = ['413', '504', 'timeout', 'malformed']

/** Large calls. Falls back to the next node, and never rejects. */
export function openLargeCalls({
  rpcUrls: urls,
  ...options
}: Pick<AssemblyOptions, 'chainId' | 'rpcUrls' | 'clock'>) {
  const nodes = openNodes({ ...options, urls, observe: () => undefined })
  return {
    async call(data: Hex): ReturnType<LargeCall> {
      let wasRefused = false
      const reply = await nodes.read({ route: 'rounds', size: 1 }, async (node) => {
        try {
          const value = await node.request('eth_call', [{ to: MULTICALL3, data }, 'latest'])
          return { ok: true, value }
        } catch (error) {
          wasRefused ||= mayBeTooMuch(error)
          throw error
        }
      })
      if (reply.ok) return reply
      const { message } = reply.fault
      return { ok: false, fault: { tag: wasRefused ? 'tooMuch' : 'unavailable', message } }
    },
    close: () => nodes.close(),
  }
}

function mayBeTooMuch(error: unknown): boolean {
  if (error instanceof RpcRefusal || error instanceof BatchRefused) return error.kind !== 'missing'
  return error instanceof UnusableAnswer && REFUSALS.includes(error.status)
}
