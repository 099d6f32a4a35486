import type {
  AgainstResult,
  AmountResult,
  BacktestResult,
} from '../../../backtest/report/result.ts'
import { type Cell, figures, NONE } from '../../parts/table.tsx'
import {
  amountText,
  chartNumber,
  count,
  exactText,
  money,
  plainPercent,
  signedPercent,
} from '../../parts/wording/amounts.ts'

export function valueCell(value: AmountResult | null): Cell {
  if (value === null) return NONE
  return { text: `${money(value.amount)} ${value.token}`, title: exactText(value) }
}

export function amountCell(amount: AmountResult): Cell {
  return { text: amountText(amount), title: exactText(amount) }
}

export function returnCell(percent: number | null): Cell {
  return percent === null ? NONE : { text: signedPercent(percent) }
}

/** A drawdown always carries its minus sign. */
export function fallText(percent: number): string {
  return plainPercent(-Math.abs(percent))
}

export const VALUE = figures<{ readonly value: AmountResult | null }>(
  'value',
  'At the end',
  ({ value }) => valueCell(value),
)

export const RETURN = figures<{ readonly returnPercent: number | null }>(
  'return',
  'Return',
  ({ returnPercent }) => returnCell(returnPercent),
)

export const DRAWDOWN = figures<{ readonly drawdownPercent: number | null }>(
  'fall',
  'Drawdown',
  ({ drawdownPercent: percent }) => (percent === null ? NONE : fallText(percent)),
)

export const FILLS = figures<{ readonly fills: number }>('fills', 'Fills', ({ fills }) =>
  count(fills),
)

/** The holdings at the start, with their value unless they are one amount of its token: `1,000 USDC and 1 WETH, worth 4,000.00 USDC,`. */
export function givenText({ holdings, value }: BacktestResult['begin']): string {
  const held = holdings.filter(({ amount }) => amount !== '0')
  const given = listed(held.map(amountText))
  const isValue = held.length === 1 && held[0]?.token === value?.token
  return value === null || isValue
    ? given
    : `${given}, worth ${money(value.amount)} ${value.token},`
}

const AGAINST: Readonly<Record<AgainstResult['name'], string>> = {
  holding: 'Holding',
  'lump-sum': 'Lump sum',
  'plain-dca': 'Plain DCA',
}

export function againstName(name: string): string {
  return (AGAINST as Readonly<Record<string, string>>)[name] ?? name
}

type Trade = {
  /** Tokens paid per token received, in whole tokens. */
  readonly price: number
  readonly paid: string
  readonly received: string
}

/** Prices below this are inverted: 0.000332 WETH per USDC is hard to read. */
const INVERTED_BELOW = 0.1

/** `3,011.24 USDC per WETH`, for buyers and sellers of WETH alike. `like` decides the direction of compared prices. */
export function priceOf({ price, paid, received }: Trade, like = price) {
  const isInverted = like > 0 && like < INVERTED_BELOW && price > 0
  return {
    number: chartNumber(isInverted ? 1 / price : price),
    unit: isInverted ? `${received} per ${paid}` : `${paid} per ${received}`,
  }
}

/** Percent paid less than at another price; positive is better. */
export function betterPercent(price: number, than: number): number {
  return (1 - price / than) * 100
}

/** `2.01 % better`, `0.32 % worse`, `the same`. */
export function betterText(percent: number): string {
  const text = plainPercent(Math.abs(percent))
  if (text === '0 %') return 'the same'
  return `${text} ${percent > 0 ? 'better' : 'worse'}`
}

/** `a`, `a and b`, `a, b and c`, `a, b, c and 2 more`. */
export function listed(names: readonly string[], most = 3): string {
  const all = names.slice(0, most)
  if (names.length > most) all.push(`${names.length - most} more`)
  if (all.length < 2) return all.join('')
  return `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
}

/** `1 fill`, `2,300 fills`. */
export function counted(number: number, one: string): string {
  return `${count(number)} ${number === 1 ? one : `${one}s`}`
}

/** A part never reads as all, and something never as nothing. */
export function partText(part: number, all: number): string {
  if (all === 0) return '–'
  const text = plainPercent((part / all) * 100)
  if (part < all && text === '100.0 %') return '>99.9 %'
  return part > 0 && text === '0 %' ? '<0.01 %' : text
}
