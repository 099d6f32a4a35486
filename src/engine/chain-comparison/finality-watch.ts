import { callRecordOf } from '../domain/book/calls.ts'
import type { DaemonState, UnfinalFill, UnfinalTransaction } from '../domain/book/state.ts'
import type { IntentId } from '../domain/intent.ts'
import { latestBlockSeconds } from '../domain/policy.ts'
import type { FinalityRule } from '../domain/settings.ts'
import type { OrderContext, WalletContext } from '../execute/context.ts'
import { askFinal } from '../execute/finality.ts'
import { followRecorded } from '../execute/transaction.ts'
import type { BlockSight, FinalChain, Sight } from '../ports.ts'

/** Blocks that one look asks for: they share a batch. */
const BLOCKS_TOGETHER = 32
/** Before the first look at a new fill, and between two looks at the least. */
const LOOK_EVERY_MS_MIN = 2_000
const LOOK_EVERY_MS_MAX = 60_000
/** The same while a transaction of our own is not final: behind one that is gone no other can be sent. */
const LOOK_EVERY_MS_MAX_FOR_NONCES = 12_000
/** How far another node may be ahead of the one that says what is final. */
const BLOCKS_AHEAD_MAX = 64n
/** After a look that told nothing. */
const RETRY_MS = 15_000

/** Follows proven fills, and mined transactions of our own, until no reorganisation can take them back (rule T6). */
export type FinalityWatch = {
  /** Looks at what is due, beside the trading. */
  attend(): void
  /** When something is due, epoch ms; infinite while everything is final. */
  nextDueMs(): number
}

export type FinalityWatchInput = {
  readonly context: OrderContext
  /** Given an order that is open again. */
  readonly onReopened: (id: IntentId) => void
  readonly onFailure: (error: unknown) => void
}

/** The fills of one chain, and the transactions of the wallet there. */
type Watched = {
  readonly name: string
  readonly chain: Pick<FinalChain, 'blocks'>
  readonly rule: FinalityRule
  readonly wallet: WalletContext
  readonly isOf: (fill: UnfinalFill) => boolean
}

/** What of a chain is not final yet. */
type Unfinal = {
  readonly fills: readonly UnfinalFill[]
  readonly transactions: readonly (readonly [id: string, UnfinalTransaction])[]
}

/**
 * One light read a chain and look, for all that is not final on it: which block stands at their numbers. A fill or transaction is
 * final when its own block stands there deep enough, and open again when another one does.
 */
