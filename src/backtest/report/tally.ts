import { WINDOWS } from '../../domain/cap-windows.ts'
import { type Asset, NATIVE_TOKEN, shownToken, type Token } from '../../domain/money/token.ts'
import type { Address } from '../../domain/money/units.ts'
import type { Walked } from '../../domain/schedule/slot-walk.ts'
import { tradingHalted } from '../../journal/events/strategy/stops.ts'
import { usedInWindow } from '../../journal/projections/limits.ts'
import { assetsOf, type Strategy } from '../../strategies/registry.ts'
import { PPM } from '../model.ts'
import type { BacktestListener } from '../play.ts'
import type { Filled } from '../simulated-broker.ts'
import type { Simulation, SimulationInput } from '../simulation.ts'

/** Rows kept of one run, whatever its length. */
const ROWS_MAX = 20_000
const FILLS_MAX = 20_000
/** Points of a curve. */
export const POINTS_MAX = 1_000

/** Consecutive slots of a strategy with the same outcome. */
type SlotRow = {
  readonly strategy: string
  readonly outcome: string
  readonly reason: string
  readonly detail: string | undefined
  readonly fromSeconds: number
  untilSeconds: number
  count: number
}

export type Trades = {
  readonly sell: Asset
  readonly buy: Asset
  sold: bigint
  bought: bigint
  fills: number
}

export type StrategyTally = {
  readonly strategy: Strategy
  /** Keyed by outcome and reason. */
  readonly outcomes: Map<string, { outcome: string; reason: string; count: number }>
  readonly trades: Map<string, Trades>
  calls: number
  stopped: string | undefined
  lastRow: SlotRow | undefined
}

/** Values at each sample, for curves: doubles, in whole tokens. */
export type Samples = {
  readonly atSeconds: number[]
  /** Value of all holdings, whole value tokens; undefined if one has no price. */
  readonly values: (number | undefined)[]
  /** Value of one token. */
  readonly worths: ReadonlyMap<Address, (number | undefined)[]>
  readonly holdings: ReadonlyMap<Address, number[]>
  /** Used share of each cap. */
  readonly caps: ReadonlyMap<string, number[]>
  /** Slots skipped since the last sample, by reason. */
  readonly skips: Map<string, number[]>
}

type CapWatch = {
  readonly name: string
  /** Used share at the last reading. */
  share: number
  /** One point per sample. */
  readonly shares: number[]
  usedShare(sim: Simulation): number
}

/** Collects the results of a run in memory that does not grow with the number of prices. */
export class Tally implements BacktestListener {
  readonly strategies: ReadonlyMap<string, StrategyTally>
  readonly rows: SlotRow[] = []
  rowsLeftOut = 0
  readonly fills: Filled[] = []
  fillsLeftOut = 0
  readonly samples: Samples
  /** Base units of the value token, except for gas and charges, which are wei. */
  readonly costs = { spread: 0n, fee: 0n, impact: 0n, gasWei: 0n, callsWei: 0n }
  /** Value of all sales. */
  turnover = 0n
  /** All tokens that may be held. */
  readonly tokens: readonly Token[]
  readonly #input: SimulationInput
  readonly #valued: readonly ReturnType<typeof valuedBy>[]
  readonly #caps: readonly CapWatch[]
  /** Version of the simulation at the last sample. */
  #version = -1
  /** First value, base units of the value token; undefined if a holding had no price. */
  begin: bigint | undefined
  readonly #skips = new Map<string, number>()

