import type { Token } from '../domain/money/token.ts'
import { mulDivDown } from '../domain/money/units.ts'
import type { Intent } from '../domain/order/intent.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import type { Schedule, SlotSeconds } from '../domain/schedule/schedule.ts'
import { walkSlots } from '../domain/schedule/slot-walk.ts'
import { postingOf, type ReadRecord } from '../journal/events/registry.ts'
import { slotClosed, slotEndOf, slotOpened } from '../journal/events/strategy/slots.ts'
import { strategyScheduled } from '../journal/events/strategy/strategies.ts'
import type { Trade } from '../journal/ledger/entry.ts'
import { Ledger } from '../journal/ledger/ledger.ts'
import { removeExposure } from '../journal/projections/exposures.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import { emptyState, imageOf, restoreState } from '../journal/state/state-image.ts'
import type { Strategy } from '../strategies/registry.ts'
import { scheduleOf } from '../strategies/spending/slots-ahead.ts'
import { type BacktestListener, Play } from './play.ts'
import type { SimulationInput } from './simulation.ts'

export type StrategyDrift = NonNullable<ReturnType<typeof compared>>

/** Fills of slots that were filled live and in the backtest. Base units. */
type PairDrift = {
  readonly sell: Token
  readonly buy: Token
  fills: number
  paid: bigint
  received: bigint
  /** What the backtest received for the amount paid live. */
  expected: bigint
}

type End = { readonly outcome: string; readonly reason: string }

type Difference = {
  readonly live: End
  readonly expected: End
  slots: number
  lastSeconds: SlotSeconds
}

/** Consecutive slots with one end. */
type Run = End & {
  readonly firstSeconds: SlotSeconds
  readonly lastSeconds: SlotSeconds
  readonly count: number
}

type FillAmounts = Pick<Trade, 'sell' | 'buy' | 'paid' | 'received'>

type Fills = Map<SlotSeconds, FillAmounts[]>

/** What happened in the period, from the journal's records of it. */
export class LiveDays {
  readonly ends = new Map<string, Run[]>()
  /** First second of strategies that were added during the period. */
  readonly begins = new Map<string, SlotSeconds>()
  /** First free amount of each asset, by symbol, base units. */
  readonly balances = new Map<string, bigint>()
  readonly #ledger = new Ledger()
  readonly #isByTerms: (intent: Intent) => boolean
  readonly #otherTerms = new Map<string, number>()

  /** `isByTerms`: whether today's file decides the intent. */
  constructor(isByTerms: (intent: Intent) => boolean) {
    this.#isByTerms = isByTerms
  }

