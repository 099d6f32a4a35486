import { assertNever } from '../../domain/errors.ts'
import { quotedText } from '../../domain/money/amount-text.ts'
import type { Pair, Token } from '../../domain/money/token.ts'
import {
  type BaseUnits,
  compareRatio,
  type Ratio,
  ratioOfText,
  ratioText,
  scaleBps,
} from '../../domain/money/units.ts'
import type { Trigger } from '../../domain/order/intent.ts'
import type { TradeBase } from '../../domain/strategy.ts'
import type { StrategyMemory } from '../../domain/strategy-memory.ts'
import type { Purchase } from '../../journal/state/daemon-state.ts'
import type { MarketView } from '../decision/decision.ts'

export type ThresholdStrategy = TradeBase & {
  readonly kind: 'threshold'
  /** The watched price: base-unit ratio of `quote` per `base`. */
  readonly watch: { readonly pair: Pair; readonly base: Token; readonly quote: Token }
  readonly rungs: readonly Rung[]
  /** Distance by which the price must come back before a rung fires again, basis points of its level. */
  readonly rearmBps: number
  readonly once: boolean
  /** It may trade at its first slot, and at levels far from the price, without an approval. */
  readonly fireAtOnce: boolean
  /** The strategy whose purchases it sells. Gains and losses are relative to their average cost. */
  readonly entryOf?: string | undefined
}

/** `id` is stable while its line of the file is unchanged. */
export type Rung = {
  readonly id: string
  readonly trigger:
    | { readonly type: 'above' | 'below'; readonly level: Ratio }
    | { readonly type: 'trailing'; readonly bps: number }
    /** Relative to the average entry of the strategy `entryOf`. */
    | { readonly type: 'gain' | 'loss'; readonly bps: number }
  readonly size: RungSize
}

/** Exact input, or a share of the free balance. */
export type RungSize =
  | { readonly type: 'amount'; readonly amount: BaseUnits }
  | { readonly type: 'share'; readonly bps: number }

/** The price at which a rung fired, and for a trailing rung the furthest price since it was armed. */
type RungMemory = { readonly fired: Ratio | undefined; readonly extreme: Ratio | undefined }

/** A rung at the price of a slot. */
export type Watched = {
  readonly rung: Rung
  readonly state: 'waiting' | 'triggered' | 'disarmed' | 'spent'
  /** The price at which it fires or is armed again; undefined once spent. */
  readonly next: Ratio | undefined
  /** Its memory after this slot. */
  readonly memory: StrategyMemory
}

/** `up` fires when the price rises to the level, `down` when it falls to it. */
type Direction = 'up' | 'down'

/** Every rung against a price, as base units of the watched quote per base unit of the watched base. */
export function watchRungs(
  strategy: ThresholdStrategy,
  price: Ratio,
  { memory, entry }: Pick<MarketView, 'memory' | 'entry'>,
): readonly Watched[] {
  return strategy.rungs.map((rung) => {
    const key = keyOf(strategy, rung)
    const before = {
      fired: ratioOfText(memory[`fired ${key}`]),
      extreme: ratioOfText(memory[`extreme ${key}`]),
    }
    const watched = watchRung(strategy, { rung, price, before, entry })
    return { ...watched, rung, memory: entriesOf(key, watched.after) }
  })
}

/** Whether every rung has fired for good. */
export function isSpent(strategy: ThresholdStrategy, memory: StrategyMemory): boolean {
  const hasFired = (rung: Rung): boolean => memory[`fired ${keyOf(strategy, rung)}`] !== undefined
  return strategy.once && strategy.rungs.every(hasFired)
}

/** Memory of the current rungs; rungs removed from the file are forgotten. */
export function memoryOf(watched: readonly Watched[]): StrategyMemory {
  return Object.assign({}, ...watched.map(({ memory }) => memory))
}

/** The memory after the triggered rungs have fired at `price`. */
export function memoryFired(
  strategy: ThresholdStrategy,
  watched: readonly Watched[],
  price: Ratio,
): StrategyMemory {
  const fired = watched.map((each) => {
    if (each.state !== 'triggered') return each.memory
    return entriesOf(keyOf(strategy, each.rung), { fired: price, extreme: undefined })
  })
  return Object.assign({}, ...fired)
}

/** Bounds within which all triggered rungs stay triggered, because they sell together or not at all. */
export function triggerOf(strategy: ThresholdStrategy, triggered: readonly Watched[]): Trigger {
  const levels = (direction: Direction): Ratio[] =>
    triggered
      .filter(({ rung }) => directionOf(strategy, rung) === direction)
      .flatMap(({ next }) => next ?? [])
  return {
    ...strategy.watch,
    atLeast: levels('up').sort((a, b) => compareRatio(b, a))[0],
    atMost: levels('down').sort(compareRatio)[0],
    rungs: triggered.map(({ rung }) => rung.id),
  }
}

