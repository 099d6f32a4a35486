import type { Observation } from '../../domain/observation.ts'
import type { CallChain, CallTrace, ChainReply, Clock } from '../../ports.ts'
import { ACCOUNT_SIZE, readAccount } from './account.ts'
import { readEach, searchLogs, topicOf } from './logs.ts'
import { type Nodes, openNodes } from './nodes.ts'
import { createSending, simulateCall } from './sending.ts'
import { readCallTrace, TRACE_SIZE } from './trace.ts'

export type CallChainOptions = {
  /** Answers of a node on another chain are not believed (but for `identity`, which reports them). */
  readonly chainId: number
  /** In order of preference. Reads move on to the next when one is unavailable; broadcasts never do. */
  readonly rpcUrls: readonly string[]
  readonly observe: (event: Observation) => void
  readonly clock: Pick<Clock, 'now'>
  /** For one HTTP request. Default 10,000. */
  readonly timeoutMs?: number
}

const CALLS_ROUTE = 'calls'
/** Far above what one account does within the life of a signature. */
const CALLS_MAX = 200
/** Indexed arguments that a log can have: places where it can name an account. */
const PLACES: readonly number[] = [1, 2, 3]

/** The CallChain port over a node's JSON-RPC. Every call is bounded in time, in requests and in bytes. */
export function createCallChain(options: CallChainOptions): CallChain & { close(): Promise<void> } {
  const { chainId, rpcUrls, observe, clock, timeoutMs } = options
  const nodes = openNodes({ urls: rpcUrls, chainId, observe, clock, timeoutMs })
  return {
    ...createSending(nodes, chainId),
    account: (query) =>
      nodes.read({ route: 'account', size: ACCOUNT_SIZE }, async (node) => ({
        ok: true,
        value: await readAccount(node, query),
      })),
    simulate: (call) =>
      nodes.read({ route: 'simulate', size: 2 }, (node) => simulateCall(node, call)),
    trace: (hash) =>
      nodes.read({ route: 'trace', size: TRACE_SIZE }, async (node) => ({
        ok: true,
        value: await readCallTrace(node, hash),
      })),
    callsOf: (query) => readCallsOf(nodes, query),
    close: () => nodes.close(),
  }
}

/**
 * `CallChain.callsOf`. Searches at most 100,000 blocks. More than two hundred transactions are unavailable rather
 * than cut short: a call that is missing from the list must not have been executed.
 */
async function readCallsOf(
  nodes: Nodes,
  { contract, account, fromBlock }: Parameters<CallChain['callsOf']>[0],
): Promise<ChainReply<readonly CallTrace[]>> {
  const found = await searchLogs(nodes, {
    route: CALLS_ROUTE,
    contract,
    fromBlock,
    topics: PLACES.map((place) => [...new Array<null>(place).fill(null), topicOf(account)]),
    transactionsMax: CALLS_MAX + 1,
  })
  if (!found.ok) return found
  if (found.value.length > CALLS_MAX) {
    const message = `more than ${CALLS_MAX} transactions since block ${fromBlock} name the account`
    return { ok: false, fault: { tag: 'unavailable', message } }
  }
  return readEach(nodes, found.value, { route: CALLS_ROUTE, read: readCallTrace })
}
