import type { Observation } from '../../domain/observation.ts'
import type { CallChain, CallTrace, ChainReply, Clock } from '../../ports.ts'
import { accountCalls, parseAccount } from './call-chain-account.ts'
import { CHAIN_ID, expectChain } from './chain-id.ts'
import { readEach, searchLogs } from './chain-logs.ts'
import { type ChainNode, createSending } from './chain-sending.ts'
import { callTraceAt, namingCalls, traceCalls } from './chain-trace.ts'
import { parseSimulation, simulationCalls } from './chain-transaction.ts'
import { createJsonRpc } from './json-rpc.ts'

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

/** The CallChain port over a node's JSON-RPC. Every call is bounded in time, in requests and in bytes. */
export function createCallChain(options: CallChainOptions): CallChain & { close(): Promise<void> } {
  const { chainId, rpcUrls, observe, clock, timeoutMs } = options
  const bounds = timeoutMs === undefined ? {} : { timeoutMs }
  const rpc = createJsonRpc({ urls: rpcUrls, observe, clock, ...bounds })
  const node: ChainNode = { rpc, chainId }
  return {
    ...createSending(node),
    account: (query) =>
      rpc.read('account', [CHAIN_ID, ...accountCalls(query)], (answers) => {
        expectChain(answers, chainId)
        return { ok: true, value: parseAccount(answers, 1) }
      }),
    simulate: (call) =>
      rpc.read('simulate', [CHAIN_ID, ...simulationCalls(call)], (answers) => {
        expectChain(answers, chainId)
        return parseSimulation(answers, 1)
      }),
    trace: (hash) =>
      rpc.read('trace', [CHAIN_ID, ...traceCalls(hash)], (answers) => {
        expectChain(answers, chainId)
        return { ok: true, value: callTraceAt(answers, 1, hash) }
      }),
    callsOf: (query) => readCallsOf(node, query),
    close: () => rpc.close(),
  }
}

/**
 * `CallChain.callsOf`. Searches at most 100,000 blocks. More than two hundred transactions are unavailable rather
 * than cut short: a call that is missing from the list must not have been executed.
 */
async function readCallsOf(
  node: ChainNode,
  query: Parameters<CallChain['callsOf']>[0],
): Promise<ChainReply<readonly CallTrace[]>> {
  const { contract, account, fromBlock } = query
  const found = await searchLogs(node, {
    route: CALLS_ROUTE,
    fromBlock,
    filters: (range) => namingCalls({ contract, account, ...range }),
    transactionsMax: CALLS_MAX + 1,
  })
  if (!found.ok) return found
  if (found.value.length > CALLS_MAX) {
    const message = `more than ${CALLS_MAX} transactions since block ${fromBlock} name the account`
    return { ok: false, fault: { tag: 'unavailable', message } }
  }
  return readEach(node, found.value, { route: CALLS_ROUTE, calls: traceCalls, read: callTraceAt })
}
