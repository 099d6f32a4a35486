import {
  type Asset,
  ETHER,
  NATIVE_TOKEN,
  shownToken,
  type Token,
} from '../../domain/money/token.ts'
import { formatAmount } from '../../domain/money/units.ts'
import { instantText } from '../../journal/wording/log-values.ts'
import { assetsOf, readsMarket, type Strategy } from '../../strategies/registry.ts'
import type { Simulation, SimulationInput } from '../simulation.ts'
import { type Alternative, alternativesOf } from './against.ts'
import { brief, type Curve, decimal, drawdownOf, fallsOf, percent, thinned } from './curves.ts'
import { priceNotes } from './price-notes.ts'
import type { BacktestResult, ModelResult, WealthResult } from './result.ts'
import { POINTS_MAX, type StrategyTally, type Tally, type Trades } from './tally.ts'

const DAY_SECONDS = 86_400
const YEAR_SECONDS = 365.25 * DAY_SECONDS
/** Shorter periods have no yearly rate. */
const YEARLY_FROM_SECONDS = 30 * DAY_SECONDS

/** The result of one run. `backtest` adds the sensitivity, and a sweep its points. */
export function resultOf(
  tally: Tally,
  sim: Simulation,
  modelSource: ModelResult['source'],
): BacktestResult {
  const { input } = sim
  const { valueToken } = input
  const { samples } = tally
  const wealth = wealthOf(tally, valueToken)
  const { values } = samples
  const alternatives = alternativesOf({
    samples,
    begin: new Map(
      tally.tokens.map(({ address, decimals }) => [
        address,
        Number(input.balances.get(address) ?? 0n) / 10 ** decimals,
      ]),
    ),
    trades: [...tally.strategies.values()].flatMap(({ trades }) => [...trades.values()]),
    model: input.model,
  })
  return {
    fromAt: instantText(input.fromSeconds),
    untilAt: instantText(input.untilSeconds),
    valueToken: valueToken?.symbol ?? null,
    prices: input.priceSeries.map(({ pair, source }) => ({
      pair,
      source,
      rounds: sim.board.cursorOf(pair)?.passed ?? 0,
    })),
    model: modelOf(input, modelSource),
    begin: wealth(tally.begin, ({ address }) => input.balances.get(address) ?? 0n),
    end: wealth(tally.valueOf(sim), ({ address }) => sim.wallet.of(address)),
    figures: figuresOf(tally, input, values),
    against: valueToken === undefined ? [] : againstOf(alternatives, tally, valueToken),
    strategies: [...tally.strategies.values()].map((each) => strategyOf(each, tally, sim)),
    sensitivity: [],
    series: seriesOf(tally, input, { values, alternatives }),
    fills: tally.fills.map(({ intent, atSeconds, paid, received, price }) => ({
      at: instantText(atSeconds),
      strategy: intent.strategy,
      slotSeconds: intent.slotSeconds,
      paid: tokenAmount(paid, shownToken(intent.sell)),
      received: tokenAmount(received, shownToken(intent.buy)),
      price: decimal(ratioOf(paid, received, intent)),
      marketPrice: decimal(ratioOf(price.num, price.den, intent)),
    })),
    fillsLeftOut: tally.fillsLeftOut,
    slots: tally.rows.map(({ fromSeconds, untilSeconds, detail = null, ...row }) => ({
      fromAt: instantText(fromSeconds),
      untilAt: instantText(untilSeconds),
      ...row,
      detail,
    })),
    slotsLeftOut: tally.rowsLeftOut,
    notes: notesOf(tally, sim),
    sweep: null,
  }
}

/** The figures that compare runs. */
export function comparedOf({ figures, strategies }: BacktestResult) {
  return {
    returnPercent: figures?.returnPercent ?? null,
    drawdownPercent: figures?.drawdown.percent ?? null,
    fills: strategies.flatMap(({ trades }) => trades).reduce((sum, { fills }) => sum + fills, 0),
  }
}

function tokenAmount(amount: bigint, token: Token) {
  return { amount: formatAmount(amount, token.decimals), token: token.symbol }
}

/** Whole sell tokens per whole buy token. */
function ratioOf(
  sell: bigint,
  buy: bigint,
  sides: { readonly sell: { readonly token: Token }; readonly buy: { readonly token: Token } },
): number {
  const places = sides.buy.token.decimals - sides.sell.token.decimals
  return (Number(sell) / Number(buy)) * 10 ** places
}

