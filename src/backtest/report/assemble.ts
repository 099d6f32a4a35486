import { assetsOf, type Strategy } from '../../domain/strategy.ts'
import { ETHER, NATIVE_TOKEN, type Token } from '../../domain/token.ts'
import { type Address, formatAmount } from '../../domain/units.ts'
import type { World, WorldInput } from '../world.ts'
import { type Alternative, alternativesOf } from './against.ts'
import {
  brief,
  type Curve,
  decimal,
  drawdownOf,
  fallsOf,
  instant,
  percent,
  thinned,
} from './curves.ts'
import { priceNotes } from './price-notes.ts'
import type {
  AgainstResult,
  AmountResult,
  BacktestResult,
  CostsResult,
  CurveResult,
  FiguresResult,
  ModelResult,
  SeriesResult,
  StrategyResult,
  TradesResult,
  WealthResult,
} from './result.ts'
import { nameOf, POINTS_MAX, type StrategyTally, type Tally, type Trades } from './tally.ts'

const DAY_SECONDS = 86_400
const YEAR_SECONDS = 365.25 * DAY_SECONDS
/** A rate of a year says nothing of less. */
const YEARLY_FROM_SECONDS = 30 * DAY_SECONDS

/** All that a run came to, for people and programs; what is told beside one run is added by who made several. */
export function resultOf(
  tally: Tally,
  world: World,
  modelSource: ModelResult['source'],
): BacktestResult {
  const { input } = world
  const { valueToken } = input
  const { samples } = tally
  const begin = wealthOf(tally, {
    ...{ valueToken, value: tally.begin },
    heldOf: ({ address }) => input.balances.get(address) ?? 0n,
  })
  const end = wealthOf(tally, {
    ...{ valueToken, value: tally.valueOf(world) },
    heldOf: ({ address }) => world.wallet.of(address),
  })
  const { values } = samples
  const alternatives = alternativesOf({
    samples,
    begin: wholeBalances(tally, input),
    trades: [...tally.strategies.values()].flatMap(({ trades }) => [...trades.values()]),
    model: input.model,
  })
  return {
    fromAt: instant(input.fromSeconds),
    untilAt: instant(input.untilSeconds),
    valueToken: valueToken?.symbol ?? null,
    prices: input.tapes.map(({ pair, source }) => ({
      pair,
      source,
      rounds: world.board.reelOf(pair)?.passed ?? 0,
    })),
    model: modelOf(input, modelSource),
    begin,
    end,
    figures: figuresOf(tally, input, values),
    against: valueToken === undefined ? [] : againstOf(alternatives, tally, valueToken),
    strategies: [...tally.strategies.values()].map((each) => strategyOf(each, tally, world)),
    sensitivity: [],
    series: seriesOf(tally, input, { values, alternatives }),
    fills: tally.fills.map(({ intent, atSeconds, paid, received, price }) => ({
      at: instant(atSeconds),
      strategy: intent.strategy,
      slotSeconds: intent.slotSeconds,
      paid: amountOf(paid, intent.sell),
      received: amountOf(received, intent.buy),
      price: decimal(ratioOf(paid, received, intent)),
      marketPrice: decimal(ratioOf(price.num, price.den, intent)),
    })),
    fillsLeftOut: tally.fillsLeftOut,
    slots: tally.rows.map(({ fromSeconds, untilSeconds, detail = null, ...row }) => ({
      fromAt: instant(fromSeconds),
      untilAt: instant(untilSeconds),
      count: row.count,
      strategy: row.strategy,
      outcome: row.outcome,
      reason: row.reason,
      detail,
    })),
    slotsLeftOut: tally.rowsLeftOut,
    notes: notesOf(tally, world),
    sweep: null,
  }
}

function amountOf(
  amount: bigint,
  { token, native }: { readonly token: Token; readonly native: boolean },
): AmountResult {
  return { amount: formatAmount(amount, token.decimals), token: nameOf({ token, native }) }
}

