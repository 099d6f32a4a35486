import type { MarketView, Skip } from '../decide/decision.ts'
import { peakIn } from '../decide/drawdown.ts'
import { directionOf, type Watched, watchRungs } from '../decide/rungs.ts'
import { acceptPath, type PriceFeed } from '../domain/price.ts'
import type { SkipReason } from '../domain/reason.ts'
import { latestSlotAtOrBefore } from '../domain/schedule/calendar.ts'
import type { Schedule } from '../domain/schedule/schedule.ts'
import {
  assetsOf,
  pairsOf,
  readsMarket,
  type Strategy,
  type SwapStrategy,
  type ThresholdStrategy,
} from '../domain/strategy.ts'
import { BPS, type Ratio } from '../domain/units.ts'
import { viewOf } from '../engine/view.ts'
import type { Quiet, Reel } from './prices/reel.ts'
import type { World } from './world.ts'

/**
 * While nothing can come of a strategy's slots but what came of the last one: nobody needs to look at them one by one. It ends with
 * the first change of the books or the wallet, too.
 */
export type Lull = {
  readonly untilMs: number
  /** What its feed's answers have to stay between; undefined where no price matters. */
  readonly quiet: { readonly reel: Reel; readonly band: Quiet } | undefined
}

const FOR_GOOD = Number.POSITIVE_INFINITY

/** Nothing but the books changes what comes of these. */
const BY_THE_BOOKS: ReadonlySet<SkipReason> = new Set([
  'halted',
  'paused',
  'too-many-open',
  'account-too-many-open',
])
/** These end with a price alone, for as long as the strategy's own price is neither too old nor beyond a level. */
const BY_THE_PRICE: ReadonlySet<SkipReason> = new Set([
  'not-triggered',
  'finished',
  'insufficient-balance',
])

/** How long the answer of a slot holds; undefined where the next one has to be decided anew. */
export function lullOf(
  world: World,
  { strategy, schedule }: { readonly strategy: Strategy; readonly schedule: Schedule },
  skip: Skip,
): Lull | undefined {
  const { reason, hit } = skip
  if (strategy.schedule.jitterMs > 0) return undefined
  if (BY_THE_BOOKS.has(reason)) return { untilMs: FOR_GOOD, quiet: undefined }
  const freesAtMs = hit?.freesAtMs ?? skip.freesAtMs
  const untilMs = freesAtMs === undefined ? FOR_GOOD : waitsFromMs(world, schedule, freesAtMs)
  if (skip.freesAtMs !== undefined) return { untilMs, quiet: undefined }
  if (!readsMarket(strategy)) return undefined
  if (reason === 'price-stale' || reason === 'price-missing') {
    // No price grows younger: it takes another round.
    const nextMs = world.board.nextAtSeconds(feedsOf(world, strategy)) * 1000
    return { untilMs: nextMs, quiet: undefined }
  }
  if (strategy.kind !== 'threshold') return undefined
  if (hit === undefined && !BY_THE_PRICE.has(reason)) return undefined
  const quiet = quietOf(world, strategy)
  return quiet && { untilMs, quiet }
}

/** When the last slot is due before a cap or a cooldown frees: it may wait for that. */
function waitsFromMs({ nowSeconds }: World, schedule: Schedule, freesAtMs: number): number {
  const last = latestSlotAtOrBefore(schedule, freesAtMs / 1000, nowSeconds + 1)
  return last === undefined ? freesAtMs : last * 1000
}

function feedsOf({ input }: World, strategy: SwapStrategy): readonly PriceFeed[] {
  return pairsOf(strategy).flatMap(({ sell, buy }) =>
    (input.pricePath(sell, buy) ?? []).map(({ feed }) => feed),
  )
}

/** Watched prices as doubles, and what they have to stay strictly between. */
type Band = { low: number; high: number }

