import type { IntentId } from '../../domain/order/intent.ts'
import { latestBlockSeconds } from '../../domain/policy.ts'
import type { FinalityRule } from '../../domain/settings.ts'
import { fillReopened, fillsFinal } from '../../journal/events/order/fills.ts'
import { transactionReopened, transactionsFinal } from '../../journal/events/state/transactions.ts'
import type {
  DaemonState,
  UnfinalFill,
  UnfinalTransaction,
} from '../../journal/state/daemon-state.ts'
import type { BlockSnapshot, FinalChain, SeenBlock } from '../../ports.ts'
import { callOf } from '../../venues/call/call-projection.ts'
import type { OrderContext, WalletContext } from '../../venues/context.ts'
import { askFinal } from '../../venues/finality.ts'
import { swapOf } from '../../venues/swap/swap-projection.ts'
import { followRecorded } from '../../venues/wallet/transaction.ts'

const BLOCKS_TOGETHER = 32
/** Delay before the first read of a new fill, and minimum between reads. */
const READ_EVERY_MS_MIN = 2_000
const READ_EVERY_MS_MAX = 60_000
/** Maximum while a wallet transaction is not final: if it is lost, later nonces are stuck. */
const READ_EVERY_MS_MAX_FOR_NONCES = 12_000
/** Upper bound on how far nodes' heads differ. */
const BLOCKS_AHEAD_MAX = 64n
const RETRY_MS = 15_000

/** Monitors fills and mined wallet transactions until they are final (rule T6). */
type FinalityWatch = {
  /** Reads what is due, concurrently with trading. */
  readDue(): void
  /** Epoch ms; infinite while everything is final. */
  nextDueMs(): number
}

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
 * Each read fetches the blocks at the numbers of all non-final items of a chain. An item is final when its own block is
 * deep enough there, and reopened when another block is.
 */
export function createFinalityWatch(input: FinalityWatchInput): FinalityWatch {
  const { ports } = input.context
  const chains = watchedChains(input.context)
  const dueMs = new Map<string, number>()
  const paceMs = new Map<string, number>()
  const reading = new Set<string>()
  const checkedMs = new Map<string, number>()

  function dueMsOf(watched: Watched): number {
    if (isAllFinal(ports.journal.state, watched)) {
      dueMs.delete(watched.name)
      return Number.POSITIVE_INFINITY
    }
    const nowMs = ports.clock.now()
    const kept = dueMs.get(watched.name)
    // A later time was set by a wrong clock.
    const isKept = kept !== undefined && kept - nowMs <= READ_EVERY_MS_MAX
    const due = isKept ? kept : nowMs + firstWaitMs(watched)
    dueMs.set(watched.name, due)
    return hasUnfinalNonce(ports.journal.state, watched)
      ? Math.min(due, (checkedMs.get(watched.name) ?? 0) + READ_EVERY_MS_MAX_FOR_NONCES)
      : due
  }

  function firstWaitMs({ name, rule: { finality } }: Watched): number {
    const perBlockMs = paceMs.get(name)
    if (perBlockMs === undefined || typeof finality !== 'number') return READ_EVERY_MS_MIN
    return withinBounds((finality + 1) * perBlockMs)
  }

  async function inspect(watched: Watched): Promise<void> {
    reading.add(watched.name)
    try {
      const { waitMs, perBlockMs } = await readBlocks(input, watched)
      const nowMs = ports.clock.now()
      checkedMs.set(watched.name, nowMs)
      dueMs.set(watched.name, nowMs + waitMs)
      if (perBlockMs !== undefined) paceMs.set(watched.name, perBlockMs)
    } finally {
      reading.delete(watched.name)
    }
  }

  return {
    readDue() {
      const { unfinal, unfinalTransactions } = ports.journal.state
      if (unfinal.size === 0 && unfinalTransactions.size === 0) return
      for (const watched of chains) {
        const isDue = dueMsOf(watched) <= ports.clock.now()
        if (isDue && !reading.has(watched.name)) inspect(watched).catch(input.onFailure)
      }
    },
    nextDueMs: () =>
      Math.min(
        ...chains.filter(({ name }) => !reading.has(name)).map(dueMsOf),
        Number.POSITIVE_INFINITY,
      ),
  }
}

function isAllFinal(
  { unfinal, unfinalTransactions }: DaemonState,
  { isOf, wallet }: Watched,
): boolean {
  for (const fill of unfinal.values()) if (isOf(fill)) return false
  return !hasUnfinalNonce({ unfinalTransactions }, { wallet })
}

function hasUnfinalNonce(
  { unfinalTransactions }: Pick<DaemonState, 'unfinalTransactions'>,
  { wallet }: Pick<Watched, 'wallet'>,
): boolean {
  for (const each of unfinalTransactions.values()) if (isMadeBy(wallet, each)) return true
  return false
}

function unfinalOf(
  { unfinal, unfinalTransactions }: DaemonState,
  { isOf, wallet }: Watched,
): Unfinal {
  return {
    fills: [...unfinal.values()].filter(isOf),
    transactions: [...unfinalTransactions].filter(([, each]) => isMadeBy(wallet, each)),
  }
}

function isMadeBy(
  { signer, chainId }: WalletContext,
  { open: { record } }: UnfinalTransaction,
): boolean {
  return record.from === signer.address && record.chainId === chainId
}

function watchedChains({
  ports,
  chainId,
  finality,
  gasless,
  wallet,
  aggregator,
}: OrderContext): readonly Watched[] {
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
  return [trading, calling]
}

type Pace = { readonly waitMs: number; readonly perBlockMs?: number }

/** Journals certain outcomes. Returns how long no change is expected. */
async function readBlocks(input: FinalityWatchInput, watched: Watched): Promise<Pace> {
  const { context } = input
  const { journal, observe } = context.ports
  const unfinal = unfinalOf(journal.state, watched)
  const numbers = numbersOf(unfinal).slice(0, BLOCKS_TOGETHER)
  const seen = await askFinal(context, 'following blocks to finality', (query) =>
    watched.chain.blocks({ ...query, numbers }),
  )
  if (seen === undefined || context.closing.aborted) return { waitMs: RETRY_MS }
  const { lag: lagBlocks } = seen
  observe({ type: 'finality', chain: watched.name, lagBlocks })
  // An undone transaction may be what the next one depends on.
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

type BlocksRead = {
  readonly unfinal: Unfinal
  readonly seen: {
    readonly final: bigint
    readonly head: SeenBlock
    readonly blocks: ReadonlyMap<bigint, BlockSnapshot>
  }
}

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

/** Outcome of a mined transaction: the block at its number is only a hint, its nonce at a final block decides. */
async function verdictOn(
  { ports: { clock } }: OrderContext,
  { chain }: WalletContext,
  { open, hash, blockNumber, blockHash }: UnfinalTransaction,
  { final, head, blocks }: BlocksRead['seen'],
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

/** No node has reached that block, so its reporter invented it. */
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

/** Time until the first remaining item is final, by the pace of blocks since the oldest. */
function paceOf(seen: {
  readonly oldest: bigint | undefined
  readonly left: bigint | undefined
  readonly lag: number
  readonly head: SeenBlock
  readonly blocks: ReadonlyMap<bigint, BlockSnapshot>
}): Pace {
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