function tokenAmount(amount: bigint, token: Token): AmountResult {
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

function wholeOf(value: bigint | undefined, token: Token | undefined): number | undefined {
  return value === undefined || token === undefined
    ? undefined
    : Number(value) / 10 ** token.decimals
}

function wholeBalances({ tokens }: Tally, { balances }: WorldInput): Map<Address, number> {
  return new Map(
    tokens.map(({ address, decimals }) => [
      address,
      Number(balances.get(address) ?? 0n) / 10 ** decimals,
    ]),
  )
}

type Held = {
  readonly valueToken: Token | undefined
  /** Base units of the value token. */
  readonly value: bigint | undefined
  heldOf(token: Token): bigint
}

function wealthOf({ tokens }: Tally, { valueToken, value, heldOf }: Held): WealthResult {
  return {
    value: value === undefined || valueToken === undefined ? null : tokenAmount(value, valueToken),
    holdings: tokens
      .map((token) => tokenAmount(heldOf(token), token))
      .filter(({ amount, token }) => amount !== '0' || token !== ETHER.symbol),
  }
}

function modelOf({ model, valueToken }: WorldInput, source: ModelResult['source']): ModelResult {
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

function figuresOf(tally: Tally, input: WorldInput, values: Curve): FiguresResult | null {
  const { valueToken, fromSeconds, untilSeconds } = input
  const known = values.filter((value) => value !== undefined)
  const [begin] = known
  const end = known.at(-1)
  if (valueToken === undefined || begin === undefined || end === undefined) return null
  const seconds = untilSeconds - fromSeconds
  const gain = begin === 0 ? 0 : end / begin - 1
  const turnover = wholeOf(tally.turnover, valueToken) ?? 0
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

/** Gas and charges at what ETH was worth at the end. */
function costsResult({ costs, samples }: Tally, valueToken: Token): CostsResult {
  const worth = samples.worths.get(NATIVE_TOKEN)?.at(-1) ?? 0
  const weiValue = (wei: bigint): bigint =>
    BigInt(Math.round((Number(wei) / 1e18) * worth * 10 ** valueToken.decimals))
  const { spread, fee, impact } = costs
  const [gas, calls] = [weiValue(costs.gasWei), weiValue(costs.callsWei)]
  const value = (amount: bigint): AmountResult => tokenAmount(amount, valueToken)
  return {
    total: value(spread + fee + impact + gas + calls),
    spread: value(spread),
    fee: value(fee),
    impact: value(impact),
    gas: value(gas),
    calls: value(calls),
  }
}

function againstOf(
  alternatives: readonly Alternative[],
  { samples }: Tally,
  valueToken: Token,
): readonly AgainstResult[] {
  return alternatives.flatMap(({ name, values }) => {
    const known = values.filter((value) => value !== undefined)
    const [begin] = known
    const end = known.at(-1)
    if (begin === undefined || end === undefined) return []
    const amount = end.toFixed(Math.min(valueToken.decimals, 6))
    return [
      {
        name,
        value: { amount, token: valueToken.symbol },
        returnPercent: begin === 0 ? 0 : percent(end / begin - 1),
        drawdownPercent: drawdownOf(values, samples.atSeconds).percent,
      },
    ]
  })
}

const FAILURES: ReadonlySet<string> = new Set(['failed', 'refused', 'expired'])

function strategyOf(each: StrategyTally, tally: Tally, world: World): StrategyResult {
  const outcomes = [...each.outcomes.values()].sort((a, b) => b.count - a.count)
  const countOf = (is: (outcome: string) => boolean): number =>
    outcomes.reduce((sum, { outcome, count }) => (is(outcome) ? sum + count : sum), 0)
  const { name, kind } = each.strategy
  const open = world.state.strategies.get(name)?.openSlots.length ?? 0
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

function tradesOf({ sell, buy, sold, bought, fills }: Trades, { samples }: Tally): TradesResult {
  const over = samples.worths.get(buy.token.address) ?? []
  const under = samples.worths.get(sell.token.address) ?? []
  const prices = over.flatMap((worth, index) => {
    const by = under[index]
    return worth === undefined || by === undefined || by === 0 ? [] : [worth / by]
  })
  const mean = prices.reduce((sum, price) => sum + price, 0) / prices.length
  return {
    sold: amountOf(sold, sell),
    bought: amountOf(bought, buy),
    fills,
    averagePrice: bought === 0n ? null : decimal(ratioOf(sold, bought, { sell, buy })),
    periodPrice: prices.length === 0 ? null : decimal(mean),
  }
}

function seriesOf(
  tally: Tally,
  input: WorldInput,
  curves: { readonly values: Curve; readonly alternatives: readonly Alternative[] },
): SeriesResult {
  const { samples, tokens } = tally
  const indexes = thinned(samples.atSeconds.length, POINTS_MAX)
  const pointsOf = (curve: Curve): readonly (number | null)[] =>
    indexes.map((index) => {
      const value = curve[index]
      return value === undefined ? null : brief(value)
    })
  const curveOf = (name: string, curve: Curve): CurveResult => ({ name, points: pointsOf(curve) })
  const worths = (token: Token): Curve => samples.worths.get(token.address) ?? []
  return {
    atSeconds: indexes.map((index) => samples.atSeconds[index] ?? 0),
    value: pointsOf(curves.values),
    drawdownPercent: pointsOf(fallsOf(curves.values)),
    against: curves.alternatives.map(({ name, values }) => curveOf(name, values)),
    prices: [...input.feeds.values()]
      .filter(({ pair }) => input.tapes.some((tape) => tape.pair === pair))
      .map(({ pair, base, quote }) => curveOf(pair, divided(worths(base), worths(quote)))),
    holdings: tokens.map((token) =>
      curveOf(token.symbol, samples.holdings.get(token.address) ?? []),
    ),
    // A cap that was full between two points was full.
    caps: [...samples.caps].map(([name, shares]) => ({
      name,
      points: indexes.map((index, at) => {
        const after = at === 0 ? 0 : (indexes[at - 1] ?? 0) + 1
        const most = shares
          .slice(after, index + 1)
          .reduce((high, share) => Math.max(high, share), 0)
        return brief(most * 100)
      }),
    })),
    skips: [...samples.skips].map(([name, counts]) => ({
      name,
      points: indexes.map((index, at) => {
        const after = at === 0 ? 0 : (indexes[at - 1] ?? 0) + 1
        return counts.slice(after, index + 1).reduce((sum, count) => sum + count, 0)
      }),
    })),
  }
}

function divided(over: Curve, under: Curve): Curve {
  return over.map((value, index) => {
    const by = under[index]
    return value === undefined || by === undefined || by === 0 ? undefined : value / by
  })
}

function notesOf(tally: Tally, world: World): readonly string[] {
  const { input, state } = world
  const notes = [
    'Decisions are made by the code that trades, with what was on chain at each slot; quotes and fills are the model.',
    'Orders do not move later prices, and gas for approvals is not counted.',
  ]
  notes.push(...priceNotes(world))
  const open = state.intents.size
  if (open > 0)
    notes.push(`${open} ${open === 1 ? 'order was' : 'orders were'} still under way at the end.`)
  const unpriced = tally.samples.values.filter((value) => value === undefined).length
  if (unpriced > 0 && input.valueToken !== undefined)
    notes.push(
      `Something held had no price at ${unpriced} of ${tally.samples.values.length} samples: figures and curves leave those out.`,
    )
  const foreign = input.strategies.filter(isUnpriced(input)).map(({ name }) => name)
  if (foreign.length > 0)
    notes.push(
      `${foreign.join(', ')}: no past price tells what a pair without a feed would have been filled at.`,
    )
  return notes
}

/** Whether it trades by its own bounds alone, of which nothing is known. */
function isUnpriced({ pricePath }: WorldInput): (strategy: Strategy) => boolean {
  return (strategy) => {
    if (strategy.kind === 'call' || strategy.priceCheck === 'feed') return false
    const tokens = assetsOf(strategy).map(({ token }) => token)
    return tokens.some((sell) =>
      tokens.some((buy) => buy !== sell && pricePath(sell, buy) === undefined),
    )
  }
}
