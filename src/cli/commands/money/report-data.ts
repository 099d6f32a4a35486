import type { Holding } from '../../../domain/holding.ts'
import {
  type Account,
  averageBps,
  type Figures,
  type Traded,
} from '../../../domain/ledger/figures.ts'
import type { Standing } from '../../../domain/ledger/standing.ts'
import { ETHER, type Token } from '../../../domain/token.ts'
import { formatAmount } from '../../../domain/units.ts'
import { amountData } from '../../amount-data.ts'
import type {
  BothData,
  FiguresData,
  PortfolioData,
  ProfitData,
  ReportData,
  TradedData,
} from '../../json/money.ts'

export function figuresData(figures: Figures, valueToken: Token | undefined): FiguresData {
  const { fills, calls, unproven, trades, unprovenAmounts, charged, uncharged, carried, gas } =
    figures
  return {
    fills,
    calls,
    unproven: {
      orders: unproven,
      amounts: [...unprovenAmounts.values()].map(({ token, amount }) => amountData(amount, token)),
    },
    trades: [...trades.values()].map(tradedData),
    charged: amountData(charged, ETHER),
    callsWithoutCharge: uncharged,
    carried: amountData(carried, ETHER),
    gas: amountData(gas, ETHER),
    realised:
      figures.realised === undefined || valueToken === undefined
        ? null
        : bothData(figures.realised, valueToken),
  }
}

const PRICE_PLACES = 18

function tradedData(traded: Traded): TradedData {
  const { fills, sell, buy, paid, received, fee } = traded
  const price =
    received === 0n
      ? null
      : (paid * 10n ** BigInt(buy.decimals + PRICE_PLACES)) /
        (received * 10n ** BigInt(sell.decimals))
  return {
    fills,
    sold: amountData(paid, sell),
    bought: amountData(received, buy),
    averagePrice: price === null ? null : formatAmount(price, PRICE_PLACES),
    vsFeedBps: averageBps(traded) ?? null,
    fee: amountData(fee, sell),
  }
}

function bothData({ fifo, average }: BothWays, token: Token): BothData {
  return { fifo: amountData(fifo, token), average: amountData(average, token) }
}

type BothWays = { readonly fifo: bigint; readonly average: bigint }

/** Both ways of counting hold the same amounts: costs and profits differ. */
export function profitData(fifo: Standing, average: Standing): ProfitData {
  const { valueToken, held } = fifo
  const both = (of: (standing: Standing) => bigint): BothData =>
    bothData({ fifo: of(fifo), average: of(average) }, valueToken)
  const costs = new Map(average.held.map(({ token, cost }) => [token.address, cost]))
  const [first, second] = [fifo.unrealised, average.unrealised]
  return {
    cost: both(({ cost }) => cost),
    realised: both(({ realised }) => realised),
    unrealised:
      first === undefined || second === undefined
        ? null
        : bothData({ fifo: first, average: second }, valueToken),
    proceedsOfUnknownCost: amountData(fifo.proceedsOfUnknownCost, valueToken),
    held: held.map(({ token, amount, cost, value }) => ({
      amount: amountData(amount, token),
      cost: bothData({ fifo: cost, average: costs.get(token.address) ?? 0n }, valueToken),
      value: value === undefined ? null : amountData(value, valueToken),
    })),
  }
}

/** What is held now; the total is not known where something that was not read, or has no price, belongs to it. */
export function holdingsData(
  holdings: readonly Holding[],
  valueToken: Token | undefined,
): Pick<PortfolioData, 'total' | 'holdings'> {
  const shown = holdings.filter(({ amount }) => amount !== 0n)
  const values = shown.map(({ value }) => value)
  const isKnown = valueToken !== undefined && values.every((value) => value !== undefined)
  const total = values.reduce<bigint>((sum, value) => sum + (value ?? 0n), 0n)
  return {
    total: isKnown ? amountData(total, valueToken) : null,
    holdings: shown.map(({ token, decimals, amount, value }) => ({
      token,
      amount: amount === undefined ? null : amountData(amount, { symbol: token, decimals }),
      value: value === undefined || valueToken === undefined ? null : amountData(value, valueToken),
    })),
  }
}

export function groupsData(
  { groups }: Account,
  valueToken: Token | undefined,
): ReportData['groups'] {
  return [...groups].map(([key, figures]) => ({ key, ...figuresData(figures, valueToken) }))
}
