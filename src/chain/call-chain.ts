import type { Client, ContractFunctionReturnType } from 'viem'
import { getBlock, getTransactionCount, multicall } from 'viem/actions'
import { numberToHex, parseAbi } from 'viem/utils'
import { type Address, type Hex, minOf, ZERO_ADDRESS } from '../domain/money/units.ts'
import type { AnsweredDomain } from '../domain/order/call.ts'
import type { AccountView, CallChain, CallTrace, ChainReply, SeenBlock } from '../ports.ts'
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
import { UnusableAnswer } from './node/batch.ts'
import { present, unavailable } from './node/chain-faults.ts'
import { type Node, readValue } from './node/nodes.ts'
import { createSending, simulateCall } from './sending.ts'
import { BLOCK_ABI, MULTICALL3 } from './snapshot-reads.ts'
import { readCallsIn, readCallTrace, readWhether, TRACE_SIZE } from './transaction-trace.ts'

const CALLS_ROUTE = 'calls'
/** Transactions in one range of 2,000 blocks: five per block. */
const CALLS_MAX = 10_000
/** Upper bound on whole blocks read: longer than a call's lifetime at one block every two seconds. */
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
      readValue(nodes, { route: 'account', size: ACCOUNT_SIZE }, (node) =>
        readAccount(node, query),
      ),
    simulate: (call) =>
      nodes.read({ route: 'simulate', size: 2 }, (node) => simulateCall(node, call)),
    trace: (hash) =>
      readValue(nodes, { route: 'trace', size: TRACE_SIZE }, (node) => readCallTrace(node, hash)),
    callsWith: (query) => searchCalls(assembly, query),
    close: () => nodes.close(),
  }
}

