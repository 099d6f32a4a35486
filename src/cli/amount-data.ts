import type { Token } from '../domain/token.ts'
import { briefDecimal, formatAmount } from '../domain/units.ts'
import type { AmountData } from './json/shapes.ts'

/** An amount as every command's `--json` has it: exact decimal text, never base units, with its token. */
export function amountData(
  amount: bigint,
  { symbol, decimals }: Pick<Token, 'symbol' | 'decimals'>,
): AmountData {
  return { amount: formatAmount(amount, decimals), token: symbol }
}

/** It for people, cut to six digits. */
export function shortText({ amount, token }: AmountData): string {
  return `${briefDecimal(amount)} ${token}`
}
