import type { Hex } from '../domain/units.ts'
import type { Chain, ChainReply, TransactionTrace } from '../ports.ts'
import { CHAIN_ID, expectChain } from './chain-id.ts'
import { outgoingCall, traceAt, traceCalls, transactionsOf } from './chain-trace.ts'
import type { JsonRpc } from './json-rpc.ts'
import { type RpcAnswers, type RpcCall, UnusableAnswer } from './json-rpc-batch.ts'
import { quantity } from './json-rpc-values.ts'

/** Widest range that public nodes answer eth_getLogs for. */
const LOG_BLOCKS_MAX = 2_000n
const LOG_CHUNKS_MAX = 50n
const LOG_CHUNKS_PER_REQUEST = 10
const TRACES_MAX = 100
const TRACES_PER_REQUEST = 20

type ChainNode = { readonly rpc: JsonRpc; readonly chainId: number }

/**
 * `Chain.outgoing`. Gives at most the oldest hundred transactions; searches at most 100,000 blocks. A node that
 * has not reached `fromBlock` yet is unavailable.
 */
export async function readOutgoing(
  node: ChainNode,
  query: Parameters<Chain['outgoing']>[0],
): Promise<ChainReply<readonly TransactionTrace[]>> {
  const head = await readHead(node, query.fromBlock)
  if (!head.ok) return head
  const chunks = logChunks(query.fromBlock, head.value)
  if (chunks === undefined) {
    const message = `blocks ${query.fromBlock} to ${head.value} are too many to search (at most ${LOG_CHUNKS_MAX * LOG_BLOCKS_MAX})`
    return { ok: false, fault: { tag: 'unavailable', message } }
  }
  const hashes = new Set<Hex>()
  for (let at = 0; at < chunks.length && hashes.size < TRACES_MAX; at += LOG_CHUNKS_PER_REQUEST) {
    const calls = chunks
      .slice(at, at + LOG_CHUNKS_PER_REQUEST)
      .map((chunk) => outgoingCall({ owner: query.owner, token: query.token, ...chunk }))
    const found = await node.rpc.read('outgoing', [CHAIN_ID, ...calls], (answers) => {
      expectChain(answers, node.chainId)
      return {
        ok: true,
        value: calls.flatMap((_, index) => transactionsOf(answers.result(index + 1))),
      }
    })
    if (!found.ok) return found
    for (const txHash of found.value) hashes.add(txHash)
  }
  return readTraces(node, [...hashes].slice(0, TRACES_MAX))
}

function readHead(node: ChainNode, fromBlock: bigint): Promise<ChainReply<bigint>> {
  const calls: readonly RpcCall[] = [CHAIN_ID, { method: 'eth_blockNumber', params: [] }]
  return node.rpc.read('outgoing', calls, (answers) => {
    expectChain(answers, node.chainId)
    const head = quantity(answers.result(1), 'block number')
    if (head < fromBlock) throw new UnusableAnswer(`is at block ${head}, behind ${fromBlock}`)
    return { ok: true, value: head }
  })
}

/** Ranges of blocks, oldest first; undefined when there would be too many. */
function logChunks(
  fromBlock: bigint,
  head: bigint,
): readonly { fromBlock: bigint; toBlock: bigint }[] | undefined {
  if (head - fromBlock >= LOG_CHUNKS_MAX * LOG_BLOCKS_MAX) return undefined
  const chunks: { fromBlock: bigint; toBlock: bigint }[] = []
  for (let from = fromBlock; from <= head; from += LOG_BLOCKS_MAX) {
    const last = from + LOG_BLOCKS_MAX - 1n
    chunks.push({ fromBlock: from, toBlock: last < head ? last : head })
  }
  return chunks
}

async function readTraces(
  node: ChainNode,
  hashes: readonly Hex[],
): Promise<ChainReply<readonly TransactionTrace[]>> {
  const traces: TransactionTrace[] = []
  for (let at = 0; at < hashes.length; at += TRACES_PER_REQUEST) {
    const some = hashes.slice(at, at + TRACES_PER_REQUEST)
    const calls = [CHAIN_ID, ...some.flatMap((txHash) => traceCalls(txHash))]
    const reply = await node.rpc.read('outgoing', calls, (answers) => {
      expectChain(answers, node.chainId)
      return { ok: true, value: some.map((txHash, index) => knownTrace(answers, index, txHash)) }
    })
    if (!reply.ok) return reply
    traces.push(...reply.value)
  }
  return { ok: true, value: traces }
}

function knownTrace(answers: RpcAnswers, index: number, txHash: Hex): TransactionTrace {
  const trace = traceAt(answers, 1 + 2 * index, txHash)
  if (trace === undefined) throw new UnusableAnswer('knows a log without its receipt')
  return trace
}
