import type { FeedReading, PriceFeed } from '../../../src/domain/money/price.ts'
import type { Pair } from '../../../src/domain/money/token.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { FinalityRule } from '../../../src/domain/settings.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type {
  AgreedReply,
  Chain,
  ChainReply,
  ChainView,
  Payment,
  Receipt,
  TransactionTrace,
  ViewQuery,
} from '../../../src/ports.ts'
import { fingerprint } from '../../support/random-hex.ts'
import { withOneLie } from '../lies.ts'
import type { SimulatedProcess } from '../process.ts'
import { BLOCK_SECONDS, type Ledger, type MinedTransaction } from './ledger.ts'
import type { Mempool } from './mempool.ts'
import { type CodeFaults, nonceVote, simulatedNodes } from './nodes.ts'

const LATENCY_MS_MAX = 40
const FEE_PER_GAS = 10n ** 7n
const GAS_LIMIT = 100_000n

/** Faults of a node. Probabilities are per request; all may be changed while the simulation runs. */
export type ChainFaults = {
  down: boolean
  /** Extra latency of a request or its answer. */
  slowMs: number
  unavailable: number
  /** How far behind the newest block the node answers from. */
  lagSeconds: number
  /** How far the node's block times are ahead of true time. */
  aheadSeconds: number
  /** How much later receipts and logs appear than state. */
  indexingSeconds: number
  /** Share of transactions, by hash, that searches never find. */
  losesLogs: number
  losesTransaction: number
  minesAfterBlocksMax: number
  /** Multiple of the usual fee that a block requires: lower offers are refused. */
  feeTimes: bigint
  /** Probability that a read within a batch reverts alone, as when a node limits the gas of a call. */
  subReadFails: number
  /** Reads within a batch that always revert: tokens and feeds by their addresses. */
  unreadable: {
    balances: readonly Address[]
    allowances: readonly Address[]
    feeds: readonly Address[]
  }
  /** Probability of a wrong number in an answer that needs no quorum. */
  lies: number
  /** Feeds that use up the gas of any batch that reads one of them: the whole batch goes unanswered. */
  breaking: readonly Address[]
  wrongCode: CodeFaults['wrongCode']
}

export function noChainFaults(): ChainFaults {
  return {
    down: false,
    slowMs: 0,
    unavailable: 0,
    lagSeconds: 0,
    aheadSeconds: 0,
    indexingSeconds: 0,
    losesLogs: 0,
    losesTransaction: 0,
    minesAfterBlocksMax: 1,
    feeTimes: 1n,
    subReadFails: 0,
    lies: 0,
    unreadable: { balances: [], allowances: [], feeds: [] },
    breaking: [],
    wrongCode: undefined,
  }
}

export type NodeOptions = {
  readonly ledger: Ledger
  readonly mempool: Mempool
  readonly faults: ChainFaults
  /** Faults of further nodes, which are queried only for quorum reads. */
  readonly others?: readonly ChainFaults[]
  readonly rule: FinalityRule
  readonly observe?: (event: RuntimeEvent) => void
  readonly random: SeededRandom
  readonly process: SimulatedProcess
  readonly chainId: number
}

