import { numberToHex } from 'viem/utils'
import type { Observation } from '../../domain/observation.ts'
import type { FinalityRule } from '../../domain/settings.ts'
import type { Hex } from '../../domain/units.ts'
import type { AccountView, CallChain, CallTrace, ChainReply, Clock, Sight } from '../../ports.ts'
import { ACCOUNT_SIZE, readAccount, readNestedNonce } from './account.ts'
import { createCodeReader } from './contract-code.ts'
import { type Assembly, agreedOn, createFinality, earliest, finalBlock } from './finality.ts'
import { foundLogs, type Readers, readEach, readHead, transactionsOf } from './logs.ts'
import { openNodes } from './nodes.ts'
import { createSending, simulateCall } from './sending.ts'
import { readCallsIn, readCallTrace, readWhether, TRACE_SIZE } from './trace.ts'

export type CallChainOptions = {
  /** Answers of a node on another chain are not believed (but for `identity`, which reports them). */
  readonly chainId: number
  /** In order of preference. Reads move on to the next when one is unavailable; broadcasts never do. */
  readonly rpcUrls: readonly string[]
  /** What makes a block final, and how many of the nodes have to say so. */
  readonly rule: FinalityRule
  readonly observe: (event: Observation) => void
  readonly clock: Pick<Clock, 'now'>
  /** For one HTTP request. Default 10,000. */
  readonly timeoutMs?: number
}

const CALLS_ROUTE = 'calls'
/** Transactions in one stretch of 2,000 blocks: five a block. */
const CALLS_MAX = 10_000
/** Whole blocks that are read at most: more than a call lives for, at a block every two seconds. */
const BLOCKS_MAX = 2_000n
/** Of them, between two looks at what they held. */
const BLOCKS_TOGETHER = 12n
/** Room that a whole block takes in a request, in requests: a few of them are megabytes. */
const BLOCK_SIZE = 8

/** The CallChain port over a node's JSON-RPC. Every call is bounded in time, in requests and in bytes. */
export function createCallChain(options: CallChainOptions): CallChain & { close(): Promise<void> } {
  const { chainId, rpcUrls, rule, observe, clock, timeoutMs } = options
  const nodes = openNodes({ urls: rpcUrls, chainId, observe, clock, timeoutMs })
  const assembly = { nodes, rule, observe }
  return {
    ...createSending(nodes, chainId),
    ...createFinality(assembly),
    code: createCodeReader(assembly),
    finalAccount: (query) => readFinalAccount(assembly, query),
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
    callsWith: (query) => searchCalls(assembly, query),
    close: () => nodes.close(),
  }
}

type FinalAccount = Sight & Pick<AccountView, 'code' | 'nestedNonce'>

async function readFinalAccount(
  assembly: Assembly,
  { account, latestSeconds }: Parameters<CallChain['finalAccount']>[0],
): ReturnType<CallChain['finalAccount']> {
  const { rule } = assembly
  const reply = await agreedOn<FinalAccount>(assembly, {
    doing: 'reading a final account',
    keyOf: ({ nestedNonce, code }) => `nestedNonce ${nestedNonce} of code ${code}`,
    ask: (nodes) =>
      nodes.read({ route: 'final-account', size: 2 }, async (node) => {
        const { final } = await finalBlock(node, rule, latestSeconds)
        const [nonce, code] = await Promise.all([
          readNestedNonce(node, account, final),
          node.request('eth_getCode', [account, numberToHex(final)]),
        ])
        return { ok: true, value: { ...nonce, code } }
      }),
  })
  return reply.ok ? { ok: true, value: earliest(reply.value) } : reply
}

/** `CallChain.callsWith`: nothing found by a thorough search has to be nothing on several nodes. */
async function searchCalls(
  assembly: Assembly,
  query: Parameters<CallChain['callsWith']>[0],
): Promise<ChainReply<readonly CallTrace[]>> {
  const { nodes, rule } = assembly
  if (!query.isThorough) return readCallsWith(nodes, query)
  let searched = 0
  let fault: ChainReply<never> = unavailable('no node answered')
  for (const node of nodes.apart()) {
    const reply = await readCallsWith(node, query)
    if (!reply.ok) {
      fault = reply
      continue
    }
    searched += 1
    if (reply.value.some(({ success }) => success) || searched >= rule.agree) return reply
  }
  return fault
}

