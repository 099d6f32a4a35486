import { usedInWindow, WINDOWS } from '../../domain/book/limits.ts'
import type { PricePath } from '../../domain/price.ts'
import type { Walked } from '../../domain/schedule/slot-walk.ts'
import { assetsOf, type Strategy } from '../../domain/strategy.ts'
import { type Asset, ETHER, NATIVE_TOKEN, type Token } from '../../domain/token.ts'
import type { Address } from '../../domain/units.ts'
import type { Filled } from '../desk.ts'
import { PPM } from '../model.ts'
import type { Ears } from '../play.ts'
import type { World, WorldInput } from '../world.ts'

/** Rows of one run that are kept, so that no length of time takes more memory. */
const ROWS_MAX = 20_000
const FILLS_MAX = 20_000
/** Points of a curve. */
export const POINTS_MAX = 1_000

/** Slots of a strategy that ended alike, one after the other. */
export type SlotRow = {
  readonly strategy: string
  readonly outcome: string
  readonly reason: string
  readonly detail: string | undefined
  readonly fromSeconds: number
  untilSeconds: number
  count: number
}

/** What a strategy has sold of one token for another. */
export type Trades = {
  readonly sell: Asset
  readonly buy: Asset
  sold: bigint
  bought: bigint
  fills: number
}

/** Of one strategy, base units and counts. */
export type StrategyTally = {
  readonly strategy: Strategy
  /** By outcome and reason. */
  readonly outcomes: Map<string, { outcome: string; reason: string; count: number }>
  readonly trades: Map<string, Trades>
  calls: number
  stopped: string | undefined
  lastRow: SlotRow | undefined
}

/** What was true at one moment, for curves: doubles, in whole tokens. */
export type Samples = {
  readonly atSeconds: number[]
  /** Of all that is held, in whole value tokens; undefined where something has no price. */
  readonly values: (number | undefined)[]
  /** By token, what one is worth. */
  readonly worths: ReadonlyMap<Address, (number | undefined)[]>
  readonly holdings: ReadonlyMap<Address, number[]>
  /** How full caps are; 1 is full. */
  readonly caps: ReadonlyMap<string, number[]>
  /** Slots skipped by reason since the sample before. */
  readonly skips: Map<string, number[]>
}

/** Base units of the value token, but for gas and charges, which are wei. */
export type CostTally = {
  spread: bigint
  fee: bigint
  impact: bigint
  gasWei: bigint
  callsWei: bigint
}

type CapWatch = {
  readonly name: string
  /** When it was looked at last. */
  share: number
  usedShare(world: World): number
}

/** A token, and by which feeds it is valued. */
type Valued = {
  readonly token: Token
  /** Base units of one. */
  readonly unit: number
  readonly priced: Token
  readonly path: PricePath | undefined
  /** Its curves, one point a sample. */
  readonly holdings: number[]
  readonly worths: (number | undefined)[]
}

/** Collects what a run comes to. Its memory does not grow with the number of prices. */
export class Tally implements Ears {
  readonly strategies: ReadonlyMap<string, StrategyTally>
  readonly rows: SlotRow[] = []
  rowsLeftOut = 0
  readonly fills: Filled[] = []
  fillsLeftOut = 0
  readonly samples: Samples
  readonly costs: CostTally = { spread: 0n, fee: 0n, impact: 0n, gasWei: 0n, callsWei: 0n }
  /** Value of all that was sold. */
  turnover = 0n
  /** All that may be held: what is traded, what there was at the beginning, and the chain's own coin. */
  readonly tokens: readonly Token[]
  readonly #world: () => World
  readonly #input: WorldInput
  readonly #valued: readonly Valued[]
  readonly #caps: readonly CapWatch[]
  /** Of the books at the last sample. */
  #version = -1
  /** Value at the beginning, in base units of the value token; undefined where something had no price. */
  begin: bigint | undefined
  readonly #skips = new Map<string, number>()