function readFinalAccount(
  assembly: Assembly,
  { account, latestSeconds }: Parameters<CallChain['finalAccount']>[0],
): ReturnType<CallChain['finalAccount']> {
  return agreedRead(
    assembly,
    {
      doing: 'reading a final account',
      keyOf: ({ nestedNonce, code }) => `nestedNonce ${nestedNonce} of code ${code}`,
      reading: { route: 'final-account', size: 2 },
      async read(node) {
        const { final } = await finalBlock(node, assembly.rule, latestSeconds)
        const [nonce, code] = await Promise.all([
          readNestedNonce(node, account, final),
          node.request('eth_getCode', [account, numberToHex(final)]),
        ])
        return { ...nonce, code }
      },
    },
    earlier,
  )
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
 * Searches the given nodes. First reads the transactions in which the contract emitted a log. A call that emits no log, or
 * bypasses the contract, appears only in whole blocks. These are read if no log was found, or for a thorough search.
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
    const many = minOf(BLOCKS_TOGETHER, head.value - at + 1n)
    const numbers = Array.from({ length: Number(many) }, (_, n) => at + BigInt(n))
    const blocks = await readEach(nodes, numbers, {
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

const ABI = parseAbi([
  'function nestedNonce() view returns (uint256)',
  'function balances(address account) view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
])

type ContractDomain = ContractFunctionReturnType<typeof ABI, 'view', 'eip712Domain'>
type ContractRead<Value> =
  | { readonly status: 'success'; readonly result: Value }
  | { readonly status: 'failure'; readonly error: Error }

const ACCOUNT_SIZE = 4
const CONTRACT_READS = 7

/** Bits of ERC-5267's `fields`, in EIP-712 order. A salt or any higher bit means another domain. */
const FIELD = { name: 1, version: 2, chainId: 4, verifyingContract: 8 } as const
const KNOWN_FIELDS = FIELD.name | FIELD.version | FIELD.chainId | FIELD.verifyingContract
/** Characters of a name or version; real ones have a few dozen. */
const WORD_LENGTH_MAX = 1_000

/**
 * Reads the time and the nonce in one multicall, so that both come from one block. Nodes at different heads may answer two
 * requests of a batch: an old nonce with a newer time would make an executed call look expired.
 */
async function readAccount(
  node: Node,
  { account, gasTank }: { readonly account: Address; readonly gasTank: Address },
): Promise<AccountView> {
  const [reads, latest, transactionCount, code] = await Promise.all([
    node.ask('multicall', (client) => readContracts(client, account, gasTank)),
    node.ask('latest block', (client) => getBlock(client, { blockTag: 'latest' })),
    node.ask('transaction count', (client) =>
      getTransactionCount(client, { address: account, blockTag: 'latest' }),
    ),
    node.request('eth_getCode', [account, 'latest']),
  ])
  const baseFeePerGas = present(latest.baseFeePerGas, 'base fee')
  return { ...reads, baseFeePerGas, transactionCount, code }
}

async function readContracts(
  client: Client,
  account: Address,
  gasTank: Address,
): Promise<Omit<AccountView, 'baseFeePerGas' | 'transactionCount' | 'code'>> {
  const reads = await multicall(client, {
    multicallAddress: MULTICALL3,
    batchSize: 0,
    contracts: [
      { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getBlockNumber' },
      { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getCurrentBlockTimestamp' },
      { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getEthBalance', args: [account] },
      { abi: ABI, address: account, functionName: 'nestedNonce' },
      { abi: ABI, address: account, functionName: 'eip712Domain' },
      { abi: ABI, address: gasTank, functionName: 'balances', args: [account] },
      { abi: ABI, address: gasTank, functionName: 'balanceOf', args: [account] },
    ],
  })
  if (reads.length !== CONTRACT_READS)
    throw new UnusableAnswer('the multicall answered another question')
  const [blockNumber, blockTime, balance, nestedNonce, domain, balances, balanceOf] = reads
  return {
    blockNumber: known(blockNumber),
    blockTimeSeconds: Number(known(blockTime)),
    balance: known(balance),
    nestedNonce: nestedNonce.result,
    domain: domain.result === undefined ? undefined : domainOf(domain.result),
    gasTank: { balances: balances.result, balanceOf: balanceOf.result },
  }
}

function readNestedNonce(
  node: Node,
  account: Address,
  blockNumber: bigint,
): Promise<SeenBlock & { readonly nestedNonce: bigint | undefined }> {
  return node.ask('multicall', async (client) => {
    const [at, time, nonce] = await multicall(client, {
      multicallAddress: MULTICALL3,
      batchSize: 0,
      blockNumber,
      contracts: [
        { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getBlockNumber' },
        { abi: BLOCK_ABI, address: MULTICALL3, functionName: 'getCurrentBlockTimestamp' },
        { abi: ABI, address: account, functionName: 'nestedNonce' },
      ],
    })
    const { result: nestedNonce } = nonce
    return { blockNumber: known(at), blockTimeSeconds: Number(known(time)), nestedNonce }
  })
}

/** If even the block number is missing, the node refused the whole call, and every read reports that. */
function known<Value>(read: ContractRead<Value>): Value {
  if (read.status === 'failure') throw read.error
  return read.result
}

/** ERC-5267. Fields that the bits omit are returned empty, so they cannot match the expected ones. */
function domainOf(answered: ContractDomain): AnsweredDomain | undefined {
  const [fieldsByte, name, version, chainId, verifyingContract, , extensions] = answered
  if (name.length > WORD_LENGTH_MAX || version.length > WORD_LENGTH_MAX) return undefined
  const fields = Number(fieldsByte)
  const has = (bit: number): boolean => (fields & bit) !== 0
  return {
    name: has(FIELD.name) ? name : '',
    version: has(FIELD.version) ? version : '',
    chainId: has(FIELD.chainId) ? chainId : 0n,
    // The decoder returns checksummed addresses.
    verifyingContract: has(FIELD.verifyingContract)
      ? (verifyingContract.toLowerCase() as Address)
      : ZERO_ADDRESS,
    hasExtras: has(~KNOWN_FIELDS) || extensions.length > 0,
  }
}
