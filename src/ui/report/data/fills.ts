import type { AmountResult, FillResult } from '../../../backtest/report/result.ts'
import { type Cell, type Column, column, figures, momentCell, NONE } from '../../parts/table.tsx'
import { amountText, basisPoints } from '../../parts/wording/amounts.ts'
import { isoText, secondsOf } from '../../parts/wording/times.ts'
import { amountCell, betterPercent, priceOf } from './labels.ts'
import { type Packed, pack, unpack, visible } from './packing.ts'
import type { RowTable } from './slots.ts'

export type FillRow = {
  readonly atSeconds: number
  readonly slotSeconds: number
  readonly strategy: string
  readonly paid: AmountResult
  readonly received: AmountResult
  readonly price: number
  readonly marketPrice: number
}

export function packFills(fills: readonly FillResult[]): Packed {
  const rows = fills.map(({ at, slotSeconds, strategy, paid, received, price, marketPrice }) => ({
    atSeconds: secondsOf(at),
    slotSeconds,
    strategy,
    paid: paid.amount,
    paidToken: paid.token,
    received: received.amount,
    receivedToken: received.token,
    price: visible(Number(price)),
    marketPrice: visible(Number(marketPrice)),
  }))
  return pack(rows, ['strategy', 'paidToken', 'receivedToken'])
}

type FlatFill = Omit<FillRow, 'paid' | 'received'> &
  Readonly<Record<'paid' | 'paidToken' | 'received' | 'receivedToken', string>>

export function fillRows(fills: Packed): readonly FillRow[] {
  return unpack<FlatFill>(fills).map(({ paid, paidToken, received, receivedToken, ...row }) => ({
    ...row,
    paid: { amount: paid, token: paidToken },
    received: { amount: received, token: receivedToken },
  }))
}

export function fillTable(rows: readonly FillRow[]): RowTable<FillRow> {
  return {
    id: 'fills',
    title: 'Fills',
    rows,
    choices: ['strategy'],
    textOf: ({ strategy, paid, received }) =>
      [strategy, paid.token, received.token, paid.amount, received.amount].join('\n').toLowerCase(),
    columns: COLUMNS,
  }
}

const COLUMNS: readonly Column<FillRow>[] = [
  column('when', 'Filled (UTC)', ({ atSeconds, slotSeconds }) => ({
    ...momentCell(atSeconds),
    title: `${isoText(atSeconds)}, slot ${slotSeconds} (${isoText(slotSeconds)})`,
  })),
  column('strategy', 'Strategy', ({ strategy }) => strategy),
  figures('paid', 'Paid', ({ paid }) => amountCell(paid)),
  figures('received', 'Received', ({ received }) => amountCell(received)),
  figures('price', 'Price', (row) => priceCell(row, row.price)),
  figures('market', 'Market’s price', (row) => priceCell(row, row.marketPrice)),
  figures('against', 'Against market', ({ price, marketPrice }) =>
    marketPrice > 0 ? basisPoints(betterPercent(price, marketPrice) * 100) : NONE,
  ),
]

function priceCell({ price: like, paid, received }: FillRow, price: number): Cell {
  if (!(price > 0)) return NONE
  const { number, unit } = priceOf({ price, paid: paid.token, received: received.token }, like)
  return { text: number, title: `${number} ${unit}` }
}

/** `paid 25 USDC for 0.0083 WETH at 3,011.24 USDC per WETH`. */
export function markText({ paid, received, price }: FillRow): string {
  const { number, unit } = priceOf({ price, paid: paid.token, received: received.token })
  return `paid ${amountText(paid)} for ${amountText(received)} at ${number} ${unit}`
}