/** The chain as one process sees it through its nodes. */
export function createSimulatedChain(options: NodeOptions): Chain {
  const { ledger, mempool, faults, random, process, chainId } = options
  const lying = random.fork('lies')
  // Reads beside the orders have their own randomness, so that they do not change the orders' outcomes.
  const reading = random.fork('code')

  const visible = (node = faults): number =>
    ledger.block - Math.ceil(node.lagSeconds / BLOCK_SECONDS)
  const indexed = (node = faults): number =>
    visible(node) - Math.ceil(node.indexingSeconds / BLOCK_SECONDS)
  const timeOf = (block: number, node = faults): number =>
    ledger.timeSeconds(block) + node.aheadSeconds
  const known = (hash: Hex): MinedTransaction | undefined => {
    const mined = ledger.transaction(hash)
    return mined === undefined || mined.blockNumber > BigInt(indexed()) ? undefined : mined
  }
  const reach = <Reply>(answer: () => Reply): Promise<Reply | Fault> =>
    process.ask(() => {
      if (faults.down || random.chance(faults.unavailable)) return fault('unavailable', 'no answer')
      return answer()
    }, LATENCY_MS_MAX + faults.slowMs)
  const ask = <Value>(answer: () => ChainReply<Value>): Promise<ChainReply<Value>> => reach(answer)
  /** Present state according to a single node. */
  const lied = <Answer>(answer: Answer): Answer =>
    lying.chance(faults.lies) ? withOneLie(answer, lying) : answer
  const askAll = <Value>(answer: () => AgreedReply<Value>): Promise<AgreedReply<Value>> =>
    reach(answer)
  const assembly = simulatedNodes({ ...options, visible, timeOf })

  return {
    identity: () =>
      ask(() => ({
        ok: true,
        value: {
          chainId,
          genesisHash: fingerprint(`genesis ${chainId}`),
          blockTimeSeconds: timeOf(visible()),
        },
      })),
    view: (query) =>
      ask(() => {
        if (query.feeds.some(({ feed }) => faults.breaking.includes(feed)))
          return fault('unavailable', 'out of gas')
        const view = partOf(viewAt(ledger, query, visible()), query, options)
        return { ok: true, value: lied({ ...view, blockTimeSeconds: timeOf(visible()) }) }
      }),
    permit: ({ owner, nonce, txHash }) =>
      ask(() => {
        const block = visible()
        const mined = txHash === undefined ? undefined : known(txHash)
        return {
          ok: true,
          value: {
            ...lied({
              blockNumber: BigInt(block),
              blockTimeSeconds: timeOf(block),
              nonceUsed: ledger.nonceUsed(owner, nonce, block),
              ownerHasCode: ledger.hasCode(owner, block),
            }),
            transaction: mined === undefined ? undefined : traceOf(mined),
          },
        }
      }),
    code: (query) =>
      process.ask(
        () => (faults.down ? fault('unavailable', 'no answer') : assembly.code(query)),
        LATENCY_MS_MAX + faults.slowMs,
        reading,
      ),
    blocks: (query) => askAll(() => assembly.blocks(query)),
    finalCount: ({ account, latestSeconds }) =>
      askAll(() =>
        assembly.agreed(latestSeconds, ({ head, final, node }) => {
          const transactionCount = mempool.nonceOf(account, final)
          const at = { blockNumber: BigInt(final), blockTimeSeconds: timeOf(final, node) }
          const value = { ...at, transactionCount, headSeconds: timeOf(head, node) }
          return { key: String(transactionCount), value }
        }),
      ),
    nonceOutcome: ({ from, nonce, hashes, latestSeconds }) =>
      askAll(() =>
        assembly.agreed(latestSeconds, ({ final }) => {
          // Blocks are complete at once, whatever part of them is indexed.
          const mined = hashes.flatMap((hash) => ledger.transaction(hash) ?? [])
          return nonceVote(mempool.nonceOf(from, final) > nonce, mined)
        }),
      ),
    finalPermit: ({ owner, nonce, latestSeconds }) =>
      askAll(() =>
        assembly.agreed(latestSeconds, ({ final, node }) => {
          const nonceUsed = ledger.nonceUsed(owner, nonce, final)
          const at = { blockNumber: BigInt(final), blockTimeSeconds: timeOf(final, node) }
          return { key: String(nonceUsed), value: { ...at, nonceUsed } }
        }),
      ),
    outgoing: ({ owner, token, nonce, fromBlock, atLeastBlock }) =>
      ask(() => {
        if (BigInt(visible()) < atLeastBlock) return fault('unavailable', 'the node is behind')
        const until = BigInt(indexed())
        const isShown = ({ blockNumber }: { readonly blockNumber: bigint }): boolean =>
          blockNumber >= fromBlock && blockNumber <= until
        const found = ledger.transactions.filter(
          (mined) =>
            isShown(mined) &&
            !isLostLog(mined.hash, faults) &&
            mined.transfers.some(
              ({ token: moved, from, amount }) => moved === token && from === owner && amount > 0n,
            ),
        )
        const own = ledger.invalidations.find(
          (each) => each.owner === owner && each.nonce === nonce && isShown(each),
        )
        const cancelled = own && {
          txHash: own.txHash,
          blockNumber: own.blockNumber,
          blockHash: ledger.blockHash(Number(own.blockNumber)),
        }
        return { ok: true, value: { traces: found.map(traceOf), cancelled } }
      }),
    payments: ({ owner, tokens, fromBlock, toBlock }) =>
      ask(() => {
        const nodes = [faults, ...(options.others ?? [])].filter(
          (node) => !node.down && BigInt(visible(node)) >= toBlock,
        )
        const agreeing = nodes.slice(0, options.rule.agree)
        if (agreeing.length < options.rule.agree) return fault('unavailable', 'a node is behind')
        const isShown = ({ hash, blockNumber }: MinedTransaction): boolean =>
          agreeing.some((node) => blockNumber <= BigInt(indexed(node)) && !isLostLog(hash, node))
        // Ordered by block; the newest blocks are queried most often.
        const { transactions } = ledger
        const before = transactions.findLastIndex(({ blockNumber }) => blockNumber < fromBlock)
        const payments = transactions
          .slice(before + 1)
          .filter((mined) => mined.blockNumber <= toBlock && isShown(mined))
          .flatMap((mined) => paymentsIn(mined, { owner, tokens }))
        return { ok: true, value: { payments, fromBlock } }
      }),
    draft: (call) =>
      ask(() => {
        const reverts = mempool.revertReason(call)
        if (reverts !== undefined) return fault('refused', reverts)
        const baseFeePerGas = (FEE_PER_GAS * faults.feeTimes) / 2n
        const maxFeePerGas = FEE_PER_GAS * faults.feeTimes
        if (ledger.balance('native', call.from) < call.value + GAS_LIMIT * maxFeePerGas)
          return fault('insufficientFunds', 'not enough ETH for gas and value')
        const fees = { baseFeePerGas, maxFeePerGas, maxPriorityFeePerGas: FEE_PER_GAS }
        const nonce = mempool.nonceOf(call.from, visible())
        return {
          ok: true,
          value: { ...call, chainId, ...lied({ nonce, gas: GAS_LIMIT, ...fees }) },
        }
      }),
    broadcast: (raw) =>
      ask(() => {
        const taken = mempool.accept(raw, FEE_PER_GAS * faults.feeTimes)
        return taken.ok ? { ok: true, value: taken.hash } : fault('refused', taken.why)
      }),
    transaction: ({ from, hashes }) =>
      ask(() => {
        const receipt = hashes.map(known).find((mined) => mined !== undefined)
        return {
          ok: true,
          value: lied({
            receipt: receipt === undefined ? undefined : receiptOf(receipt),
            latestNonce: mempool.nonceOf(from, visible()),
          }),
        }
      }),
  }
}