/** `value`: base units of the value token. */
function wealthOf({ tokens }: Tally, valueToken: Token | undefined) {
  return (value: bigint | undefined, heldOf: (token: Token) => bigint): WealthResult => ({
    value: value === undefined || valueToken === undefined ? null : tokenAmount(value, valueToken),
    holdings: tokens
      .map((token) => tokenAmount(heldOf(token), token))
      .filter(({ amount, token }) => amount !== '0' || token !== ETHER.symbol),
  })
}

function modelOf({ model, valueToken }: SimulationInput, source: ModelResult['source']) {
  const { depth, tankWei } = model
  return {
    spreadBps: model.spreadPpm / 100,
    feeBps: model.feePpm / 100,
    depth: depth === undefined || valueToken === undefined ? null : tokenAmount(depth, valueToken),
    failurePercent: model.failurePpm / 10_000,
    quoteSeconds: model.quoteSeconds,
    fillSeconds: model.fillSeconds,
    validSeconds: model.validSeconds,
    wrapGas: tokenAmount(model.wrapWei, ETHER),
    callCharge: tokenAmount(model.callWei, ETHER),
    gasTank: tankWei === undefined ? null : tokenAmount(tankWei, ETHER),
    seed: model.seed,
    source,
  }
}

function figuresOf(tally: Tally, input: SimulationInput, values: Curve) {
  const { valueToken, fromSeconds, untilSeconds } = input
  const [begin, end] = endsOf(values)
  if (valueToken === undefined || begin === undefined || end === undefined) return null
  const seconds = untilSeconds - fromSeconds
  const gain = begin === 0 ? 0 : end / begin - 1
  const turnover = Number(tally.turnover) / 10 ** valueToken.decimals
  return {
    returnPercent: percent(gain),
    yearlyPercent:
      seconds < YEARLY_FROM_SECONDS ? null : percent((1 + gain) ** (YEAR_SECONDS / seconds) - 1),
    drawdown: drawdownOf(values, tally.samples.atSeconds),
    turnover: tokenAmount(tally.turnover, valueToken),
    turnoverPercent: begin === 0 ? null : percent(turnover / begin),
    costs: costsResult(tally, valueToken),
  }
}

/** Costs by kind; gas and charges at the last price of ETH. */
function costsResult({ costs, samples }: Tally, valueToken: Token) {
  const worth = samples.worths.get(NATIVE_TOKEN)?.at(-1) ?? 0
  const weiValue = (wei: bigint): bigint =>
    BigInt(Math.round((Number(wei) / 1e18) * worth * 10 ** valueToken.decimals))
  const { spread, fee, impact } = costs
  const [gas, calls] = [weiValue(costs.gasWei), weiValue(costs.callsWei)]
  const value = (amount: bigint) => tokenAmount(amount, valueToken)
  return {
    total: value(spread + fee + impact + gas + calls),
    spread: value(spread),
    fee: value(fee),
    impact: value(impact),
    gas: value(gas),
    calls: value(calls),
  }
}

function againstOf(alternatives: readonly Alternative[], { samples }: Tally, valueToken: Token) {
  return alternatives.flatMap(({ name, values }) => {
    const [begin, end] = endsOf(values)
    if (begin === undefined || end === undefined) return []
    const amount = end.toFixed(Math.min(valueToken.decimals, 6))
    const value = { amount, token: valueToken.symbol }
    const returnPercent = begin === 0 ? 0 : percent(end / begin - 1)
    const drawdownPercent = drawdownOf(values, samples.atSeconds).percent
    return [{ name, value, returnPercent, drawdownPercent }]
  })
}

/** The first and the last known value. */
function endsOf(values: Curve) {
  const known = values.filter((value) => value !== undefined)
  return [known[0], known.at(-1)] as const
}

const FAILURES: ReadonlySet<string> = new Set(['failed', 'refused', 'expired'])

function strategyOf(each: StrategyTally, tally: Tally, sim: Simulation) {
  const outcomes = [...each.outcomes.values()].sort((a, b) => b.count - a.count)
  const countOf = (is: (outcome: string) => boolean): number =>
    outcomes.reduce((sum, { outcome, count }) => (is(outcome) ? sum + count : sum), 0)
  const { name, kind } = each.strategy
  const open = sim.state.strategies.get(name)?.openSlots.length ?? 0
  return {
    name,
    kind,
    slots: countOf(() => true) + open,
    filled: countOf((outcome) => outcome === 'filled'),
    skipped: countOf((outcome) => outcome === 'skipped'),
    failed: countOf((outcome) => FAILURES.has(outcome)),
    missed: countOf((outcome) => outcome === 'missed'),
    open,
    outcomes,
    trades: [...each.trades.values()].map((trades) => tradesOf(trades, tally)),
    calls: each.calls,
    stopped: each.stopped ?? null,
  }
}

