import type { Token } from '../../domain/money/token.ts'
import { formatAmount } from '../../domain/money/units.ts'
import type { Schedule } from '../../domain/schedule/schedule.ts'
import { durationText } from '../../domain/text/duration.ts'
import { briefDecimal } from '../../domain/text/grouped.ts'
import type { CapUse } from '../../journal/projections/limits.ts'
import type { AmountData, CapData } from '../json/shapes.ts'

/** Exact decimal text with the token, as in every `--json`. */
export function amountData(
  amount: bigint,
  { symbol, decimals }: Pick<Token, 'symbol' | 'decimals'>,
): AmountData {
  return { amount: formatAmount(amount, decimals), token: symbol }
}

export function amountOrNull(
  amount: bigint | undefined,
  token: Pick<Token, 'symbol' | 'decimals'>,
): AmountData | null {
  return amount === undefined ? null : amountData(amount, token)
}

/** Text for people, cut to six digits. */
export function shortText({ amount, token }: AmountData): string {
  return `${briefDecimal(amount)} ${token}`
}

export function capData({ strategy, window, token, used, cap }: CapUse): CapData {
  const amounts = { used: amountData(used, token), cap: amountData(cap, token) }
  return { strategy: strategy ?? null, window, ...amounts }
}

/** A count with its noun: `1 order`, `2 orders`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}

/** A schedule as written in its file. */
export function describeSchedule(schedule: Schedule): string {
  if (schedule.type === 'cron') return `"${schedule.cron}" ${schedule.timezone}`
  const { count, everySeconds } = schedule
  return `${count} slices every ${durationText(everySeconds * 1000)}`
}
