import type { IntentId } from '../../domain/order/intent.ts'
import { latestBlockSeconds } from '../../domain/policy.ts'
import { type FinalityRule, hasSwaps } from '../../domain/settings.ts'
import { fillReopened, fillsFinal } from '../../journal/events/order/fills.ts'
import { transactionReopened, transactionsFinal } from '../../journal/events/state/transactions.ts'
import type {
  DaemonState,
  UnfinalFill,
  UnfinalTransaction,
} from '../../journal/state/daemon-state.ts'
import type { FinalChain, SeenBlock } from '../../ports.ts'
import { callOf } from '../../venues/call/call-projection.ts'
import type { OrderContext, WalletContext } from '../../venues/context.ts'
import { askFinal } from '../../venues/finality.ts'
import { swapOf } from '../../venues/swap/swap-projection.ts'
import { followRecorded } from '../../venues/wallet/transaction.ts'

const BLOCKS_TOGETHER = 32
/** Delay before the first read of a new fill, and minimum between reads. */
const READ_EVERY_MS_MIN = 2_000
const READ_EVERY_MS_MAX = 60_000
/** Maximum while a wallet transaction is not final: if it is lost, later nonces cannot be mined. */
const READ_EVERY_MS_MAX_FOR_NONCES = 12_000
/** Upper bound on how far nodes' heads differ. */
const BLOCKS_AHEAD_MAX = 64n
const RETRY_MS = 15_000

type FinalityWatchInput = {
  readonly context: OrderContext
  /** Called with an order that a reorg reopened. */
  readonly onReopened: (id: IntentId) => void
  readonly onFailure: (error: unknown) => void
}

type Watched = {
  readonly name: string
  readonly chain: Pick<FinalChain, 'blocks'>
  readonly rule: FinalityRule
  readonly wallet: WalletContext
  readonly isOf: (fill: UnfinalFill) => boolean
}

type Unfinal = {
  readonly fills: readonly UnfinalFill[]
  readonly transactions: readonly (readonly [id: string, UnfinalTransaction])[]
}

/**
 * Monitors fills and mined wallet transactions until they are final (rule T6).
 *
 * Each read fetches the blocks at the numbers of all non-final items of a chain. An item is final when its own block is deep
 * enough, and reopened when another block has taken that number.
 */
export function createFinalityWatch(input: FinalityWatchInput) {
  const { journal } = input.context.ports
  const watches = watchedChains(input.context).map((watched) => watchChain(input, watched))
  return {
    /** Starts due reads, which run beside trading. */
    readDue(): void {
      const { unfinal, unfinalTransactions } = journal.state
      if (unfinal.size > 0 || unfinalTransactions.size > 0)
        for (const watch of watches) watch.readDue()
    },
    /** Epoch ms; infinite while everything is final. */
    nextDueMs: (): number => Math.min(...watches.map((watch) => watch.nextDueMs())),
  }
}

function watchChain(input: FinalityWatchInput, watched: Watched) {
  const { clock, journal } = input.context.ports
  const { finality } = watched.rule
  let dueMs: number | undefined
  let perBlockMs: number | undefined
  let checkedMs = 0
  let isReading = false

  function nextDueMs(): number {
    if (isReading) return Number.POSITIVE_INFINITY
    const { unfinal, unfinalTransactions } = journal.state
    // Runs at every turn of the daemon, so it stops at the first match instead of listing all.
    const hasTransaction = hasAny(unfinalTransactions.values(), isFrom(watched.wallet))
    if (!hasTransaction && !hasAny(unfinal.values(), watched.isOf)) {
      dueMs = undefined
      return Number.POSITIVE_INFINITY
    }
    const nowMs = clock.now()
    // A later time comes from a wrong clock.
    if (dueMs === undefined || dueMs - nowMs > READ_EVERY_MS_MAX) dueMs = nowMs + firstWaitMs()
    return hasTransaction ? Math.min(dueMs, checkedMs + READ_EVERY_MS_MAX_FOR_NONCES) : dueMs
  }

  function firstWaitMs(): number {
    if (perBlockMs === undefined || typeof finality !== 'number') return READ_EVERY_MS_MIN
    return withinBounds((finality + 1) * perBlockMs)
  }

  async function read(): Promise<void> {
    isReading = true
    try {
      const pace = await readBlocks(input, watched)
      checkedMs = clock.now()
      dueMs = checkedMs + pace.waitMs
      perBlockMs = pace.perBlockMs ?? perBlockMs
    } finally {
      isReading = false
    }
  }

  return {
    nextDueMs,
    readDue(): void {
      if (nextDueMs() <= clock.now()) read().catch(input.onFailure)
    },
  }
}

