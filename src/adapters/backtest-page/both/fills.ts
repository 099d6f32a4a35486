import type { FillResult } from '../../../backtest/report/result.ts'
import { basisPoints } from '../../page-parts/words/amounts.ts'
import type { Cell, Column } from './cells.ts'
import { momentCell, NONE } from './cells.ts'
import { isoText, secondsOf } from './moments.ts'
import { seen, Words } from './packing.ts'
import { amountCell, betterPercent, priceOf } from './words.ts'

export type FillRow = Omit<FillResult, 'at' | 'price' | 'marketPrice'> & {
  readonly atSeconds: number
  readonly price: number
  readonly marketPrice: number
}

/** All fills, column by column: tokens and strategies are places among `words`. */
export type PackedFills = {
  readonly words: readonly string[]
  readonly at: readonly number[]
  readonly slot: readonly number[]
  readonly strategy: readonly number[]
  readonly paid: readonly string[]
  readonly paidToken: readonly number[]
  readonly received: readonly string[]
  readonly receivedToken: readonly number[]
  readonly price: readonly number[]
  readonly market: readonly number[]
}

export function packFills(fills: readonly FillResult[]): PackedFills {
  const words = new Words()
  const places = (of: (fill: FillResult) => string) => fills.map((fill) => words.placeOf(of(fill)))
  return {
    at: fills.map(({ at }) => secondsOf(at)),
    slot: fills.map(({ slotSeconds }) => slotSeconds),
    strategy: places(({ strategy }) => strategy),
    paid: fills.map(({ paid }) => paid.amount),
    paidToken: places(({ paid }) => paid.token),
    received: fills.map(({ received }) => received.amount),
    receivedToken: places(({ received }) => received.token),
    price: fills.map(({ price }) => seen(Number(price))),
    market: fills.map(({ marketPrice }) => seen(Number(marketPrice))),
    words: words.all,
  }
}

export function fillAt(packed: PackedFills, index: number): FillRow {
  const word = (places: readonly number[]) => packed.words[places[index] ?? -1] ?? ''
  return {
    atSeconds: packed.at[index] ?? 0,
    slotSeconds: packed.slot[index] ?? 0,
    strategy: word(packed.strategy),
    paid: { amount: packed.paid[index] ?? '', token: word(packed.paidToken) },
    received: { amount: packed.received[index] ?? '', token: word(packed.receivedToken) },
    price: packed.price[index] ?? 0,
    marketPrice: packed.market[index] ?? 0,
  }
}

export const FILL_CHOICES = ['strategy'] as const

export function fillText({ strategy, paid, received }: FillRow): string {
  return [strategy, paid.token, received.token, paid.amount, received.amount]
    .join('\n')
    .toLowerCase()
}

export function fillColumns(): readonly Column<FillRow>[] {
  return [
    {
      id: 'when',
      title: 'Filled (UTC)',
      cell: ({ atSeconds, slotSeconds }) => ({
        ...momentCell(atSeconds),
        title: `${isoText(atSeconds)}, slot ${slotSeconds} (${isoText(slotSeconds)})`,
      }),
    },
    { id: 'strategy', title: 'Strategy', cell: ({ strategy }) => ({ text: strategy }) },
    { id: 'paid', title: 'Paid', numeric: true, cell: ({ paid }) => amountCell(paid) },
    {
      id: 'received',
      title: 'Received',
      numeric: true,
      cell: ({ received }) => amountCell(received),
    },
    { id: 'price', title: 'Price', numeric: true, cell: (row) => priceCell(row, row.price) },
    {
      id: 'market',
      title: 'Market’s price',
      numeric: true,
      cell: (row) => priceCell(row, row.marketPrice),
    },
    { id: 'against', title: 'Against market', numeric: true, cell: againstCell },
  ]
}

function priceCell({ price: like, paid, received }: FillRow, price: number): Cell {
  if (!(price > 0)) return NONE
  const { number, unit } = priceOf({ price, paid: paid.token, received: received.token }, like)
  return { text: number, title: `${number} ${unit}` }
}

function againstCell({ price, marketPrice }: FillRow): Cell {
  if (!(marketPrice > 0)) return NONE
  return { text: basisPoints(betterPercent(price, marketPrice) * 100) }
}
