import { InvariantError } from '../domain/errors.ts'
import { acceptPath, marketRatio, type PriceFeed, type PricePath } from '../domain/money/price.ts'
import type { Pair } from '../domain/money/token.ts'
import type { Ratio } from '../domain/money/units.ts'
import type { SkipReason } from '../domain/order/reason.ts'
import { latestSlotAtOrBefore } from '../domain/schedule/calendar.ts'
import type { Schedule, SlotSeconds } from '../domain/schedule/schedule.ts'
import type { SlotWalk, Walked } from '../domain/schedule/slot-walk.ts'
import type { StrategyMemory } from '../domain/strategy-memory.ts'
import { blockingSkip } from '../engine/limits/blocked.ts'
import { freeOf, heldOf } from '../engine/market-snapshot.ts'
import { assetKey, type MarketView, type Skip } from '../strategies/decision/decision.ts'
import { drawdownBand } from '../strategies/decision/drawdown.ts'
import type { PriceBand, PricedSlot, QuietPrices, Remember } from '../strategies/kind.ts'
import { assetsOf, kindOf, pairsOf, readsMarket, type Strategy } from '../strategies/registry.ts'
import type { AnswerBand, PriceCursor } from './prices/price-cursor.ts'
import type { Simulation } from './simulation.ts'

/** Time during which a strategy's slots can only end like the last one, with `skip`. */
export type FastForward = {
  readonly skip: Skip
  readonly untilMs: number
  /** The band of each feed's answers; empty if prices do not matter. */
  readonly bands: readonly FeedBand[]
  /** Whether it still holds after a change of the state or the wallet. Undefined if every change ends it. */
  readonly holds: (() => boolean) | undefined
  /** Undefined if its slots leave the memory alone. */
  readonly remembers: PassedPrices | undefined
  /** The last slot passed, which the state does not know yet. */
  lastSeconds?: SlotSeconds
}

export type FeedBand = { readonly cursor: PriceCursor; readonly band: AnswerBand }

const FOR_GOOD = Number.POSITIVE_INFINITY

/** Reasons that only a change of state ends. */
const BY_THE_BOOKS: ReadonlySet<SkipReason> = new Set([
  'halted',
  'paused',
  'too-many-open',
  'account-too-many-open',
])

/** The feeds that fast-forwards depend on, each with the intersection of their bands. */
export class WatchedFeeds {
  readonly #untilSeconds: number
  readonly #watched = new Map<PriceCursor, { band: AnswerBand; endsMs: number | undefined }>()

  constructor(untilSeconds: number) {
    this.#untilSeconds = untilSeconds
  }

  watch(fastForwards: Iterable<FastForward | undefined>): void {
    this.#watched.clear()
    for (const fastForward of fastForwards) {
      for (const { cursor, band } of fastForward?.bands ?? []) {
        const other = this.#watched.get(cursor)?.band ?? band
        const low = Math.max(band.low, other.low)
        const high = Math.min(band.high, other.high)
        const maxAgeSeconds = Math.min(band.maxAgeSeconds, other.maxAgeSeconds)
        this.#watched.set(cursor, { band: { low, high, maxAgeSeconds }, endsMs: undefined })
      }
    }
  }