export function createFinalityWatch(input: FinalityWatchInput): FinalityWatch {
  const { ports } = input.context
  const chains = watchedChains(input.context)
  const dueMs = new Map<string, number>()
  /** How long a block takes, as far as it was seen. */
  const paceMs = new Map<string, number>()
  const looking = new Set<string>()
  const lookedMs = new Map<string, number>()

  /** From the moment that there is something to look at. */
  function dueMsOf(watched: Watched): number {
    if (isAllFinal(ports.journal.state, watched)) {
      dueMs.delete(watched.name)
      return Number.POSITIVE_INFINITY
    }
    const nowMs = ports.clock.now()
    const kept = dueMs.get(watched.name)
    // One that lies further ahead was set by a clock that was wrong.
    const isKept = kept !== undefined && kept - nowMs <= LOOK_EVERY_MS_MAX
    const due = isKept ? kept : nowMs + firstWaitMs(watched)
    dueMs.set(watched.name, due)
    return hasUnfinalNonce(ports.journal.state, watched)
      ? Math.min(due, (lookedMs.get(watched.name) ?? 0) + LOOK_EVERY_MS_MAX_FOR_NONCES)
      : due
  }

  function firstWaitMs({ name, rule: { finality } }: Watched): number {
    const perBlockMs = paceMs.get(name)
    if (perBlockMs === undefined || typeof finality !== 'number') return LOOK_EVERY_MS_MIN
    return withinBounds((finality + 1) * perBlockMs)
  }

  async function look(watched: Watched): Promise<void> {
    looking.add(watched.name)
    try {
      const { waitMs, perBlockMs } = await lookAt(input, watched)
      const nowMs = ports.clock.now()
      lookedMs.set(watched.name, nowMs)
      dueMs.set(watched.name, nowMs + waitMs)
      if (perBlockMs !== undefined) paceMs.set(watched.name, perBlockMs)
    } finally {
      looking.delete(watched.name)
    }
  }

  return {
    attend() {
      const { unfinal, unfinalTransactions } = ports.journal.state
      if (unfinal.size === 0 && unfinalTransactions.size === 0) return
      for (const watched of chains) {
        const isDue = dueMsOf(watched) <= ports.clock.now()
        if (isDue && !looking.has(watched.name)) look(watched).catch(input.onFailure)
      }
    },
    nextDueMs: () =>
      Math.min(
        ...chains.filter(({ name }) => !looking.has(name)).map(dueMsOf),
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
    isOf: ({ open }) => open.venue === 'gasless' && open.permit?.chainId === chainId,
  }
  if (aggregator === undefined) return [trading]
  const calling: Watched = {
    name: aggregator.settings.chain,
    chain: aggregator.chain,
    rule: aggregator.finality,
    wallet: aggregator.wallet,
    isOf: ({ open }) => callRecordOf(open)?.chainId === aggregator.wallet.chainId,
  }
  return [trading, calling]
}

/** What a look tells of the next one. */
type Pace = { readonly waitMs: number; readonly perBlockMs?: number }

/** Journals what is certain. Gives how long nothing new is to be expected. */
async function lookAt(input: FinalityWatchInput, watched: Watched): Promise<Pace> {
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
  // What was undone first may be what the other rests on.
  await settleTransactions(input, watched, { unfinal, seen })
  if (context.closing.aborted) return { waitMs: RETRY_MS }
  await settleFills(input, { unfinal, seen })
  const left = new Set(numbersOf(unfinalOf(journal.state, watched)))
  const oldest = numbers[0]
  return paceOf({ oldest, left: numbers.find((number) => left.has(number)), ...seen })
}

/** Of blocks, each once, lowest first. */
function numbersOf({ fills, transactions }: Unfinal): bigint[] {
  const all = [...fills, ...transactions.map(([, each]) => each)]
  const numbers = new Set(all.map(({ blockNumber }) => blockNumber))
  return [...numbers].toSorted((a, b) => (a < b ? -1 : 1))
}

type Looked = {
  readonly unfinal: Unfinal
  readonly seen: {
    readonly final: bigint
    readonly head: Sight
    readonly blocks: ReadonlyMap<bigint, BlockSight>
  }
}

async function settleTransactions(
  { context, onFailure }: FinalityWatchInput,
  { wallet }: Watched,
  { unfinal, seen }: Looked,
): Promise<void> {
  const { journal } = context.ports
  const settled: string[] = []
  let isReopened = false
  for (const [id, mined] of unfinal.transactions) {
    const verdict = await verdictOn(context, wallet, mined, seen)
    // The next start looks again: the journal may be closed by now.
    if (context.closing.aborted) return
    if (verdict === 'final') settled.push(id)
    if (verdict !== 'gone' || !journal.state.unfinalTransactions.has(id)) continue
    const { blockNumber } = mined
    const blockHash = seen.blocks.get(blockNumber)?.hash
    await journal.append({ type: 'transaction-reopened', id, blockNumber, blockHash })
    isReopened = true
  }
  if (settled.length > 0)
    await journal.append({ type: 'transactions-final', ids: settled, blockNumber: seen.final })
  if (isReopened) followRecorded(context, wallet).catch(onFailure)
}

/**
 * What has become of a mined transaction. One node said in which block it is: that another block stands there tells that it is gone,
 * and at a final block its nonce tells for good, by as many nodes as have to agree.
 */
async function verdictOn(
  { ports: { clock } }: OrderContext,
  { chain }: WalletContext,
  { open, hash, blockNumber, blockHash }: UnfinalTransaction,
  { final, head, blocks }: Looked['seen'],
): Promise<'final' | 'gone' | 'open'> {
  const block = blocks.get(blockNumber)
  if (block !== undefined && block.hash !== blockHash) return 'gone'
  if (blockNumber > final && !isNowhere(blockNumber, head)) return 'open'
  const { from, nonce } = open.record
  const { hashes } = open
  const latestSeconds = latestBlockSeconds(clock.now())
  const fate = await chain.nonceFate({ from, nonce, hashes, latestSeconds })
  if (!fate.ok) return 'open'
  if (fate.value === undefined && block !== undefined) {
    // Its block stands: who says that the nonce is unused may be behind the one that called the block final.
    const count = await chain.finalCount({ account: from, latestSeconds })
    const isBehind = !count.ok || count.value.blockNumber < blockNumber
    return isBehind || count.value.transactionCount > nonce ? 'open' : 'gone'
  }
  const isSame = typeof fate.value === 'object' && fate.value.hash === hash && fate.value.success
  return isSame ? 'final' : 'gone'
}

/** No node has come so far: whoever named the block made it up. */
function isNowhere(blockNumber: bigint, head: Sight): boolean {
  return blockNumber > head.blockNumber + BLOCKS_AHEAD_MAX
}

async function settleFills(
  { context, onReopened }: FinalityWatchInput,
  { unfinal, seen: { final, head, blocks } }: Looked,
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
    // What is still at its own after-work is opened again once it is closed.
    const isGone = block !== undefined || isNowhere(blockNumber, head)
    if (!isGone || journal.state.intents.has(intent.id)) continue
    const undone = { intentId: intent.id, attempt, blockNumber, blockHash: block?.hash }
    await journal.append({ type: 'fill-reopened', ...undone })
    onReopened(intent.id)
  }
  if (settled.length > 0)
    await journal.append({ type: 'fills-final', orders: settled, blockNumber: final })
}

/** How long it takes until the first that is left is final, by the pace of the blocks since the oldest. */
function paceOf(seen: {
  readonly oldest: bigint | undefined
  readonly left: bigint | undefined
  readonly lag: number
  readonly head: Sight
  readonly blocks: ReadonlyMap<bigint, BlockSight>
}): Pace {
  const { oldest, left, lag, head, blocks } = seen
  const block = oldest === undefined ? undefined : blocks.get(oldest)
  if (block === undefined || block.depth <= 0) return { waitMs: LOOK_EVERY_MS_MIN }
  const perBlockMs = ((head.blockTimeSeconds - block.timeSeconds) * 1000) / block.depth
  const depth = left === undefined ? undefined : blocks.get(left)?.depth
  return { waitMs: withinBounds((lag - (depth ?? lag)) * perBlockMs), perBlockMs }
}

function withinBounds(ms: number): number {
  return Math.min(Math.max(ms, LOOK_EVERY_MS_MIN), LOOK_EVERY_MS_MAX)
}