function hasAny<Item>(items: Iterable<Item>, isMeant: (item: Item) => boolean): boolean {
  for (const item of items) if (isMeant(item)) return true
  return false
}

function isFrom({ signer, chainId }: WalletContext) {
  return ({ open: { record } }: UnfinalTransaction): boolean =>
    record.from === signer.address && record.chainId === chainId
}

function unfinalOf({ unfinal, unfinalTransactions }: DaemonState, watched: Watched): Unfinal {
  const isOwn = isFrom(watched.wallet)
  return {
    fills: [...unfinal.values()].filter(watched.isOf),
    transactions: [...unfinalTransactions].filter(([, each]) => isOwn(each)),
  }
}

function watchedChains(context: OrderContext): readonly Watched[] {
  const { ports, chainId, finality, gasless, wallet, aggregator } = context
  const trading: Watched = {
    name: gasless.chain,
    chain: ports.chain,
    rule: finality,
    wallet,
    isOf: ({ open }) => swapOf(open)?.permit?.chainId === chainId,
  }
  if (aggregator === undefined) return [trading]
  const calling: Watched = {
    name: aggregator.settings.chain,
    chain: aggregator.chain,
    rule: aggregator.finality,
    wallet: aggregator.wallet,
    isOf: ({ open }) => callOf(open)?.call?.chainId === aggregator.wallet.chainId,
  }
  return hasSwaps(context) ? [trading, calling] : [calling]
}

type Pace = { readonly waitMs: number; readonly perBlockMs?: number }

/** Journals certain outcomes. Returns the time until the next change is expected. */
async function readBlocks(input: FinalityWatchInput, watched: Watched): Promise<Pace> {
  const { context } = input
  const { journal, observe } = context.ports
  const unfinal = unfinalOf(journal.state, watched)
  const numbers = numbersOf(unfinal).slice(0, BLOCKS_TOGETHER)
  const seen = await askFinal(context, 'following blocks to finality', (query) =>
    watched.chain.blocks({ ...query, numbers }),
  )
  if (seen === undefined || context.closing.aborted) return { waitMs: RETRY_MS }
  observe({ type: 'finality', chain: watched.name, lagBlocks: seen.lag })
  // Transactions first: a fill may depend on one that was undone.
  await settleTransactions(input, watched, { unfinal, seen })
  if (context.closing.aborted) return { waitMs: RETRY_MS }
  await settleFills(input, { unfinal, seen })
  const left = new Set(numbersOf(unfinalOf(journal.state, watched)))
  const oldest = numbers[0]
  return paceOf({ oldest, left: numbers.find((number) => left.has(number)), ...seen })
}

function numbersOf({ fills, transactions }: Unfinal): bigint[] {
  const all = [...fills, ...transactions.map(([, each]) => each)]
  const numbers = new Set(all.map(({ blockNumber }) => blockNumber))
  return [...numbers].toSorted((a, b) => (a < b ? -1 : 1))
}

type Blocks = Extract<Awaited<ReturnType<FinalChain['blocks']>>, { ok: true }>['value']

type BlocksRead = { readonly unfinal: Unfinal; readonly seen: Blocks }

