import type { AgainstResult, AmountResult } from '../../../backtest/report/result.ts'
import {
  chartNumber,
  fullAmount,
  money,
  plainPercent,
  shortAmount,
  signedPercent,
} from '../../page-parts/words/amounts.ts'
import type { Cell } from './cells.ts'
import { NONE } from './cells.ts'

/** What figures and names are called, wherever they stand on the page. */

/** An amount of the token that everything is valued in, with all its digits where one points at it. */
export function valueCell(value: AmountResult | null): Cell {
  if (value === null) return NONE
  return { text: `${money(value.amount)} ${value.token}`, title: exactly(value) }
}

export function amountCell(amount: AmountResult): Cell {
  return { text: amountText(amount), title: exactly(amount) }
}

export function amountText({ amount, token }: AmountResult): string {
  return `${shortAmount(amount)} ${token}`
}

export function exactly({ amount, token }: AmountResult): string {
  return `${fullAmount(amount)} ${token}`
}

export function returnCell(percent: number | null): Cell {
  return percent === null ? NONE : { text: signedPercent(percent) }
}

/** A fall is told with its sign, however it was counted. */
export function fallText(percent: number): string {
  return plainPercent(-Math.abs(percent))
}

export function fallCell(percent: number | null): Cell {
  return percent === null ? NONE : { text: fallText(percent) }
}

export const AGAINST: Readonly<Record<AgainstResult['name'], string>> = {
  holding: 'Holding',
  'lump-sum': 'Lump sum',
  'plain-dca': 'Plain DCA',
}

export function againstName(name: string): string {
  return (AGAINST as Readonly<Record<string, string>>)[name] ?? name
}

export type Trade = {
  /** Paid per received, in whole tokens. */
  readonly price: number
  readonly paid: string
  readonly received: string
}

/** Below this a price is told the other way round: nobody thinks of 0.000332 WETH per USDC. */
const TURNED_BELOW = 0.1

/**
 * `3,011.24 USDC per WETH`, both for who buys WETH and for who sells it. Prices that are compared are told the same way round: as
 * `like` is.
 */
export function priceOf({ price, paid, received }: Trade, like = price) {
  const isTurned = like > 0 && like < TURNED_BELOW && price > 0
  return {
    number: chartNumber(isTurned ? 1 / price : price),
    unit: isTurned ? `${received} per ${paid}` : `${paid} per ${received}`,
  }
}

/** How much less was paid than at a price to compare with, in percent of it: above zero is better. */
export function betterPercent(price: number, than: number): number {
  return (1 - price / than) * 100
}

/** `2.01 % better`, `0.32 % worse`, `the same`. */
export function betterText(percent: number): string {
  const text = plainPercent(Math.abs(percent))
  if (text === '0 %') return 'the same'
  return `${text} ${percent > 0 ? 'better' : 'worse'}`
}

/** `a`, `a and b`, `a, b and c`; of more than `most` how many there are besides. */
export function listed(names: readonly string[], most = 3): string {
  const shown = names.length > most ? names.slice(0, most) : names
  const last = names.length > most ? `${names.length - most} more` : undefined
  const all = last === undefined ? shown : [...shown, last]
  if (all.length < 2) return all.join('')
  return `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
}

/** `1 fill`, `2,300 fills`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${fullAmount(String(number))} ${number === 1 ? one : many}`
}

/** A share in percent. What is not all is never told as all, and what is something never as nothing. */
export function partText(part: number, all: number): string {
  if (all === 0) return '–'
  const text = plainPercent((part / all) * 100)
  if (part < all && text === '100.0 %') return '>99.9 %'
  return part > 0 && text === '0 %' ? '<0.01 %' : text
}