/** The answers between which every rung and the drawdown stay as they are; undefined where they hang on more than one feed. */
function quietOf(world: World, strategy: ThresholdStrategy): Lull['quiet'] | undefined {
  const { watch } = strategy
  const path = world.input.pricePath(watch.quote, watch.base)
  const [leg, ...others] = path ?? []
  if (leg === undefined || others.length > 0) return undefined
  if (feedsOf(world, strategy).some(({ pair }) => pair !== leg.feed.pair)) return undefined
  const reel = world.board.reelOf(leg.feed.pair)
  const reading = world.board.readings.get(leg.feed.pair)
  const price = acceptPath(path, world.board.readings, world.nowSeconds)
  if (reel === undefined || reading === undefined || !price.ok) return undefined
  const { ratio } = price.price
  const band = bandOf(world, strategy, ratio)
  if (band === undefined) return undefined
  const answer = toDouble({ num: reading.answer, den: 1n })
  const now = toDouble(ratio)
  // An answer is in proportion to the price, or to its inverse.
  const answerOf = (level: number): number =>
    leg.inverted ? (answer * now) / level : (answer * level) / now
  const [low, high] = leg.inverted ? [band.high, band.low] : [band.low, band.high]
  return {
    reel,
    band: {
      low: answerOf(low) * (1 + ROUNDING),
      high: answerOf(high) * (1 - ROUNDING),
      maxAgeSeconds: leg.feed.maxAgeSeconds,
    },
  }
}

/** Nearer to a level than this share of it, doubles do not decide. */
const ROUNDING = 1e-9

function bandOf(world: World, strategy: ThresholdStrategy, ratio: Ratio): Band | undefined {
  const slotSeconds = world.nowSeconds
  const { state, input } = world
  const context = { mode: 'live', state, ...input } as const
  const view = viewOf(context, world.view(), { strategy, slotSeconds })
  const watched = watchRungs(strategy, ratio, view)
  const isTriggered = watched.some((each) => each.state === 'triggered')
  // What it would trade at has bounds of its own, and what is skipped for them is skipped for another reason.
  const { min, max } = strategy.price
  if (isTriggered && (min !== undefined || max !== undefined)) return undefined
  const band: Band = { low: 0, high: Number.POSITIVE_INFINITY }
  for (const each of watched) narrowByRung(band, strategy, each)
  return narrowByDrawdown(band, strategy, view) ? band : undefined
}

function narrow(band: Band, side: 'low' | 'high', level: number): void {
  if (side === 'low') band.low = Math.max(band.low, level)
  else band.high = Math.min(band.high, level)
}

/** What keeps a rung as it is: neither fired, nor armed again, nor a new furthest price. */
function narrowByRung(
  band: Band,
  strategy: ThresholdStrategy,
  { rung, state, next }: Watched,
): void {
  if (next === undefined) return
  const level = toDouble(next)
  const isUp = directionOf(strategy, rung) === 'up'
  const { trigger } = rung
  if (state === 'waiting') {
    narrow(band, isUp ? 'high' : 'low', level)
    if (trigger.type !== 'trailing') return
    const part = trigger.bps / 10_000
    narrow(band, isUp ? 'low' : 'high', level / (isUp ? 1 + part : 1 - part))
    return
  }
  // One that was triggered stays beyond its level, one that is disarmed short of where it is armed again: the same side.
  narrow(band, isUp ? 'low' : 'high', level)
}

/** Between a new highest value and the fall that trips the limit. False where that cannot be told by one price. */
function narrowByDrawdown(band: Band, strategy: ThresholdStrategy, view: MarketView): boolean {
  const { drawdownBps } = strategy.limits
  if (drawdownBps === undefined) return true
  const peak = peakIn(view.memory)
  if (peak === undefined) return false
  const { base, quote } = strategy.watch
  let bases = 0
  let quotes = 0
  for (const asset of assetsOf(strategy)) {
    const key = asset.native ? undefined : asset.token.address
    // Coins are valued too, and held under another name.
    if (key === undefined) return false
    const held = toDouble({ num: view.held.get(key) ?? 0n, den: 1n })
    if (key === base.address) bases += held
    else if (key === quote.address) quotes += held
    else return false
  }
  if (bases <= 0) return true
  const trip = toDouble({ num: peak * (BPS - BigInt(drawdownBps)), den: BPS })
  narrow(band, 'low', (trip + ROUNDED_UNITS - quotes) / bases)
  narrow(band, 'high', (toDouble({ num: peak, den: 1n }) - ROUNDED_UNITS - quotes) / bases)
  return true
}

/** Base units by which a value that is rounded down token by token may be less than the exact one. */
const ROUNDED_UNITS = 3

function toDouble({ num, den }: Ratio): number {
  return Number(num) / Number(den)
}
