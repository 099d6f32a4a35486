import type { CapUse } from '../../domain/book/caps.ts'
import { formatAmount } from '../../domain/units.ts'
import type { LimitRow } from './model.ts'

const ROWS_MAX = 60
const SHARE_PARTS = 10_000n

/** Caps as they are shown: the account's, then the fullest of the strategies'. */
export function limitRows(uses: readonly CapUse[]): readonly LimitRow[] {
  const own = uses.filter(({ strategy }) => strategy === undefined)
  const others = uses
    .filter(({ strategy }) => strategy !== undefined)
    .map((use) => ({ use, share: shareOf(use) }))
    .sort((a, b) => b.share - a.share)
    .map(({ use }) => use)
  return [...own, ...others].slice(0, ROWS_MAX).map(limitRow)
}

function limitRow(use: CapUse): LimitRow {
  const { strategy, token, window, used, cap, freesAtMs } = use
  return {
    strategy: strategy ?? null,
    token: token.symbol,
    window,
    used: formatAmount(used, token.decimals),
    cap: formatAmount(cap, token.decimals),
    share: shareOf(use),
    freesAtMs: freesAtMs ?? null,
  }
}

/** Nothing of nothing is full. */
function shareOf({ used, cap }: CapUse): number {
  if (cap === 0n) return 1
  return Number((used * SHARE_PARTS) / cap) / Number(SHARE_PARTS)
}
