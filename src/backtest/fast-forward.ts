import { acceptPath, type PriceFeed } from '../domain/money/price.ts'
import type { Ratio } from '../domain/money/units.ts'
import type { SkipReason } from '../domain/order/reason.ts'
import { latestSlotAtOrBefore } from '../domain/schedule/calendar.ts'
import type { Schedule } from '../domain/schedule/schedule.ts'
import { viewOf } from '../engine/market-snapshot.ts'
import type { Skip } from '../strategies/decision/decision.ts'
import { drawdownBand } from '../strategies/decision/drawdown.ts'
import type { PriceBand, PriceTrigger } from '../strategies/kind.ts'
import { kindOf, readsMarket, type Strategy } from '../strategies/registry.ts'
import type { PriceCursor, Quiet } from './prices/price-cursor.ts'
import type { Simulation } from './simulation.ts'

/** Time during which a strategy's slots can only end like the last one. Any change of state or wallet also ends it. */
export type FastForward = {
  readonly untilMs: number
  /** The band of its feed's answers; undefined if prices do not matter. */
  readonly quiet: { readonly cursor: PriceCursor; readonly band: Quiet } | undefined
}

const FOR_GOOD = Number.POSITIVE_INFINITY

/** Reasons that only a change of state ends. */
const BY_THE_BOOKS: ReadonlySet<SkipReason> = new Set([
  'halted',
  'paused',
  'too-many-open',
  'account-too-many-open',
])
/** Reasons that only a price ends: a crossed level, or an answer that is too old. */
const BY_THE_PRICE: ReadonlySet<SkipReason> = new Set([
  'not-triggered',
  'finished',
  'insufficient-balance',
])

export type PlayedStrategy = {
  readonly strategy: Strategy
  readonly schedule: Schedule
  /** The feeds of all its pairs. */
  readonly feeds: readonly PriceFeed[]
}

/** Computes how long a slot's result holds; undefined if the next slot must be decided. */
export function fastForwardOf(
  sim: Simulation,
  { strategy, schedule, feeds }: PlayedStrategy,
  skip: Skip,
): FastForward | undefined {
  const { reason, hit } = skip
  if (strategy.schedule.jitterMs > 0) return undefined
  if (BY_THE_BOOKS.has(reason)) return { untilMs: FOR_GOOD, quiet: undefined }
  const freesAtMs = hit?.freesAtMs ?? skip.freesAtMs
  const untilMs = freesAtMs === undefined ? FOR_GOOD : waitsFromMs(sim, schedule, freesAtMs)
  if (skip.freesAtMs !== undefined) return { untilMs, quiet: undefined }
  if (!readsMarket(strategy)) return undefined
  if (reason === 'price-stale' || reason === 'price-missing') {
    // Only another round changes this.
    const nextMs = sim.board.nextAtSeconds(feeds) * 1000
    return { untilMs: nextMs, quiet: undefined }
  }
  const { trigger } = kindOf(strategy)
  if (trigger === undefined) return undefined
  if (hit === undefined && !BY_THE_PRICE.has(reason)) return undefined
  const quiet = quietOf(sim, { strategy, feeds }, trigger)
  return quiet && { untilMs, quiet }
}

/** The last slot before a cap or cooldown frees may wait for it. */
function waitsFromMs({ nowSeconds }: Simulation, schedule: Schedule, freesAtMs: number): number {
  const last = latestSlotAtOrBefore(schedule, freesAtMs / 1000, nowSeconds + 1)
  return last === undefined ? freesAtMs : last * 1000
}

/** The answers within which decisions stay the same; undefined if decisions depend on several feeds. */
function quietOf(
  sim: Simulation,
  { strategy, feeds }: Pick<PlayedStrategy, 'strategy' | 'feeds'>,
  trigger: PriceTrigger<Strategy>,
): FastForward['quiet'] | undefined {
  const watch = trigger.watch(strategy)
  const path = sim.input.pricePath(watch.quote, watch.base)
  const [leg, ...others] = path ?? []
  if (leg === undefined || others.length > 0) return undefined
  if (feeds.some(({ pair }) => pair !== leg.feed.pair)) return undefined
  const cursor = sim.board.cursorOf(leg.feed.pair)
  const reading = sim.board.readings.get(leg.feed.pair)
  const price = acceptPath(path, sim.board.readings, sim.nowSeconds)
  if (cursor === undefined || reading === undefined || !price.ok) return undefined
  const { ratio } = price.price
  const { state, input } = sim
  const context = { mode: 'live', ...input, state } as const
  const view = viewOf(context, sim.view(), { strategy, slotSeconds: sim.nowSeconds })
  const quiet = trigger.quietBand(strategy, ratio, view)
  const untripped = drawdownBand(strategy, watch, view)
  if (quiet === undefined || untripped === undefined) return undefined
  const band = {
    low: Math.max(toDouble(quiet.low), toDouble(untripped.low)),
    high: Math.min(highOf(quiet), highOf(untripped)),
  }
  const answer = toDouble({ num: reading.answer, den: 1n })
  const now = toDouble(ratio)
  // An answer is proportional to the price, or to its inverse.
  const answerOf = (level: number): number =>
    leg.inverted ? (answer * now) / level : (answer * level) / now
  const [low, high] = leg.inverted ? [band.high, band.low] : [band.low, band.high]
  return {
    cursor,
    band: {
      low: answerOf(low) * (1 + ROUNDING),
      high: answerOf(high) * (1 - ROUNDING),
      maxAgeSeconds: leg.feed.maxAgeSeconds,
    },
  }
}

/** Relative margin around a level, because doubles are not exact there. */
const ROUNDING = 1e-9

function highOf({ high }: PriceBand): number {
  return high === undefined ? Number.POSITIVE_INFINITY : toDouble(high)
}

function toDouble({ num, den }: Ratio): number {
  return Number(num) / Number(den)
}