  constructor(input: WorldInput, tokens: readonly Token[], world: () => World) {
    this.#input = input
    this.#world = world
    this.tokens = tokens
    this.strategies = new Map(input.strategies.map((each) => [each.name, emptyTally(each)]))
    this.#caps = capsOf(input)
    this.#valued = tokens.map((token) => valuedBy(token, input))
    this.samples = {
      atSeconds: [],
      values: [],
      worths: new Map(this.#valued.map(({ token, worths }) => [token.address, worths])),
      holdings: new Map(this.#valued.map(({ token, holdings }) => [token.address, holdings])),
      caps: new Map(this.#caps.map(({ name }) => [name, []])),
      skips: new Map(),
    }
  }

  opened(): void {
    // A slot counts once its last order is done.
  }

  skipped(
    { name }: Strategy,
    walked: Walked,
    { reason, detail }: { readonly reason: string; readonly detail: string },
  ): void {
    const { count, first, last } = walked
    const rest = count - this.#spread(reason, walked)
    this.#skips.set(reason, (this.#skips.get(reason) ?? 0) + rest)
    this.#note(name, { outcome: 'skipped', reason, detail, first, last, count })
  }

  missed(
    { name }: Strategy,
    run: { firstSeconds: number; lastSeconds: number; count: number | undefined },
  ): void {
    const { firstSeconds: first, lastSeconds: last, count = 0 } = run
    this.#note(name, { outcome: 'missed', reason: 'missed', detail: undefined, first, last, count })
  }

  closed(slot: Parameters<Ears['closed']>[0]): void {
    const { strategy, slotSeconds, outcome, reason, detail } = slot
    this.#note(strategy, {
      ...{ outcome, reason, detail },
      ...{ first: slotSeconds, last: slotSeconds, count: 1 },
    })
  }

  paused(event: Parameters<Ears['paused']>[0]): void {
    if (event.type === 'halted')
      for (const tally of this.strategies.values()) tally.stopped ??= `halted: ${event.detail}`
    else {
      const tally = this.strategies.get(event.strategy)
      if (tally !== undefined) tally.stopped ??= `paused: ${event.detail}`
    }
  }

  filled(fill: Filled): void {
    const { intent, paid, received, price, costs } = fill
    const { sell, buy, strategy } = intent
    const key = `${nameOf(sell)} ${nameOf(buy)}`
    const trades = this.strategies.get(strategy)?.trades
    const known = trades?.get(key) ?? { sell, buy, sold: 0n, bought: 0n, fills: 0 }
    known.sold += paid
    known.bought += received
    known.fills += 1
    trades?.set(key, known)
    const world = this.#world()
    // What was paid, and of an exact output what it would have been worth, is what costs are parts of.
    const value = world.worth(sell.token, paid) ?? 0n
    this.turnover += value
    this.costs.spread += (value * costs.spreadPpm) / PPM
    this.costs.fee += (value * costs.feePpm) / PPM
    this.costs.impact += (value * costs.impactPpm) / PPM
    if (this.fills.length < FILLS_MAX) this.fills.push({ ...fill, price })
    else this.fillsLeftOut += 1
  }

  called({ strategy, charged }: { readonly strategy: string; readonly charged: bigint }): void {
    const tally = this.strategies.get(strategy)
    if (tally !== undefined) tally.calls += 1
    this.costs.callsWei += charged
  }

  gas(wei: bigint): void {
    this.costs.gasWei += wei
  }

  sample(world: World): void {
    const { samples } = this
    const atSeconds = world.nowSeconds
    // The end may fall on a sample.
    if (samples.atSeconds.at(-1) === atSeconds) this.#forgetLast()
    samples.atSeconds.push(atSeconds)
    if (samples.atSeconds.length === 1) this.begin = this.valueOf(world)
    let value: number | undefined = 0
    for (const { token, unit, priced, path, holdings, worths } of this.#valued) {
      const held = Number(world.wallet.of(token.address)) / unit
      const worth = this.#worthOf(world, priced, path)
      holdings.push(held)
      worths.push(worth)
      if (held !== 0)
        value = worth === undefined || value === undefined ? undefined : value + held * worth
    }
    samples.values.push(value)
    this.#sampleCaps(world)
    this.#sampleSkips()
  }

  /** What all that is held is worth now, exact: base units of the value token. Undefined where something has no price. */
  valueOf(world: World): bigint | undefined {
    let value = 0n
    for (const { token, priced } of this.#valued) {
      const held = world.wallet.of(token.address)
      const worth = held === 0n ? 0n : world.worth(priced, held)
      if (worth === undefined) return undefined
      value += worth
    }
    return value
  }

  /** Whole value tokens for one whole token. */
  #worthOf({ board }: World, priced: Token, path: PricePath | undefined): number | undefined {
    const { valueToken } = this.#input
    return valueToken === undefined ? undefined : board.worth(path, priced, valueToken)
  }

