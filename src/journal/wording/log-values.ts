import type { Token } from '../../domain/money/token.ts'
import { formatAmount } from '../../domain/money/units.ts'

/** Formats of log lines and metrics. */

/** A UTC instant. */
export function instantText(epochSeconds: number): string {
  return new Date(epochSeconds * 1_000).toISOString()
}

export function tookText(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`
}

/** A duration in seconds; zero if the clock was set back. */
export function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000
}

/** An amount in whole tokens, as a float. */
export function wholeTokens(amount: bigint, { decimals }: Pick<Token, 'decimals'>): number {
  return Number.parseFloat(formatAmount(amount, decimals))
}