  /** The first feeds that leave their bands by a time, or come to another piece of their series, and when. */
  firstEnd(byMs: number): { readonly atMs: number; readonly brokenBy: readonly PriceCursor[] } {
    let [atMs, brokenBy]: [number, PriceCursor[]] = [byMs, []]
    for (const [cursor, watched] of this.#watched) {
      const { band } = watched
      watched.endsMs ??= 1000 * (cursor.quietUntil(band, this.#untilSeconds) ?? FOR_GOOD)
      if (watched.endsMs > atMs) continue
      if (watched.endsMs < atMs) brokenBy = []
      atMs = watched.endsMs
      brokenBy.push(cursor)
    }
    return { atMs, brokenBy }
  }
}

export type PlayedStrategy = {
  readonly strategy: Strategy
  readonly schedule: Schedule
  /** The feeds of all its pairs. */
  readonly feeds: readonly PriceFeed[]
}

/** Computes how long a slot's result holds; undefined if the next slot must be decided. */
export function fastForwardOf(
  sim: Simulation,
  played: PlayedStrategy,
  { skip, market }: { readonly skip: Skip; readonly market: MarketView | undefined },
): FastForward | undefined {
  const { strategy, schedule, feeds } = played
  const { reason, hit } = skip
  if (strategy.schedule.jitterMs > 0) return undefined
  if (BY_THE_BOOKS.has(reason)) return onlyUntil(skip, FOR_GOOD)
  const freesAtMs = hit?.freesAtMs ?? skip.freesAtMs
  const untilMs = freesAtMs === undefined ? FOR_GOOD : waitsFromMs(sim, schedule, freesAtMs)
  if (skip.freesAtMs !== undefined) return onlyUntil(skip, untilMs)
  if (!readsMarket(strategy) || market === undefined) return undefined
  // Only another round changes this, or a second feed that is too old as well.
  if (reason === 'price-stale' || reason === 'price-missing')
    return onlyUntil(skip, sim.board.nextAtSeconds(feeds, sim.nowSeconds) * 1000)
  const memory = sim.state.strategies.get(strategy.name)?.memory ?? market.memory
  const view = { ...market, memory }
  const quiet = kindOf(strategy).quiet(strategy, view, reason)
  const bands = quiet && answerBands(sim, feeds, untripped(strategy, quiet, view))
  if (quiet === undefined || bands === undefined) return undefined
  const holds = holdsOf(sim, strategy, { view, needsBalances: quiet.needsBalances })
  const { remember } = quiet
  const remembers = remember && new PassedPrices(sim, played, { memory, remember })
  return { skip, untilMs, bands, holds: hit === undefined ? holds : undefined, remembers }
}

function onlyUntil(skip: Skip, untilMs: number): FastForward {
  return { skip, untilMs, bands: [], holds: undefined, remembers: undefined }
}

/** Slots whose prices are held at most, before they become memory. */
const PASSED_MAX = 256

/** What passed slots remember. They pass before time advances beyond them, while their prices can be read. */
export class PassedPrices {
  readonly #remember: Remember
  readonly #priceAt: (seconds: number) => Ratio
  #memory: StrategyMemory
  #slots: PricedSlot[] = []

  constructor(
    { board, input }: Simulation,
    { strategy, feeds }: PlayedStrategy,
    { memory, remember }: { readonly memory: StrategyMemory; readonly remember: Remember },
  ) {
    this.#remember = remember
    this.#memory = memory
    const [path] = pairsOf(strategy).map(({ sell, buy }) => input.pricePath(sell, buy))
    this.#priceAt = (seconds) => {
      // A step begins with each piece of a series, so none has to be read on.
      const readings = board.readingsAt(seconds, feeds)
      const price = readings && marketRatio(path, readings)
      if (price === undefined) throw new InvariantError(`${strategy.name} passed an unpriced slot`)
      return price
    }
  }

  passUntil(walk: SlotWalk, seconds: number): Walked | undefined {
    const first = walk.next
    let [count, last] = [0, first]
    for (; walk.next < seconds; walk.pass()) {
      last = walk.next
      count += 1
      this.#slots.push({ nowSeconds: last, price: this.#priceAt(last) })
      if (this.#slots.length >= PASSED_MAX) this.memory()
    }
    return count === 0 ? undefined : { count, first, last }
  }

  memory(): StrategyMemory {
    this.#memory = this.#remember(this.#memory, this.#slots)
    this.#slots = []
    return this.#memory
  }
}

/** The last slot before a cap or cooldown frees may wait for it. */
function waitsFromMs({ nowSeconds }: Simulation, schedule: Schedule, freesAtMs: number): number {
  const last = latestSlotAtOrBefore(schedule, freesAtMs / 1000, nowSeconds + 1)
  return last === undefined ? freesAtMs : last * 1000
}

/** Compares what a decision depends on besides prices. The strategy's own orders always end it, which keeps events in order. */
function holdsOf(
  sim: Simulation,
  strategy: Strategy,
  { view, needsBalances }: { readonly view: MarketView } & Pick<QuietPrices, 'needsBalances'>,
): FastForward['holds'] {
  const { state } = sim
  const record = state.strategies.get(strategy.name)
  const isAlone = record?.openSlots.length === 0 && view.entry === undefined
  if (!isAlone || strategy.limits.drawdownBps !== undefined) return undefined
  const assets = needsBalances ? assetsOf(strategy) : []
  return () => {
    const input = sim.considerInput(strategy, sim.nowSeconds)
    if (blockingSkip(input) !== undefined) return false
    return assets.every((asset) => {
      const held = heldOf(input, sim.view(), asset)
      return (
        held !== undefined && freeOf(input, held, asset) === view.available.get(assetKey(asset))
      )
    })
  }
}

/** Prices at which no drawdown trips either; undefined if a band of one price does not say that. */
function untripped(
  strategy: Strategy,
  { bands }: QuietPrices,
  view: MarketView,
): QuietPrices['bands'] | undefined {
  if (strategy.limits.drawdownBps === undefined) return bands
  const [only, ...others] = bands
  const band = only && drawdownBand(strategy, only, view)
  if (only === undefined || band === undefined || others.length > 0) return undefined
  return [only, { ...only, ...band }]
}

/** The answers of each feed within which prices stay within bands. Undefined if a feed has no fresh answer now. */
function answerBands(
  { board, nowSeconds, input }: Simulation,
  feeds: readonly PriceFeed[],
  quiet: QuietPrices['bands'] | undefined,
): readonly FeedBand[] | undefined {
  const bands = new Map<Pair, FeedBand>()
  for (const feed of feeds) {
    const { maxAgeSeconds, pair } = feed
    const cursor = board.cursorOf(pair)
    const isFresh = acceptPath([{ feed, inverted: false }], board.readings, nowSeconds).ok
    if (cursor === undefined || !isFresh) return undefined
    bands.set(pair, { cursor, band: { low: 0, high: FOR_GOOD, maxAgeSeconds } })
  }
  for (const { sell, buy, ...levels } of quiet ?? []) {
    const path = input.pricePath(sell, buy) ?? []
    const price = acceptPath(path, board.readings, nowSeconds)
    // Without a feed, the file's own bound is the price.
    if (price.ok) narrow(bands, path, legFactors(price.price.ratio, levels, path.length))
  }
  return quiet && [...bands.values()]
}

/** How far each leg's price may change, as factors: legs multiply, so each may take an equal part of the whole change. */
function legFactors(now: Ratio, { low, high }: PriceBand, legs: number): readonly [number, number] {
  const part = (level: Ratio): number => (toDouble(level) / toDouble(now)) ** (1 / legs)
  return [part(low), high === undefined ? FOR_GOOD : part(high)]
}

function narrow(
  bands: Map<Pair, FeedBand>,
  path: PricePath,
  [least, most]: readonly [number, number],
): void {
  for (const { feed, inverted } of path) {
    const own = bands.get(feed.pair)
    if (own === undefined) continue
    const { cursor, band } = own
    const { answer = 0 } = cursor
    const [down, up] = inverted ? [1 / most, 1 / least] : [least, most]
    const low = Math.max(band.low, answer * down * (1 + ROUNDING))
    const high = Math.min(band.high, answer * up * (1 - ROUNDING))
    bands.set(feed.pair, { cursor, band: { ...band, low, high } })
  }
}

/** Relative margin around a level, because doubles are not exact there. */
const ROUNDING = 1e-9

function toDouble({ num, den }: Ratio): number {
  return Number(num) / Number(den)
}