  /** While the books are the same, caps only empty: it is enough to look now and then at those that are not. */
  #sampleCaps(world: World): void {
    const isSame = world.version === this.#version
    const isLookedAt = !isSame || this.#isPoint()
    this.#version = world.version
    for (const cap of this.#caps) {
      if (isLookedAt && !(isSame && cap.share === 0)) cap.share = cap.usedShare(world)
      this.samples.caps.get(cap.name)?.push(isLookedAt ? cap.share : 0)
    }
  }

  /** Once between any two points that a curve has in the end. */
  #isPoint(): boolean {
    const { atSeconds } = this.samples
    const [first = 0, second = first] = atSeconds
    const { fromSeconds, untilSeconds } = this.#input
    const samples = second > first ? (untilSeconds - fromSeconds) / (second - first) : 0
    return atSeconds.length % Math.max(1, Math.floor(samples / POINTS_MAX)) === 0
  }

  /** Slots that were passed over are told when they are behind: each counts where it lay. Gives how many there were before now. */
  #spread(reason: string, { count, first, last }: Walked): number {
    const { skips, atSeconds } = this.samples
    if (first > (atSeconds.at(-1) ?? Number.NEGATIVE_INFINITY)) return 0
    const counts = skips.get(reason) ?? new Array<number>(atSeconds.length).fill(0)
    skips.set(reason, counts)
    let index = atSeconds.length - 1
    while (index > 0 && (atSeconds[index - 1] ?? 0) >= first) index -= 1
    let before = 0
    for (; index < atSeconds.length; index += 1) {
      const upTo = countUpTo(atSeconds[index] ?? 0, { count, first, last })
      counts[index] = (counts[index] ?? 0) + upTo - before
      before = upTo
    }
    return before
  }

  #sampleSkips(): void {
    const { skips, atSeconds } = this.samples
    for (const reason of this.#skips.keys())
      if (!skips.has(reason)) skips.set(reason, new Array(atSeconds.length - 1).fill(0))
    for (const [reason, counts] of skips) counts.push(this.#skips.get(reason) ?? 0)
    this.#skips.clear()
  }

  #forgetLast(): void {
    const { samples } = this
    const lists = [samples.worths, samples.holdings, samples.caps].flatMap((map): unknown[][] => [
      ...map.values(),
    ])
    for (const list of [samples.atSeconds, samples.values, ...lists]) list.pop()
    for (const [reason, counts] of samples.skips)
      this.#skips.set(reason, (this.#skips.get(reason) ?? 0) + (counts.pop() ?? 0))
  }

  #note(strategy: string, ended: Pick<SlotRow, 'outcome' | 'reason' | 'detail'> & Walked): void {
    const tally = this.strategies.get(strategy)
    if (tally === undefined) return
    const { outcome, reason, detail, count, first, last } = ended
    const key = `${outcome} ${reason}`
    const known = tally.outcomes.get(key)
    if (known === undefined) tally.outcomes.set(key, { outcome, reason, count })
    else known.count += count
    const row = tally.lastRow
    if (row?.outcome === outcome && row.reason === reason && outcome !== 'filled') {
      row.untilSeconds = last
      row.count += count
      return
    }
    const fresh: SlotRow = {
      ...{ strategy, outcome, reason, detail, count },
      ...{ fromSeconds: first, untilSeconds: last },
    }
    tally.lastRow = fresh
    if (this.rows.length < ROWS_MAX) this.rows.push(fresh)
    else this.rowsLeftOut += 1
  }
}

function emptyTally(strategy: Strategy): StrategyTally {
  return {
    strategy,
    outcomes: new Map(),
    trades: new Map(),
    calls: 0,
    stopped: undefined,
    lastRow: undefined,
  }
}

export function nameOf({ token, native }: Asset): string {
  return native ? ETHER.symbol : token.symbol
}

/** The chain's own coin is worth what it is wrapped into. */
function pricedAs(token: Token, { strategies, feeds }: WorldInput): Token {
  if (token.address !== NATIVE_TOKEN) return token
  const wrapped = strategies.flatMap(assetsOf).find(({ native }) => native)?.token
  if (wrapped !== undefined) return wrapped
  for (const { base, quote } of feeds.values())
    for (const each of [base, quote]) if (each.symbol === 'WETH') return each
  return token
}

function valuedBy(token: Token, input: WorldInput): Valued {
  const { valueToken, pricePath } = input
  const priced = pricedAs(token, input)
  const path = valueToken === undefined ? undefined : pricePath(valueToken, priced)
  return { token, unit: 10 ** token.decimals, priced, path, holdings: [], worths: [] }
}

/** How many of some slots lay up to a second, as if there was as much time between any two of them. */
function countUpTo(seconds: number, { count, first, last }: Walked): number {
  if (seconds >= last) return count
  return seconds < first ? 0 : 1 + Math.floor(((count - 1) * (seconds - first)) / (last - first))
}

/** Caps by window, of strategies and of the account, for as many as a chart can show. */
const CAPS_MAX = 8

function capsOf({ strategies, account }: WorldInput): readonly CapWatch[] {
  const traded = new Map(
    strategies
      .flatMap(assetsOf)
      .map(({ token, native }) =>
        native ? [NATIVE_TOKEN, ETHER.symbol] : [token.address, token.symbol],
      ),
  )
  const owners = [
    ...strategies.map(({ name, limits }) => ({ name, strategy: name, caps: limits })),
    { name: 'account', strategy: undefined, caps: account },
  ]
  const watches = owners.flatMap(({ name, strategy, caps }) =>
    WINDOWS.flatMap((window) =>
      [...caps[window.cap]].flatMap(([token, cap]): CapWatch[] => {
        const symbol = traded.get(token)
        if (symbol === undefined) return []
        return [
          {
            name: `${name} ${window.cap} ${symbol}`,
            share: 0,
            usedShare({ state, nowMs }) {
              const used = usedInWindow(state, { token, strategy }, nowMs - window.ms)
              return cap === 0n ? 1 : Number(used) / Number(cap)
            },
          },
        ]
      }),
    ),
  )
  return watches.slice(0, CAPS_MAX)
}
