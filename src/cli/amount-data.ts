import type { Token } from '../domain/token.ts'
import { briefDecimal, formatAmount } from '../domain/units.ts'

/** An amount as every command's `--json` has it: exact decimal text, never base units, with its token. */
export type AmountData = { readonly amount: string; readonly token: string }

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
