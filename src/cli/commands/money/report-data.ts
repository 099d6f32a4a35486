import { type CapUse, capsOf } from '../../../domain/book/caps.ts'
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
import { type AmountData, amountData } from '../../amount-data.ts'

/** What a report says, as `--json` prints it and the text is made of. Amounts are exact decimal text with their token. */
export type ReportData = {
  /** Dry-run: orders were booked at their quotes, and nothing moved. */
  readonly paper: boolean
  readonly since: string | null
  readonly until: string
  readonly timezone: string
  /** Values, costs and profits are in it; null where the config has no price feed. */
  readonly valueToken: string | null
  readonly total: FiguresData
  /** By day, week, month or strategy; empty unless asked for. */
  readonly groups: readonly (FiguresData & { readonly key: string })[]
  /** Null where there is no value token. Since the beginning of the journal, whatever `since` says. */
  readonly profit: ProfitData | null
  readonly portfolio: PortfolioData
  readonly caps: readonly CapData[]
}

export type FiguresData = {
  readonly fills: number
  readonly calls: number
  /** Orders that count as spent although nothing proves what they bought. */
  readonly unproven: { readonly orders: number; readonly amounts: readonly AmountData[] }
  readonly trades: readonly TradedData[]
  /** Ether: charges of calls, with what they carried, and gas of own transactions. */
  readonly charged: AmountData
  readonly callsWithoutCharge: number
  readonly carried: AmountData
  readonly gas: AmountData
  /** Null where there is no value token. */
  readonly realised: BothData | null
}

export type TradedData = {
  readonly fills: number
  readonly sold: AmountData
  readonly bought: AmountData
  /** Of what is sold for one whole of what is bought; null where nothing moved. */
  readonly averagePrice: string | null
  /** Better than the feeds, weighed by what was paid; null where no feed gave a price. */
  readonly vsFeedBps: number | null
  /** As the service named it: part of what was sold. */
  readonly fee: AmountData
}

/** By first-in-first-out and by the average. */
export type BothData = { readonly fifo: AmountData; readonly average: AmountData }

export type ProfitData = {
  readonly cost: BothData
  readonly realised: BothData
  /** Null where something of what is held has no price now. */
  readonly unrealised: BothData | null
  readonly proceedsOfUnknownCost: AmountData
  readonly held: readonly {
    readonly amount: AmountData
    readonly cost: BothData
    readonly value: AmountData | null
  }[]
}

export type PortfolioData = {
  /** Why nothing is known of now; null where it was read. */
  readonly unknown: string | null
  readonly total: AmountData | null
  readonly holdings: readonly {
    readonly amount: AmountData | null
    readonly token: string
    readonly value: AmountData | null
  }[]
  /** Over time, as the daemon noted it; oldest first. */
  readonly past: readonly { readonly at: string; readonly value: AmountData | null }[]
}

export type CapData = {
  readonly strategy: string | null
  readonly window: CapUse['window']
  readonly used: AmountData
  readonly cap: AmountData
}

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

export function capsData(...query: Parameters<typeof capsOf>): readonly CapData[] {
  return capsOf(...query).map(({ strategy, window, token, used, cap }) => ({
    strategy: strategy ?? null,
    window,
    used: amountData(used, token),
    cap: amountData(cap, token),
  }))
}

export function groupsData(
  { groups }: Account,
  valueToken: Token | undefined,
): ReportData['groups'] {
  return [...groups].map(([key, figures]) => ({ key, ...figuresData(figures, valueToken) }))
}
