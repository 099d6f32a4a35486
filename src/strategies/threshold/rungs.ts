import { quotedText } from '../domain/amount-text.ts'
import type { StrategyMemory } from '../domain/book/memory.ts'
import type { Purchase } from '../domain/book/state.ts'
import { assertNever } from '../domain/errors.ts'
import type { Trigger } from '../domain/intent.ts'
import type { Rung, ThresholdStrategy } from '../domain/strategy.ts'
import { compareRatio, type Ratio, ratioOfText, ratioText, scaleBps } from '../domain/units.ts'
import type { MarketView } from './decision.ts'

/** What is remembered of a rung: the price at which it fired, and for a trailing one the furthest price since armed. */
type RungMemory = { readonly fired: Ratio | undefined; readonly extreme: Ratio | undefined }

/** A rung held against the price of a slot. */
export type Watched = {
  readonly rung: Rung
  readonly state: 'waiting' | 'triggered' | 'disarmed' | 'spent'
  /** The price at which it fires, or is armed again; undefined once it is spent. */
  readonly next: Ratio | undefined
  /** What is remembered of it after this slot, by name. */
  readonly memory: StrategyMemory
}

/** Which way a rung looks: `up` fires when the price has risen to its level, `down` when it has fallen to it. */
export type Direction = 'up' | 'down'

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

/** All that is remembered of the rungs; what the file no longer has is forgotten. */
export function memoryOf(watched: readonly Watched[]): StrategyMemory {
  return Object.assign({}, ...watched.map(({ memory }) => memory))
}

/** The same once those that were triggered have fired at `price`. */
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

/**
 * What has to hold of the price for those that were triggered to be still: the level of each, or where a trailing one stood
 * when it fired. What they sell together is sold for all of them or for none.
 */
export function triggerOf(strategy: ThresholdStrategy, triggered: readonly Watched[]): Trigger {
  const { pair, base, quote } = strategy.watch
  const bounds: { atLeast: Ratio | undefined; atMost: Ratio | undefined } = {
    atLeast: undefined,
    atMost: undefined,
  }
  for (const { rung, next } of triggered) {
    if (next === undefined) continue
    const { atLeast, atMost } = bounds
    if (directionOf(strategy, rung) === 'up') {
      if (atLeast === undefined || compareRatio(next, atLeast) > 0) bounds.atLeast = next
    } else if (atMost === undefined || compareRatio(next, atMost) < 0) bounds.atMost = next
  }
  return { pair, base, quote, ...bounds, rungs: triggered.map(({ rung }) => rung.id) }
}

/** The price and what is nearest to it, both in whole tokens. */
export function waitingText(
  { watch, entryOf }: ThresholdStrategy,
  watched: readonly Watched[],
  price: Ratio,
): string {
  const whole = (ratio: Ratio): string => quotedText(ratio, watch)
  const ahead = watched.flatMap(({ rung, state, next }) =>
    next === undefined ? [] : [{ rung, state, next, distance: distanceOf(next, price) }],
  )
  const here = `${watch.pair} is ${whole(price)}`
  const [first, ...others] = ahead
  if (first === undefined) return strategyEntryText(entryOf, here)
  const nearest = others.reduce(
    (best, each) => (compareRatio(each.distance, best.distance) < 0 ? each : best),
    first,
  )
  const does = nearest.state === 'disarmed' ? 'is armed again' : 'fires'
  return `${here}; the nearest rung, ${nearest.rung.id}, ${does} at ${whole(nearest.next)}`
}

/** Why nothing is ahead: the entry that levels are measured from is missing. */
function strategyEntryText(entryOf: string | undefined, here: string): string {
  return entryOf === undefined
    ? here
    : `${here}; ${entryOf} holds nothing that it has bought, so there is no entry to measure from`
}

function distanceOf(a: Ratio, b: Ratio): Ratio {
  const difference = a.num * b.den - b.num * a.den
  return { num: difference < 0n ? -difference : difference, den: a.den * b.den }
}

type Look = {
  readonly rung: Rung
  readonly price: Ratio
  readonly before: RungMemory
  readonly entry: Purchase | undefined
}
type Seen = Pick<Watched, 'state' | 'next'> & { readonly after: RungMemory }

const NOTHING: RungMemory = { fired: undefined, extreme: undefined }

function watchRung(strategy: ThresholdStrategy, look: Look): Seen {
  const { rung, price, before, entry } = look
  const direction = directionOf(strategy, rung)
  if (before.fired !== undefined && strategy.once)
    return { state: 'spent', next: undefined, after: before }
  const trigger = triggerNow(rung, entry)
  // Nothing that was bought is held: the next purchase has an entry of its own, and every rung is armed for it.
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

type TriggerNow =
  | { readonly type: 'above' | 'below'; readonly level: Ratio }
  | { readonly type: 'trailing'; readonly bps: number }

/** A gain or a loss as the level that it is now; undefined while there is no entry to measure it from. */
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

/** A trailing stop that sells what is watched follows its highest price down; one that buys it its lowest up. */
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

/** How far back the price must come: from the rung's level, or from where a trailing one fired. */
function rearmLevel(
  strategy: ThresholdStrategy,
  { rung, trigger, fired }: { rung: Rung; trigger: TriggerNow; fired: Ratio },
): Ratio {
  const from = trigger.type === 'trailing' ? fired : trigger.level
  const { rearmBps } = strategy
  return scaleBps(from, directionOf(strategy, rung) === 'up' ? -rearmBps : rearmBps)
}

/** Names what a memory is of, so that one of another pair or direction is never taken for it. */
function keyOf(strategy: ThresholdStrategy, rung: Rung): string {
  return `${strategy.watch.pair} ${directionOf(strategy, rung)} ${rung.id}`
}

function entriesOf(key: string, { fired, extreme }: RungMemory): StrategyMemory {
  return {
    ...(fired === undefined ? {} : { [`fired ${key}`]: ratioText(fired) }),
    ...(extreme === undefined ? {} : { [`extreme ${key}`]: ratioText(extreme) }),
  }
}