  constructor(input: SimulationInput, tokens: readonly Token[]) {
    this.#input = input
    this.tokens = tokens
    this.strategies = new Map(
      input.strategies.map((strategy) => {
        const none = { calls: 0, stopped: undefined, lastRow: undefined }
        return [strategy.name, { strategy, outcomes: new Map(), trades: new Map(), ...none }]
      }),
    )
    this.#caps = capWatches(input)
    this.#valued = tokens.map((token) => valuedBy(token, input))
    this.samples = {
      atSeconds: [],
      values: [],
      worths: new Map(this.#valued.map(({ token, worths }) => [token.address, worths])),
      holdings: new Map(this.#valued.map(({ token, holdings }) => [token.address, holdings])),
      caps: new Map(this.#caps.map(({ name, shares }) => [name, shares])),
      skips: new Map(),
    }
  }

  skipped(
    { name }: Strategy,
    { count, first, last, bySample }: Parameters<BacktestListener['skipped']>[1],
    { reason, detail }: Parameters<BacktestListener['skipped']>[2],
  ): void {
    const rest = count - this.#spread(reason, bySample)
    this.#skips.set(reason, (this.#skips.get(reason) ?? 0) + rest)
    this.#note(name, { outcome: 'skipped', reason, detail, count, first, last })
  }

  missed({ name }: Strategy, run: Parameters<BacktestListener['missed']>[1]): void {
    const { firstSeconds: first, lastSeconds: last, count = 0 } = run
    this.#note(name, { outcome: 'missed', reason: 'missed', detail: undefined, first, last, count })
  }

  closed(slot: Parameters<BacktestListener['closed']>[0]): void {
    const { strategy, slotSeconds: first, outcome, reason, detail } = slot
    this.#note(strategy, { outcome, reason, detail, first, last: first, count: 1 })
  }

  paused(event: Parameters<BacktestListener['paused']>[0]): void {
    if (tradingHalted.is(event))
      for (const tally of this.strategies.values()) tally.stopped ??= `halted: ${event.detail}`
    else {
      const tally = this.strategies.get(event.strategy)
      if (tally !== undefined) tally.stopped ??= `paused: ${event.detail}`
    }
  }

  filled(fill: Filled, sim: Simulation): void {
    const { intent, paid, received, costs } = fill
    const { sell, buy, strategy } = intent
    const key = `${shownToken(sell).symbol} ${shownToken(buy).symbol}`
    const trades = this.strategies.get(strategy)?.trades
    const known = trades?.get(key) ?? { sell, buy, sold: 0n, bought: 0n, fills: 0 }
    known.sold += paid
    known.bought += received
    known.fills += 1
    trades?.set(key, known)
    // Costs are shares of the paid amount.
    const value = sim.worth(sell.token, paid) ?? 0n
    this.turnover += value
    this.costs.spread += (value * costs.spreadPpm) / PPM
    this.costs.fee += (value * costs.feePpm) / PPM
    this.costs.impact += (value * costs.impactPpm) / PPM
    if (this.fills.length < FILLS_MAX) this.fills.push(fill)
    else this.fillsLeftOut += 1
  }

  called({ strategy, charged }: Parameters<BacktestListener['called']>[0]): void {
    const tally = this.strategies.get(strategy)
    if (tally !== undefined) tally.calls += 1
    this.costs.callsWei += charged
  }

  gas(wei: bigint): void {
    this.costs.gasWei += wei
  }

  sample(sim: Simulation): void {
    const { samples } = this
    const { valueToken } = this.#input
    const atSeconds = sim.nowSeconds
    // The end may coincide with a sample, which is then replaced.
    if (samples.atSeconds.at(-1) === atSeconds) this.#forgetLast()
    samples.atSeconds.push(atSeconds)
    if (samples.atSeconds.length === 1) this.begin = this.valueOf(sim)
    let value: number | undefined = 0
    for (const each of this.#valued) {
      const { token, priced, path } = each
      if (valueToken !== undefined) each.worth ??= sim.board.worthReader(path, priced, valueToken)
      if (sim.version !== this.#version)
        each.held = Number(sim.wallet.of(token.address)) / 10 ** token.decimals
      const { held } = each
      const worth = each.worth?.()
      each.holdings.push(held)
      each.worths.push(worth)
      if (held !== 0)
        value = worth === undefined || value === undefined ? undefined : value + held * worth
    }
    samples.values.push(value)
    this.#sampleCaps(sim)
    this.#sampleSkips()
  }

  /** Exact value of all holdings, base units of the value token; undefined if one has no price. */
  valueOf(sim: Simulation): bigint | undefined {
    let value = 0n
    for (const { token, priced } of this.#valued) {
      const held = sim.wallet.of(token.address)
      const worth = held === 0n ? 0n : sim.worth(priced, held)
      if (worth === undefined) return undefined
      value += worth
    }
    return value
  }

  /** Without new events the use of a cap only falls, so used caps are read again only at points of the final curve. */
  #sampleCaps(sim: Simulation): void {
    const isSame = sim.version === this.#version
    const isRead = !isSame || this.#isPoint()
    this.#version = sim.version
    for (const cap of this.#caps) {
      if (isRead && !(isSame && cap.share === 0)) cap.share = cap.usedShare(sim)
      cap.shares.push(isRead ? cap.share : 0)
    }
  }

  /** True about once between two points of the final curve. */
  #isPoint(): boolean {
    const { atSeconds } = this.samples
    const [first = 0, second = first] = atSeconds
    const { fromSeconds, untilSeconds } = this.#input
    const samples = second > first ? (untilSeconds - fromSeconds) / (second - first) : 0
    return atSeconds.length % Math.max(1, Math.floor(samples / POINTS_MAX)) === 0
  }

  /** Counts slots at the samples of their times. Returns the number up to the last sample. */
  #spread(reason: string, bySample: readonly number[]): number {
    if (bySample.length === 0) return 0
    const { skips, atSeconds } = this.samples
    const counts = skips.get(reason) ?? new Array<number>(atSeconds.length).fill(0)
    skips.set(reason, counts)
    const start = atSeconds.length - bySample.length
    let before = 0
    for (const [n, upTo] of bySample.entries()) {
      counts[start + n] = (counts[start + n] ?? 0) + upTo - before
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
    const { atSeconds, values, worths, holdings, caps } = samples
    for (const map of [worths, holdings, caps]) for (const list of map.values()) list.pop()
    for (const list of [atSeconds, values]) list.pop()
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
    const range = { fromSeconds: first, untilSeconds: last }
    const fresh: SlotRow = { count, strategy, outcome, reason, detail, ...range }
    tally.lastRow = fresh
    if (this.rows.length < ROWS_MAX) this.rows.push(fresh)
    else this.rowsLeftOut += 1
  }
}

/** The chain's coin is valued as its wrapped token. */
function pricedAs(token: Token, { strategies, feeds }: SimulationInput): Token {
  if (token.address !== NATIVE_TOKEN) return token
  const wrapped = strategies.flatMap(assetsOf).find(({ native }) => native)?.token
  if (wrapped !== undefined) return wrapped
  for (const { base, quote } of feeds.values())
    for (const each of [base, quote]) if (each.symbol === 'WETH') return each
  return token
}

/** A token with one point per sample. */
function valuedBy(token: Token, input: SimulationInput) {
  const now: { held: number; worth?: () => number | undefined } = { held: 0 }
  const { valueToken, pricePath } = input
  const priced = pricedAs(token, input)
  const path = valueToken === undefined ? undefined : pricePath(valueToken, priced)
  const [holdings, worths]: [number[], (number | undefined)[]] = [[], []]
  return { ...now, token, priced, path, holdings, worths }
}

/** Maximum caps per chart. */
const CAPS_MAX = 8

function capWatches({ strategies, account }: SimulationInput): readonly CapWatch[] {
  const tokens = strategies.flatMap(assetsOf).map(shownToken)
  const traded = new Map(tokens.map(({ address, symbol }) => [address, symbol]))
  const owners = [
    ...strategies.map(({ name, limits }) => ({ name, strategy: name, caps: limits })),
    { name: 'account', strategy: undefined, caps: account },
  ]
  const watches = owners.flatMap(({ name, strategy, caps }) =>
    WINDOWS.flatMap((window) =>
      [...caps[window.cap]].flatMap(([token, cap]): CapWatch[] => {
        const symbol = traded.get(token)
        if (symbol === undefined) return []
        const usedShare = ({ state, nowMs }: Simulation): number => {
          const used = usedInWindow(state, { token, strategy }, nowMs - window.ms)
          return cap === 0n ? 1 : Number(used) / Number(cap)
        }
        return [{ name: `${name} ${window.cap} ${symbol}`, share: 0, shares: [], usedShare }]
      }),
    ),
  )
  return watches.slice(0, CAPS_MAX)
}