/** The price and the nearest rung, in whole tokens. */
export function waitingText(
  { watch, entryOf }: ThresholdStrategy,
  watched: readonly Watched[],
  price: Ratio,
): string {
  const whole = (ratio: Ratio): string => quotedText(ratio, watch)
  const here = `${watch.pair} is ${whole(price)}`
  const [nearest] = watched
    .flatMap(({ rung, state, next }) =>
      next === undefined ? [] : [{ rung, state, next, distance: distanceOf(next, price) }],
    )
    .sort((a, b) => compareRatio(a.distance, b.distance))
  if (nearest !== undefined) {
    const does = nearest.state === 'disarmed' ? 'is armed again' : 'fires'
    return `${here}; the nearest rung, ${nearest.rung.id}, ${does} at ${whole(nearest.next)}`
  }
  // Without an entry there is no level to wait for.
  return entryOf === undefined
    ? here
    : `${here}; ${entryOf} has no unsold purchase, so there is no entry to measure from`
}

function distanceOf(a: Ratio, b: Ratio): Ratio {
  const difference = a.num * b.den - b.num * a.den
  return { num: difference < 0n ? -difference : difference, den: a.den * b.den }
}

type Seen = Pick<Watched, 'state' | 'next'> & { readonly after: RungMemory }

const NOTHING: RungMemory = { fired: undefined, extreme: undefined }

function watchRung(
  strategy: ThresholdStrategy,
  slot: { rung: Rung; price: Ratio; before: RungMemory; entry: Purchase | undefined },
): Seen {
  const { rung, price, before, entry } = slot
  const direction = directionOf(strategy, rung)
  if (before.fired !== undefined && strategy.once)
    return { state: 'spent', next: undefined, after: before }
  const trigger = triggerNow(rung, entry)
  // Without a purchase, every rung is armed for the next one.
  if (trigger === undefined) return { state: 'waiting', next: undefined, after: NOTHING }
  if (before.fired !== undefined) {
    const next = rearmLevel(strategy, { rung, trigger, fired: before.fired })
    if (!reached(price, next, opposite(direction)))
      return { state: 'disarmed', next, after: before }
  }
  if (trigger.type !== 'trailing') {
    const { level } = trigger
    const state = reached(price, level, direction) ? 'triggered' : 'waiting'
    return { state, next: level, after: NOTHING }
  }
  const from = before.extreme ?? price
  const extreme = reached(price, from, opposite(direction)) ? price : from
  const next = scaleBps(extreme, direction === 'down' ? -trigger.bps : trigger.bps)
  const state = reached(price, next, direction) ? 'triggered' : 'waiting'
  return { state, next, after: { fired: undefined, extreme } }
}

type TriggerNow = Exclude<Rung['trigger'], { readonly type: 'gain' | 'loss' }>

/** Converts a gain or loss to its current level; undefined without an entry. */
function triggerNow({ trigger }: Rung, entry: Purchase | undefined): TriggerNow | undefined {
  switch (trigger.type) {
    case 'above':
    case 'below':
    case 'trailing':
      return trigger
    case 'gain':
    case 'loss': {
      if (entry === undefined || entry.amount === 0n || entry.cost === 0n) return undefined
      const average: Ratio = { num: entry.cost, den: entry.amount }
      return trigger.type === 'gain'
        ? { type: 'above', level: scaleBps(average, trigger.bps) }
        : { type: 'below', level: scaleBps(average, -trigger.bps) }
    }
    default:
      return assertNever(trigger)
  }
}

/** A trailing stop that sells the watched token fires on a fall; one that buys it fires on a rise. */
export function directionOf({ sell, watch }: ThresholdStrategy, { trigger }: Rung): Direction {
  if (trigger.type === 'above' || trigger.type === 'gain') return 'up'
  if (trigger.type === 'below' || trigger.type === 'loss') return 'down'
  return sell.token.address === watch.base.address ? 'down' : 'up'
}

function opposite(direction: Direction): Direction {
  return direction === 'up' ? 'down' : 'up'
}

function reached(price: Ratio, level: Ratio, direction: Direction): boolean {
  const side = compareRatio(price, level)
  return direction === 'up' ? side >= 0 : side <= 0
}

/** Measured from the level, or for a trailing rung from the price at which it fired. */
function rearmLevel(
  strategy: ThresholdStrategy,
  { rung, trigger, fired }: { rung: Rung; trigger: TriggerNow; fired: Ratio },
): Ratio {
  const from = trigger.type === 'trailing' ? fired : trigger.level
  const { rearmBps } = strategy
  return scaleBps(from, directionOf(strategy, rung) === 'up' ? -rearmBps : rearmBps)
}

/** Identifies a memory by pair, direction and rung. */
function keyOf(strategy: ThresholdStrategy, rung: Rung): string {
  return `${strategy.watch.pair} ${directionOf(strategy, rung)} ${rung.id}`
}

function entriesOf(key: string, { fired, extreme }: RungMemory): StrategyMemory {
  return {
    ...(fired === undefined ? {} : { [`fired ${key}`]: ratioText(fired) }),
    ...(extreme === undefined ? {} : { [`extreme ${key}`]: ratioText(extreme) }),
  }
}
