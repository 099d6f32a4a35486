import { callRecordOf } from '../domain/book/calls.ts'
import type { UnfinalFill } from '../domain/book/state.ts'
import type { IntentId } from '../domain/intent.ts'
import type { FinalityRule } from '../domain/settings.ts'
import type { OrderContext } from '../execute/context.ts'
import { askFinal } from '../execute/finality.ts'
import type { BlockSight, FinalChain, Sight } from '../ports.ts'

/** Blocks that one look asks for: they share a batch. */
const BLOCKS_TOGETHER = 32
/** Before the first look at a new fill, and between two looks at the least. */
const LOOK_EVERY_MS_MIN = 2_000
const LOOK_EVERY_MS_MAX = 60_000
/** After a look that told nothing. */
const RETRY_MS = 15_000

/** Follows proven fills until no reorganisation can take them back (rule T6). */
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

/** The fills of one chain. */
type Watched = {
  readonly name: string
  readonly chain: Pick<FinalChain, 'blocks'>
  readonly rule: FinalityRule
  readonly isOf: (fill: UnfinalFill) => boolean
}

/**
 * One light read a chain and look, for all of its fills that are not final: which block stands at their numbers. A fill is
 * final when its own block stands there deep enough, and open again when another one does.
 */
export function createFinalityWatch(input: FinalityWatchInput): FinalityWatch {
  const { ports } = input.context
  const chains = watchedChains(input.context)
  const dueMs = new Map<string, number>()
  /** How long a block takes, as far as it was seen. */
  const paceMs = new Map<string, number>()
  const looking = new Set<string>()

  const pending = ({ isOf }: Watched): UnfinalFill[] =>
    [...ports.journal.state.unfinal.values()].filter(isOf)

  /** From the moment that there is something to look at. */
  function dueMsOf(watched: Watched): number {
    const { unfinal } = ports.journal.state
    if (!hasSome(unfinal, watched)) {
      dueMs.delete(watched.name)
      return Number.POSITIVE_INFINITY
    }
    const due = dueMs.get(watched.name) ?? ports.clock.now() + firstWaitMs(watched)
    dueMs.set(watched.name, due)
    return due
  }

  function firstWaitMs({ name, rule: { finality } }: Watched): number {
    const perBlockMs = paceMs.get(name)
    if (perBlockMs === undefined || typeof finality !== 'number') return LOOK_EVERY_MS_MIN
    return withinBounds((finality + 1) * perBlockMs)
  }

  async function look(watched: Watched): Promise<void> {
    looking.add(watched.name)
    try {
      const { waitMs, perBlockMs } = await lookAt(input, watched, pending(watched))
      dueMs.set(watched.name, ports.clock.now() + waitMs)
      if (perBlockMs !== undefined) paceMs.set(watched.name, perBlockMs)
    } finally {
      looking.delete(watched.name)
    }
  }

  return {
    attend() {
      if (ports.journal.state.unfinal.size === 0) return
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

function hasSome(unfinal: ReadonlyMap<string, UnfinalFill>, { isOf }: Watched): boolean {
  for (const fill of unfinal.values()) if (isOf(fill)) return true
  return false
}

function watchedChains({
  ports,
  chainId,
  finality,
  gasless,
  aggregator,
}: OrderContext): readonly Watched[] {
  const trading: Watched = {
    name: gasless.chain,
    chain: ports.chain,
    rule: finality,
    isOf: ({ open }) => open.venue === 'gasless' && open.permit?.chainId === chainId,
  }
  if (aggregator === undefined) return [trading]
  const calling: Watched = {
    name: aggregator.settings.chain,
    chain: aggregator.chain,
    rule: aggregator.finality,
    isOf: ({ open }) => callRecordOf(open)?.chainId === aggregator.wallet.chainId,
  }
  return [trading, calling]
}

/** What a look tells of the next one. */
type Pace = { readonly waitMs: number; readonly perBlockMs?: number }

/** Journals what is certain. Gives how long nothing new is to be expected. */
async function lookAt(
  { context, onReopened }: FinalityWatchInput,
  { name, chain }: Watched,
  fills: readonly UnfinalFill[],
): Promise<Pace> {
  const { journal, observe } = context.ports
  const numbers = [...new Set(fills.map(({ blockNumber }) => blockNumber))]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .slice(0, BLOCKS_TOGETHER)
  const seen = await askFinal(context, 'following fills to finality', (query) =>
    chain.blocks({ ...query, numbers }),
  )
  if (seen === undefined || context.closing.aborted) return { waitMs: RETRY_MS }
  const { final, lag: lagBlocks, blocks } = seen
  observe({ type: 'finality', chain: name, lagBlocks })
  const settled: string[] = []
  for (const { open, blockNumber, blockHash } of fills) {
    const block = blocks.get(blockNumber)
    const { intent, attempt } = open
    if (block?.hash === blockHash) {
      if (blockNumber <= final) settled.push(`${intent.id}:${attempt}`)
      continue
    }
    // What is still at its own after-work is opened again once it is closed.
    if (block === undefined || journal.state.intents.has(intent.id)) continue
    await journal.append({
      type: 'fill-reopened',
      intentId: intent.id,
      attempt,
      blockNumber,
      blockHash: block.hash,
    })
    onReopened(intent.id)
  }
  if (settled.length > 0)
    await journal.append({ type: 'fills-final', orders: settled, blockNumber: final })
  return paceOf({ oldest: numbers[0], left: firstLeft(journal.state.unfinal, numbers), ...seen })
}

/** The lowest of the numbers that a fill still waits at. */
function firstLeft(
  unfinal: ReadonlyMap<string, UnfinalFill>,
  numbers: readonly bigint[],
): bigint | undefined {
  const left = new Set([...unfinal.values()].map(({ blockNumber }) => blockNumber))
  return numbers.find((number) => left.has(number))
}

/** How long it takes until the first fill that is left is final, by the pace of the blocks since the oldest. */
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