function tradesOf({ sell, buy, sold, bought, fills }: Trades, { samples }: Tally) {
  const worthsOf = ({ token }: Asset): Curve => samples.worths.get(token.address) ?? []
  const prices = divided(worthsOf(buy), worthsOf(sell)).filter((price) => price !== undefined)
  const mean = prices.reduce((sum, price) => sum + price, 0) / prices.length
  return {
    sold: tokenAmount(sold, shownToken(sell)),
    bought: tokenAmount(bought, shownToken(buy)),
    fills,
    averagePrice: bought === 0n ? null : decimal(ratioOf(sold, bought, { sell, buy })),
    periodPrice: prices.length === 0 ? null : decimal(mean),
  }
}

function seriesOf(
  tally: Tally,
  input: SimulationInput,
  curves: { readonly values: Curve; readonly alternatives: readonly Alternative[] },
) {
  const { samples, tokens } = tally
  const indexes = thinned(samples.atSeconds.length, POINTS_MAX)
  const pointsOf = (curve: Curve): readonly (number | null)[] =>
    indexes.map((index) => {
      const value = curve[index]
      return value === undefined ? null : brief(value)
    })
  const curveOf = (name: string, curve: Curve) => ({ name, points: pointsOf(curve) })
  const worths = (token: Token): Curve => samples.worths.get(token.address) ?? []
  /** Combines all samples since the last point. */
  const between = (values: readonly number[], together: (sum: number, value: number) => number) =>
    indexes.map((index, at) => {
      const after = at === 0 ? 0 : (indexes[at - 1] ?? 0) + 1
      return values.slice(after, index + 1).reduce(together, 0)
    })
  return {
    atSeconds: indexes.map((index) => samples.atSeconds[index] ?? 0),
    value: pointsOf(curves.values),
    drawdownPercent: pointsOf(fallsOf(curves.values)),
    against: curves.alternatives.map(({ name, values }) => curveOf(name, values)),
    prices: [...input.feeds.values()]
      .filter(({ pair }) => input.priceSeries.some((series) => series.pair === pair))
      .map(({ pair, base, quote }) => curveOf(pair, divided(worths(base), worths(quote)))),
    holdings: tokens.map((token) =>
      curveOf(token.symbol, samples.holdings.get(token.address) ?? []),
    ),
    // Shows the maximum use between two points.
    caps: [...samples.caps].map(([name, shares]) => ({
      name,
      points: between(shares, (high, share) => Math.max(high, share)).map((most) =>
        brief(most * 100),
      ),
    })),
    skips: [...samples.skips].map(([name, counts]) => ({
      name,
      points: between(counts, (sum, count) => sum + count),
    })),
  }
}

function divided(over: Curve, under: Curve): Curve {
  return over.map((value, index) => {
    const by = under[index]
    return value === undefined || by === undefined || by === 0 ? undefined : value / by
  })
}

function notesOf(tally: Tally, sim: Simulation): readonly string[] {
  const { input, state } = sim
  const notes = [
    'Decisions are made by the code that trades, with what was on chain at each slot; quotes and fills are the model.',
    'Orders do not move later prices, and gas for approvals is not counted.',
  ]
  notes.push(...priceNotes(sim))
  const open = state.intents.size
  if (open > 0)
    notes.push(`${open} ${open === 1 ? 'order was' : 'orders were'} still under way at the end.`)
  const unpriced = tally.samples.values.filter((value) => value === undefined).length
  if (unpriced > 0 && input.valueToken !== undefined)
    notes.push(
      `Something held had no price at ${unpriced} of ${tally.samples.values.length} samples: figures and curves leave those out.`,
    )
  const foreign = input.strategies.filter((each) => isUnpriced(each, input)).map(({ name }) => name)
  if (foreign.length > 0)
    notes.push(
      `${foreign.join(', ')}: there are no past prices of pairs without a feed, so that their orders fail.`,
    )
  return notes
}

/** True if it trades a pair without a feed. */
function isUnpriced(strategy: Strategy, { pricePath }: SimulationInput): boolean {
  if (!readsMarket(strategy) || strategy.priceCheck === 'feed') return false
  const tokens = assetsOf(strategy).map(({ token }) => token)
  return tokens.some((sell) =>
    tokens.some((buy) => buy !== sell && pricePath(sell, buy) === undefined),
  )
}