/**
 * On one node, or on whichever answers. The contract's transactions are those that emitted any log of it. What emits nothing, and what was
 * executed without the contract, is in whole blocks only: they are read where there is nothing else, or to be sure.
 */
async function readCallsWith(
  nodes: Readers,
  { contract, mark, isThorough, ...range }: Parameters<CallChain['callsWith']>[0],
): Promise<ChainReply<readonly CallTrace[]>> {
  const filters = [{ contract, topics: [] }]
  const search = { route: CALLS_ROUTE, ...range, filters, filtersTogether: 1 }
  const holds: Holds = ({ input }) => input.toLowerCase().includes(mark.slice(2).toLowerCase())
  let isSilent = true
  for await (const found of foundLogs(nodes, search)) {
    if (!found.ok) return found
    isSilent &&= found.value.length === 0
    const traces = await tracesOf(nodes, transactionsOf(found.value), holds)
    if (!traces.ok || traces.value.some(({ success }) => success)) return traces
  }
  return isSilent || isThorough
    ? readBlocksFor(nodes, { ...range, holds, isThorough })
    : { ok: true, value: [] }
}

type Holds = (transaction: { readonly input: Hex }) => boolean

/** Those of the transactions whose input is looked for, with their receipts. */
async function tracesOf(
  nodes: Readers,
  hashes: readonly Hex[],
  holds: Holds,
): Promise<ChainReply<readonly CallTrace[]>> {
  if (hashes.length > CALLS_MAX) return unavailable(`${hashes.length} transactions are too many`)
  const looked = await readEach(nodes, hashes, {
    route: CALLS_ROUTE,
    size: 1,
    read: (node, hash) => readWhether(node, hash, holds),
  })
  if (!looked.ok) return looked
  const own = looked.value.filter((each) => each.holds).map(({ hash }) => hash)
  return readCallTraces(nodes, own)
}

function readCallTraces(
  nodes: Readers,
  hashes: readonly Hex[],
): Promise<ChainReply<readonly CallTrace[]>> {
  return readEach(nodes, hashes, { route: CALLS_ROUTE, size: TRACE_SIZE, read: readCallTrace })
}

/**
 * The same out of whole blocks, a few at a time, until one has it or their time is over. What was reverted there is not it. A
 * thorough search that a node ends before that time, as one that is behind does, tells nothing.
 */
async function readBlocksFor(
  nodes: Readers,
  search: {
    readonly fromBlock: bigint
    readonly atLeastBlock: bigint
    readonly untilSeconds: number
    readonly isThorough: boolean
    readonly holds: Holds
  },
): Promise<ChainReply<readonly CallTrace[]>> {
  const { fromBlock, atLeastBlock, untilSeconds, isThorough, holds } = search
  const head = await readHead(nodes, { route: CALLS_ROUTE, fromBlock, atLeastBlock })
  if (!head.ok) return head
  for (let at = fromBlock; at <= head.value; at += BLOCKS_TOGETHER) {
    if (at - fromBlock >= BLOCKS_MAX)
      return unavailable(`blocks ${fromBlock} to ${head.value} are too many to read whole`)
    const blocks = await readEach(nodes, blocksFrom(at, head.value), {
      route: CALLS_ROUTE,
      size: BLOCK_SIZE,
      read: (node, number) => readCallsIn(node, number, holds),
    })
    if (!blocks.ok) return blocks
    const hashes = blocks.value.flatMap((block) => block.hashes)
    const traces = await readCallTraces(nodes, hashes)
    if (!traces.ok || traces.value.some(({ success }) => success)) return traces
    if (blocks.value.some(({ timeSeconds }) => timeSeconds > untilSeconds))
      return { ok: true, value: [] }
  }
  return isThorough
    ? unavailable(`block ${head.value} is not past the time that is searched`)
    : { ok: true, value: [] }
}

function blocksFrom(first: bigint, head: bigint): readonly bigint[] {
  const numbers = Array.from({ length: Number(BLOCKS_TOGETHER) }, (_, n) => first + BigInt(n))
  return numbers.filter((number) => number <= head)
}

function unavailable(message: string): ChainReply<never> {
  return { ok: false, fault: { tag: 'unavailable', message } }
}