  add(read: ReadRecord): void {
    const { event } = read
    if (read.context !== undefined) this.#ledger.post(postingOf(read))
    if (strategyScheduled.is(event) && !this.begins.has(event.strategy))
      this.begins.set(event.strategy, event.fromSeconds + 1)
    if (slotOpened.is(event) || slotClosed.is(event))
      for (const [symbol, amount] of Object.entries(event.inputs?.available ?? {}))
        if (!this.balances.has(symbol)) this.balances.set(symbol, amount)
    if (slotOpened.is(event) && !event.intents.every(this.#isByTerms))
      this.#otherTerms.set(event.strategy, this.otherTerms(event.strategy) + 1)
    const end = slotEndOf(event)
    if (end === undefined) return
    const { strategy, slotSeconds: firstSeconds, lastSeconds, count = 1, outcome, reason } = end
    listOf(this.ends, strategy).push({ outcome, reason, firstSeconds, lastSeconds, count })
  }

  otherTerms(strategy: string): number {
    return this.#otherTerms.get(strategy) ?? 0
  }

  fills(): ReadonlyMap<string, Fills> {
    const fills = new Map<string, Fills>()
    for (const entry of this.#ledger.entries)
      if (entry.type === 'trade') addFill(fills, entry.strategy, slotOf(entry.intentId), entry)
    return fills
  }
}

/** The state of a live daemon as a backtest's beginning: no order is open, and no person has stopped anything. */
export function beginningOf(live: DaemonState): DaemonState {
  const state = emptyState()
  restoreState(state, imageOf(live))
  state.halted = undefined
  state.failureStreak = 0
  state.intents.clear()
  for (const [key, { live: isLive }] of [...state.exposures]) if (isLive) removeExposure(state, key)
  for (const record of state.strategies.values()) {
    record.openSlots = []
    record.paused = undefined
    record.held = undefined
    record.failureStreak = 0
  }
  return state
}

/** Plays the period of `live` again and compares each strategy. */
export async function driftOf(
  input: SimulationInput,
  live: LiveDays,
  progress: (share: number) => boolean,
): Promise<readonly StrategyDrift[]> {
  const expected = createExpected()
  const { fromSeconds, untilSeconds } = input
  const sampleSeconds = untilSeconds - fromSeconds
  const played = { listener: expected.listener, sampleSeconds, fastForwards: true, progress }
  const play = new Play({ ...input, begins: live.begins, ...played })
  try {
    await play.run()
  } finally {
    play.sim.board.close()
  }
  const fills = live.fills()
  return input.strategies.flatMap((strategy) => {
    const drift = compared(strategy, { live, fills, expected, state: play.sim.state })
    return drift === undefined ? [] : [drift]
  })
}

function createExpected() {
  const ends = new Map<string, Run[]>()
  const fills = new Map<string, Fills>()
  const listener: BacktestListener = {
    skipped({ name }, { first, last, count }, { reason }) {
      const at = { firstSeconds: first, lastSeconds: last, count }
      listOf(ends, name).push({ outcome: 'skipped', reason, ...at })
    },
    missed({ name }, { firstSeconds, lastSeconds, count = 1 }) {
      const at = { firstSeconds, lastSeconds, count }
      listOf(ends, name).push({ outcome: 'missed', reason: 'missed', ...at })
    },
    closed({ strategy, slotSeconds, outcome, reason }) {
      const at = { firstSeconds: slotSeconds, lastSeconds: slotSeconds, count: 1 }
      listOf(ends, strategy).push({ outcome, reason, ...at })
    },
    filled({ intent, paid, received }) {
      const { strategy, slotSeconds, sell, buy } = intent
      const fill = { sell: sell.token, buy: buy.token, paid, received }
      addFill(fills, strategy, slotSeconds, fill)
    },
    called() {},
    gas() {},
    paused() {},
    sample() {},
  }
  return { ends, fills, listener }
}

/** How a strategy's live slots differ from the same slots in a backtest. `state`: the backtest's at its end. */
function compared(
  strategy: Strategy,
  of: {
    readonly live: LiveDays
    readonly fills: ReadonlyMap<string, Fills>
    readonly expected: ReturnType<typeof createExpected>
    readonly state: DaemonState
  },
) {
  const { live, fills, expected, state } = of
  const { name } = strategy
  const ends = live.ends.get(name)
  if (ends === undefined) return undefined
  const schedule = scheduleOf(state, strategy)
  const runs = listOf(expected.ends, name).toSorted((a, b) => a.firstSeconds - b.firstSeconds)
  const pairs = new Map<string, PairDrift>()
  const differences = new Map<string, Difference>()
  let [slots, same, byHand] = [0, 0, 0]
  for (const end of ends) {
    const { firstSeconds, lastSeconds } = end
    if (end.count === 1 && nextSlot(schedule, firstSeconds - 1) !== firstSeconds) {
      byHand += 1
      continue
    }
    for (const { run, count } of within(runs, end, schedule)) {
      slots += count
      if (run.outcome === end.outcome) same += count
      else addDifference(differences, { live: end, expected: run, slots: count, lastSeconds })
    }
    const own = fills.get(name)?.get(firstSeconds) ?? []
    addPairs(pairs, own, expected.fills.get(name)?.get(firstSeconds) ?? [])
  }
  return {
    strategy: name,
    /** Live slots of the calendar, and those with the expected outcome. */
    slots,
    same,
    /** Slots opened by hand, which no backtest has. */
    byHand,
    /** Slots decided under an earlier version of the strategy's file. */
    otherTerms: live.otherTerms(name),
    pairs: [...pairs.values()],
    /** Most frequent first. */
    differences: [...differences.values()].toSorted((a, b) => b.slots - a.slots),
  }
}

/** The parts of ascending runs within a run of live slots. */
function within(
  runs: readonly Run[],
  { firstSeconds, lastSeconds }: Run,
  schedule: Schedule,
): readonly { readonly run: Run; readonly count: number }[] {
  const parts: { run: Run; count: number }[] = []
  let [low, high] = [0, runs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((runs[middle]?.lastSeconds ?? 0) < firstSeconds) low = middle + 1
    else high = middle
  }
  for (const run of runs.slice(low)) {
    if (run.firstSeconds > lastSeconds) break
    const from = Math.max(run.firstSeconds, firstSeconds)
    const until = Math.min(run.lastSeconds, lastSeconds)
    const walked =
      from < until ? walkSlots(schedule, from - 1, until).passUntil(until + 1) : undefined
    parts.push({ run, count: walked?.count ?? 1 })
  }
  return parts
}

function addDifference(differences: Map<string, Difference>, found: Difference): void {
  const { live, expected, slots, lastSeconds } = found
  const key = `${live.outcome} ${live.reason} ${expected.outcome} ${expected.reason}`
  const known = differences.get(key)
  if (known === undefined) {
    differences.set(key, { live: endOf(live), expected: endOf(expected), slots, lastSeconds })
    return
  }
  known.slots += slots
  known.lastSeconds = Math.max(known.lastSeconds, lastSeconds)
}

function endOf({ outcome, reason }: End): End {
  return { outcome, reason }
}

function addPairs(
  pairs: Map<string, PairDrift>,
  own: readonly FillAmounts[],
  played: readonly FillAmounts[],
): void {
  for (const { sell, buy, paid, received } of own) {
    const twin = played.find((each) => {
      return each.sell.address === sell.address && each.buy.address === buy.address
    })
    if (twin === undefined || twin.paid === 0n) continue
    const key = `${sell.address} ${buy.address}`
    const sum = pairs.get(key) ?? { sell, buy, fills: 0, paid: 0n, received: 0n, expected: 0n }
    pairs.set(key, sum)
    sum.fills += 1
    sum.paid += paid
    sum.received += received
    sum.expected += mulDivDown(paid, twin.received, twin.paid)
  }
}

/** Basis points that live fills received more than expected, rounded; undefined if nothing was expected. */
export function driftBps({ received, expected }: Pick<PairDrift, 'received' | 'expected'>) {
  if (expected === 0n) return undefined
  return Math.round(Number(((received - expected) * 1_000_000n) / expected) / 100)
}

function addFill(
  fills: Map<string, Fills>,
  strategy: string,
  slotSeconds: SlotSeconds,
  fill: FillAmounts,
): void {
  const own = fills.get(strategy) ?? new Map()
  fills.set(strategy, own)
  listOf(own, slotSeconds).push(fill)
}

/** `<strategy>:<slot>:<leg>`, and a strategy's name has no colon. */
function slotOf(intentId: Trade['intentId']): SlotSeconds {
  return Number(intentId.split(':')[1])
}

function listOf<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}
