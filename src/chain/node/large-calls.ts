import type { Reply } from '../../domain/quote.ts'
import type { Hex } from '../../domain/units.ts'
import type { Clock } from '../../ports.ts'
import { BatchRefused, RpcRefusal, UnusableAnswer } from './batch.ts'
import { MULTICALL3 } from './hot-reads.ts'
import { openNodes } from './nodes.ts'

/** Why a large call was not answered. */
export type LargeCallFault = {
  /** `tooMuch`: a node was there and would not, so that a smaller call may pass. `unavailable`: nothing is known. */
  readonly tag: 'tooMuch' | 'unavailable'
  readonly message: string
}

/** Calls Multicall3 at the newest block. */
export type LargeCall = (data: Hex) => Promise<Reply<Hex, LargeCallFault>>

/**
 * How nodes turn down what is too large for them, beside a JSON-RPC error: by status, by breaking off, or by no answer in time.
 * Statuses are those of `UnusableAnswer`.
 */
const REFUSALS: readonly string[] = ['413', '504', 'timeout', 'malformed']

/** Calls as large as the nodes of a chain take. Each is given to the next node where one does not answer it. Never rejects. */
export function openLargeCalls({
  chainId,
  rpcUrls: urls,
  clock,
}: {
  readonly chainId: number
  /** In order of preference. */
  readonly rpcUrls: readonly string[]
  readonly clock: Pick<Clock, 'now'>
}): { readonly call: LargeCall; close(): Promise<void> } {
  const nodes = openNodes({ urls, chainId, observe: () => undefined, clock })
  return {
    async call(data) {
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