function paymentsIn(
  { hash: txHash, blockNumber, transfers }: MinedTransaction,
  { owner, tokens }: { readonly owner: Address; readonly tokens: readonly Address[] },
): readonly Payment[] {
  return transfers
    .filter(({ token, from, amount }) => tokens.includes(token) && from === owner && amount > 0n)
    .map(({ token, amount, logIndex }) => ({ token, amount, logIndex, txHash, blockNumber }))
}

/** The same hashes every time, for a node that lost its logs of them. */
function isLostLog(hash: Hex, { losesLogs }: ChainFaults): boolean {
  return Number.parseInt(hash.slice(2, 10), 16) / 2 ** 32 < losesLogs
}

export type Fault = Extract<ChainReply<never>, { ok: false }>

export function fault(tag: Fault['fault']['tag'], message: string): Fault {
  return { ok: false, fault: { tag, message } }
}

function viewAt(ledger: Ledger, query: ViewQuery, block: number): ChainView {
  const { owner, tokens, feeds, permitNonce } = query
  const answering = tokens.filter(({ address }) => ledger.isToken(address))
  const perToken = (read: (token: Address) => bigint): ReadonlyMap<Address, bigint> =>
    new Map(answering.map(({ address }) => [address, read(address)]))
  return {
    blockNumber: BigInt(block),
    blockTimeSeconds: ledger.timeSeconds(block),
    nativeBalance: ledger.balance('native', owner, block),
    ownerHasCode: ledger.hasCode(owner, block),
    balances: perToken((token) => ledger.balance(token, owner, block)),
    allowances: perToken((token) => ledger.allowance(token, owner, block)),
    readings: readingsAt(ledger, feeds, block),
    permitNonceUsed:
      permitNonce === undefined ? undefined : ledger.nonceUsed(owner, permitNonce, block),
  }
}