async function settleTransactions(
  { context, onFailure }: FinalityWatchInput,
  { wallet }: Watched,
  { unfinal, seen }: BlocksRead,
): Promise<void> {
  const { journal } = context.ports
  const settled: string[] = []
  let isReopened = false
  for (const [id, mined] of unfinal.transactions) {
    const verdict = await verdictOn(context, wallet, mined, seen)
    // The journal may be closed; the next start reads again.
    if (context.closing.aborted) return
    if (verdict === 'final') settled.push(id)
    if (verdict !== 'gone' || !journal.state.unfinalTransactions.has(id)) continue
    const { blockNumber } = mined
    const blockHash = seen.blocks.get(blockNumber)?.hash
    await journal.append(transactionReopened({ id, blockNumber, blockHash }))
    isReopened = true
  }
  if (settled.length > 0)
    await journal.append(transactionsFinal({ ids: settled, blockNumber: seen.final }))
  if (isReopened) followRecorded(context, wallet).catch(onFailure)
}

/** Outcome of a mined transaction. The block at its number is only a hint; its nonce at a final block decides. */
async function verdictOn(
  { ports: { clock } }: OrderContext,
  { chain }: WalletContext,
  { open, hash, blockNumber, blockHash }: UnfinalTransaction,
  { final, head, blocks }: Blocks,
): Promise<'final' | 'gone' | 'open'> {
  const block = blocks.get(blockNumber)
  if (block !== undefined && block.hash !== blockHash) return 'gone'
  if (blockNumber > final && !isNowhere(blockNumber, head)) return 'open'
  const { from, nonce } = open.record
  const { hashes } = open
  const latestSeconds = latestBlockSeconds(clock.now())
  const outcome = await chain.nonceOutcome({ from, nonce, hashes, latestSeconds })
  if (!outcome.ok) return 'open'
  if (outcome.value === undefined && block !== undefined) {
    // Its block is canonical, so a node that reports the nonce as unused may lag.
    const count = await chain.finalCount({ account: from, latestSeconds })
    const isBehind = !count.ok || count.value.blockNumber < blockNumber
    return isBehind || count.value.transactionCount > nonce ? 'open' : 'gone'
  }
  const isSame =
    typeof outcome.value === 'object' && outcome.value.hash === hash && outcome.value.success
  return isSame ? 'final' : 'gone'
}

/** True if no node has reached that block, so the node that reported it invented it. */
function isNowhere(blockNumber: bigint, head: SeenBlock): boolean {
  return blockNumber > head.blockNumber + BLOCKS_AHEAD_MAX
}

async function settleFills(
  { context, onReopened }: FinalityWatchInput,
  { unfinal, seen: { final, head, blocks } }: BlocksRead,
): Promise<void> {
  const { journal } = context.ports
  const settled: string[] = []
  for (const { open, blockNumber, blockHash } of unfinal.fills) {
    const block = blocks.get(blockNumber)
    const { intent, attempt } = open
    if (block?.hash === blockHash) {
      if (blockNumber <= final) settled.push(`${intent.id}:${attempt}`)
      continue
    }
    // An order still in post-processing is reopened once it is closed.
    const isGone = block !== undefined || isNowhere(blockNumber, head)
    if (!isGone || journal.state.intents.has(intent.id)) continue
    const undone = { intentId: intent.id, attempt, blockNumber, blockHash: block?.hash }
    await journal.append(fillReopened(undone))
    onReopened(intent.id)
  }
  if (settled.length > 0) await journal.append(fillsFinal({ orders: settled, blockNumber: final }))
}

/** Estimates the time until the first remaining item is final, from the pace of blocks since the oldest item. */
function paceOf(
  seen: Blocks & { readonly oldest: bigint | undefined; readonly left: bigint | undefined },
): Pace {
  const { oldest, left, lag, head, blocks } = seen
  const block = oldest === undefined ? undefined : blocks.get(oldest)
  if (block === undefined || block.depth <= 0) return { waitMs: READ_EVERY_MS_MIN }
  const perBlockMs = ((head.blockTimeSeconds - block.timeSeconds) * 1000) / block.depth
  const depth = left === undefined ? undefined : blocks.get(left)?.depth
  return { waitMs: withinBounds((lag - (depth ?? lag)) * perBlockMs), perBlockMs }
}

function withinBounds(ms: number): number {
  return Math.min(Math.max(ms, READ_EVERY_MS_MIN), READ_EVERY_MS_MAX)
}
