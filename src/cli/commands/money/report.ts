import { join } from 'node:path'
import type { Holding } from '../../../domain/money/holding.ts'
import { createPricePaths, pricesAt } from '../../../domain/money/price.ts'
import { ETHER, type Token } from '../../../domain/money/token.ts'
import { formatAmount, mulDivDown, parseAmount } from '../../../domain/money/units.ts'
import { isTimezone } from '../../../domain/schedule/timezone.ts'
import type { Settings } from '../../../domain/settings.ts'
import { portfolioOf, valueTokenOf } from '../../../engine/accounts/portfolio.ts'
import { type AccountStatus, accountStatusOf } from '../../../journal/ledger/account-status.ts'
import {
  type Account,
  accountOf,
  averageBps,
  type Figures,
  type Grouping,
  type Traded,
} from '../../../journal/ledger/figures.ts'
import { HOLDINGS_FILE } from '../../../store/file/state-files.ts'
import { readHoldings } from '../../../ui/page/server/holdings.ts'
import type * as json from '../../json/money-outputs.ts'
import type { AmountData } from '../../json/shapes.ts'
import type { ConfigOptions } from '../../load-files.ts'
import { type Market, readMarketNow, tradedTokens } from '../../market.ts'
import { columnsOf, EXIT, type ExitCode, type Io, print } from '../../process/io.ts'
import { misused } from '../../process/refusal.ts'
import { capsIn, indexOf, type Reading, whileReading } from '../../reading.ts'
import { amountData, amountOrNull, capData, isoOf } from '../../text/amount-data.ts'
import { reportDrift } from './drift.ts'
import { csvText, reportLines, reportRows } from './report-text.ts'

export type ReportOptions = ConfigOptions & {
  readonly by?: Grouping | 'token'
  readonly since?: number
  readonly timezone: string
  readonly csv?: boolean
  readonly againstBacktest?: boolean
}

/** `tranched report`: trades, costs and profit. Reads the journal, and the chain for current prices. */
export async function report(options: ReportOptions, io: Io, nowMs: number): Promise<ExitCode> {
  if (!isTimezone(options.timezone)) {
    const message = `--timezone expects an IANA name such as Europe/Berlin, not ${options.timezone}`
    throw misused(message, 'report')
  }
  if (options.againstBacktest === true) {
    const unused = ['by', 'csv'].find((flag) => flag in options)
    if (unused !== undefined) throw misused(`--${unused} does not fit --against-backtest`, 'report')
    const period = { fromMs: options.since, untilMs: nowMs }
    return reportDrift(options, { period, io })
  }
  return whileReading(options, io, async (reading) => {
    const data = await dataOf(reading, options, { io, nowMs })
    const { problems } = reading
    if (options.csv && !options.json) {
      io.stdout.write(csvText(reportRows(data, options.by)))
      return EXIT.done
    }
    return print<json.ReportOutput>(io, options, { ...data, problems }, () =>
      reportLines(data, { by: options.by, columns: columnsOf(io) }),
    )
  })
}

async function dataOf(
  reading: Reading,
  { since: sinceMs, by, timezone }: ReportOptions,
  { io, nowMs }: { readonly io: Io; readonly nowMs: number },
): Promise<json.ReportData> {
  const { settings, view, stateDir } = reading
  const valueToken = settings && valueTokenOf(settings.prices.values())
  const ledger = await (await indexOf(reading, io)).ledger({ valueToken, sinceMs })
  const grouping: Grouping | undefined = by === 'token' ? undefined : by
  const query = { valueToken, sinceMs, by: grouping, timezone }
  const account = accountOf(ledger.entries, query, ledger.costBases)
  const market: Market =
    settings === undefined
      ? { ok: false, why: 'the config cannot be read' }
      : await readMarketNow(settings, marketOf(settings), { state: view.state, io })
  return {
    paper: view.state.bound?.mode === 'dry-run',
    sinceAt: sinceMs === undefined ? null : isoOf(sinceMs),
    untilAt: isoOf(nowMs),
    timezone,
    valueToken: valueToken?.symbol ?? null,
    total: figuresData(account.total, valueToken),
    groups: [...account.groups].map(([key, figures]) => {
      return { key, ...figuresData(figures, valueToken) }
    }),
    profit: profitOf(account, { valueToken, settings, market }),
    portfolio: {
      ...portfolioNow(market, reading),
      past: await holdingsOverTime(stateDir, { valueToken, sinceMs }),
    },
    caps: capsIn(reading, nowMs).map(capData),
  }
}

/** All tokens that the account may hold, and all feeds. */
function marketOf(settings: Settings) {
  const tokens = tradedTokens(settings)
  const pairs = [...settings.prices.values()].map(({ base, quote }) => ({ sell: quote, buy: base }))
  return { tokens, pairs }
}

function profitOf(
  { costBases }: Account,
  input: {
    readonly valueToken: Token | undefined
    readonly settings: Settings | undefined
    readonly market: Market
  },
): json.ReportData['profit'] {
  const { valueToken, settings, market } = input
  if (costBases === undefined || valueToken === undefined || settings === undefined) return null
  const priceOf = market.ok
    ? pricesAt(createPricePaths(settings.prices.values()), market.view)
    : undefined
  const worthOf = (token: Token, amount: bigint): bigint | undefined => {
    if (token.address === valueToken.address) return amount
    const price = priceOf?.(valueToken, token)
    return price ? mulDivDown(amount, price.num, price.den) : undefined
  }
  const { fifo, average } = costBases
  return profitData(
    accountStatusOf(fifo, valueToken, worthOf),
    accountStatusOf(average, valueToken, worthOf),
  )
}

