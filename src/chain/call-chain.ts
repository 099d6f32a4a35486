import { numberToHex } from 'viem/utils'
import type { Hex } from '../domain/money/units.ts'
import type { AccountView, CallChain, CallTrace, ChainReply, SeenBlock } from '../ports.ts'
import { ACCOUNT_SIZE, readAccount, readNestedNonce } from './account-reads.ts'
import { createCodeReader } from './contract-code.ts'
import {
  type Assembly,
  type AssemblyOptions,
  agreedRead,
  createFinality,
  earlier,
  finalBlock,
  openAssembly,
} from './final-blocks.ts'
import { foundLogs, type Readers, readEach, readHead, transactionsOf } from './logs.ts'
import { unavailable } from './node/chain-faults.ts'
import { asReply, type Node } from './node/nodes.ts'
import { createSending, simulateCall } from './sending.ts'
import { readCallsIn, readCallTrace, readWhether, TRACE_SIZE } from './transaction-trace.ts'

const CALLS_ROUTE = 'calls'
/** Transactions in one range of 2,000 blocks: five per block. */
const CALLS_MAX = 10_000
/** Upper bound on whole blocks read. Longer than a call's lifetime with one block every two seconds. */
const BLOCKS_MAX = 2_000n
/** Blocks read between two checks for a match. */
const BLOCKS_TOGETHER = 12n
/** Weight of a whole block, in requests: some blocks are megabytes. */
const BLOCK_SIZE = 8

export function createCallChain(options: AssemblyOptions): CallChain & { close(): Promise<void> } {
  const assembly = openAssembly(options)
  const { nodes } = assembly
  return {
    ...createSending(nodes, options.chainId),
    ...createFinality(assembly),
    code: createCodeReader(assembly),
    finalAccount: (query) => readFinalAccount(assembly, query),
    account: (query) =>
      nodes.read(
        { route: 'account', size: ACCOUNT_SIZE },
        asReply((node) => readAccount(node, query)),
      ),
    simulate: (call) =>
      nodes.read({ route: 'simulate', size: 2 }, (node) => simulateCall(node, call)),
    trace: (hash) =>
      nodes.read(
        { route: 'trace', size: TRACE_SIZE },
        asReply((node) => readCallTrace(node, hash)),
      ),
    callsWith: (query) => searchCalls(assembly, query),
    close: () => nodes.close(),
  }
}

type FinalAccount = SeenBlock & Pick<AccountView, 'code' | 'nestedNonce'>

function readFinalAccount(
  assembly: Assembly,
  { account, latestSeconds }: Parameters<CallChain['finalAccount']>[0],
): ReturnType<CallChain['finalAccount']> {
  const read = async (node: Node): Promise<FinalAccount> => {
    const { final } = await finalBlock(node, assembly.rule, latestSeconds)
    const [nonce, code] = await Promise.all([
      readNestedNonce(node, account, final),
      node.request('eth_getCode', [account, numberToHex(final)]),
    ])
    return { ...nonce, code }
  }
  const doing = 'reading a final account'
  const keyOf = ({ nestedNonce, code }: FinalAccount): string =>
    `nestedNonce ${nestedNonce} of code ${code}`
  const reading = { route: 'final-account', size: 2 }
  return agreedRead(assembly, { doing, keyOf, reading, read }, earlier)
}

/** `CallChain.callsWith`. A thorough search that finds nothing must be confirmed by several nodes. */
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
 * Searches one node, or whichever answers. First reads the transactions in which the contract emitted a log. A call that
 * emits no log, or bypasses the contract, appears in whole blocks only: these are read if no log matched, or for a thorough
 * search.
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

async function tracesOf(
  nodes: Readers,
  hashes: readonly Hex[],
  holds: Holds,
): Promise<ChainReply<readonly CallTrace[]>> {
  if (hashes.length > CALLS_MAX) return unavailable(`${hashes.length} transactions are too many`)
  const inspected = await readEach(nodes, hashes, {
    route: CALLS_ROUTE,
    size: 1,
    read: (node, hash) => readWhether(node, hash, holds),
  })
  if (!inspected.ok) return inspected
  const own = inspected.value.filter((each) => each.holds).map(({ hash }) => hash)
  return readCallTraces(nodes, own)
}

function readCallTraces(
  nodes: Readers,
  hashes: readonly Hex[],
): Promise<ChainReply<readonly CallTrace[]>> {
  return readEach(nodes, hashes, { route: CALLS_ROUTE, size: TRACE_SIZE, read: readCallTrace })
}

/**
 * Searches whole blocks, a few at a time, until one matches or their time range ends. Reverted transactions do not match. A
 * thorough search proves nothing if the node stops before the end of that range, for example because it lags.
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
