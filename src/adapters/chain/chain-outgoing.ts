import type { Chain, ChainReply, TransactionTrace } from '../../ports.ts'
import { readEach, searchLogs } from './chain-logs.ts'
import type { ChainNode } from './chain-sending.ts'
import { outgoingCall, traceAt, traceCalls } from './chain-trace.ts'

const ROUTE = 'outgoing'
const TRACES_MAX = 100

/** `Chain.outgoing`. Gives at most the oldest hundred transactions; searches at most 100,000 blocks. */
export async function readOutgoing(
  node: ChainNode,
  query: Parameters<Chain['outgoing']>[0],
): Promise<ChainReply<readonly TransactionTrace[]>> {
  const { owner, token, fromBlock } = query
  const found = await searchLogs(node, {
    route: ROUTE,
    fromBlock,
    filters: (range) => [outgoingCall({ owner, token, ...range })],
    transactionsMax: TRACES_MAX,
  })
  if (!found.ok) return found
  return readEach(node, found.value.slice(0, TRACES_MAX), {
    route: ROUTE,
    calls: traceCalls,
    read: traceAt,
  })
}