/** A snapshot without the parts that the node's faults hide. */
function partOf(
  view: ChainView,
  { feeds }: ViewQuery,
  { faults, random }: Pick<NodeOptions, 'faults' | 'random'>,
): ChainView {
  const { unreadable, subReadFails } = faults
  const isWhole = subReadFails === 0 && Object.values(unreadable).every((of) => of.length === 0)
  // A simulation reads a million snapshots, nearly all of them complete.
  if (isWhole) return view
  const isRead = (of: readonly Address[], address: Address | undefined): boolean =>
    !random.chance(subReadFails) && (address === undefined || !of.includes(address))
  const feedOf = (pair: Pair): Address | undefined => feeds.find((each) => each.pair === pair)?.feed
  const read = <Key, Value>(
    all: ReadonlyMap<Key, Value>,
    isIn: (key: Key) => boolean,
  ): ReadonlyMap<Key, Value> => new Map([...all].filter(([key]) => isIn(key)))
  return {
    ...view,
    balances: read(view.balances, (token) => isRead(unreadable.balances, token)),
    allowances: read(view.allowances, (token) => isRead(unreadable.allowances, token)),
    readings: read(view.readings, (pair) => isRead(unreadable.feeds, feedOf(pair))),
  }
}

function readingsAt(
  ledger: Ledger,
  feeds: readonly PriceFeed[],
  block: number,
): ReadonlyMap<Pair, FeedReading> {
  const readings = new Map<Pair, FeedReading>()
  for (const feed of feeds) {
    const reading = readingAt(ledger, feed, block)
    if (reading !== undefined) readings.set(feed.pair, reading)
  }
  return readings
}

/** A sequencer feed's last round began when the sequencer last went up or down. */
function readingAt(
  ledger: Ledger,
  { feed, sequencerFeed }: PriceFeed,
  block: number,
): FeedReading | undefined {
  const round = ledger.reading(feed, block)
  if (round === undefined) return undefined
  if (sequencerFeed === undefined) return { ...round, sequencer: undefined }
  const status = ledger.reading(sequencerFeed, block)
  if (status === undefined) return undefined
  const { answer, updatedAtSeconds } = status
  return { ...round, sequencer: { answer, startedAtSeconds: updatedAtSeconds } }
}

function traceOf({
  hash,
  success,
  blockNumber,
  blockHash,
  transfers,
  input,
}: MinedTransaction): TransactionTrace {
  return { hash, success, blockNumber, blockHash, transfers, input }
}

function receiptOf({ hash, success, blockNumber, blockHash }: MinedTransaction): Receipt {
  return { hash, success, blockNumber, blockHash }
}