function portfolioNow(
  market: Market,
  { settings, view }: Reading,
): Omit<json.PortfolioData, 'past'> {
  if (!market.ok || settings === undefined) {
    const unknown = market.ok ? 'the config cannot be read' : market.why
    return { unknown, total: null, holdings: [] }
  }
  const feeds = [...settings.prices.values()]
  const { valueToken, holdings } = portfolioOf(market.view, {
    tokens: marketOf(settings).tokens,
    feeds,
    pricePath: createPricePaths(feeds),
    paper: settings.mode === 'dry-run' ? view.state.paper : undefined,
  })
  return { unknown: null, ...holdingsData(holdings, valueToken) }
}

function figuresData(figures: Figures, valueToken: Token | undefined): json.FiguresData {
  const { fills, calls, trades, charged, uncharged, carried, gas, realised } = figures
  const unproven = [...figures.unprovenAmounts.values()]
  return {
    fills,
    calls,
    unproven: {
      orders: figures.unproven,
      amounts: unproven.map(({ token, amount }) => amountData(amount, token)),
    },
    trades: [...trades.values()].map(tradedData),
    charged: amountData(charged, ETHER),
    callsWithoutCharge: uncharged,
    carried: amountData(carried, ETHER),
    gas: amountData(gas, ETHER),
    realised: realised && valueToken ? bothData(realised, valueToken) : null,
  }
}

const PRICE_PLACES = 18

function tradedData(traded: Traded): json.TradedData {
  const { fills, sell, buy, paid, received, fee } = traded
  const whole = received * 10n ** BigInt(sell.decimals)
  const price = paid * 10n ** BigInt(buy.decimals + PRICE_PLACES)
  return {
    fills,
    sold: amountData(paid, sell),
    bought: amountData(received, buy),
    averagePrice: received === 0n ? null : formatAmount(price / whole, PRICE_PLACES),
    vsFeedBps: averageBps(traded) ?? null,
    fee: amountData(fee, sell),
  }
}

function bothData(
  { fifo, average }: Readonly<Record<'fifo' | 'average', bigint>>,
  token: Token,
): json.BothData {
  return { fifo: amountData(fifo, token), average: amountData(average, token) }
}

function profitData(fifo: AccountStatus, average: AccountStatus): json.ProfitData {
  const { valueToken, held } = fifo
  const both = (of: (status: AccountStatus) => bigint): json.BothData =>
    bothData({ fifo: of(fifo), average: of(average) }, valueToken)
  const others = new Map(average.held.map((each) => [each.token.address, each]))
  const [first, second] = [fifo.unrealised, average.unrealised]
  return {
    cost: both(({ cost }) => cost),
    realised: both(({ realised }) => realised),
    unrealised:
      first === undefined || second === undefined
        ? null
        : bothData({ fifo: first, average: second }, valueToken),
    proceedsOfUnknownCost: amountData(fifo.proceedsOfUnknownCost, valueToken),
    held: held.map(({ token, amount, cost, ofUnknownCost, paidWith, value }) => {
      const other = others.get(token.address)
      return {
        amount: amountData(amount, token),
        cost: bothData({ fifo: cost, average: other?.cost ?? 0n }, valueToken),
        ofUnknownCost: bothData(
          { fifo: ofUnknownCost, average: other?.ofUnknownCost ?? 0n },
          token,
        ),
        paidWith: [...paidWith],
        value: amountOrNull(value, valueToken),
      }
    }),
  }
}

function holdingsData(
  holdings: readonly Holding[],
  valueToken: Token | undefined,
): Pick<json.PortfolioData, 'total' | 'holdings'> {
  const shown = holdings.filter(({ amount }) => amount !== 0n)
  const values = shown.map(({ value }) => value)
  const isKnown = valueToken !== undefined && values.every((value) => value !== undefined)
  const total = values.reduce<bigint>((sum, value) => sum + (value ?? 0n), 0n)
  return {
    total: isKnown ? amountData(total, valueToken) : null,
    holdings: shown.map(({ token, decimals, amount, value }) => ({
      token,
      amount: amountOrNull(amount, { symbol: token, decimals }),
      value: valueToken === undefined ? null : amountOrNull(value, valueToken),
    })),
  }
}

/** Recorded holdings over time in the current value token, oldest first. */
async function holdingsOverTime(
  stateDir: string,
  query: { readonly valueToken: Token | undefined; readonly sinceMs: number | undefined },
): Promise<json.PortfolioData['past']> {
  const { valueToken, sinceMs = Number.NEGATIVE_INFINITY } = query
  const samples = await readHoldings(join(stateDir, HOLDINGS_FILE))
  return samples
    .filter((sample) => sample.at * 1000 >= sinceMs && sample.valueToken === valueToken?.symbol)
    .map(({ at, value }) => ({
      at: isoOf(at * 1000),
      value: value === null || valueToken === undefined ? null : figureData(value, valueToken),
    }))
}

/** Decimal places of the curve's figures, which are floats. */
const FIGURE_PLACES = 6

function figureData(value: number, { symbol }: Token): AmountData | null {
  const amount = parseAmount(value.toFixed(FIGURE_PLACES), FIGURE_PLACES)
  return amountOrNull(amount, { symbol, decimals: FIGURE_PLACES })
}
