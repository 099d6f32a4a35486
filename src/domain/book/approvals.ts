import type { AccountLimits, ApprovalPolicy } from '../settings.ts'
import type { StrategyLimits } from '../strategy.ts'
import type { Token } from '../token.ts'
import { maxOf } from '../units.ts'
import { dayBudget, livePermits } from './limits.ts'
import type { DaemonState } from './state.ts'
import { openSwaps } from './swaps.ts'

/** An approval of everything, for good. */
export const UNLIMITED = 2n ** 256n - 1n

/**
 * What Permit2 is to be let spend of a token, in base units, and at most what the signer lets it: `exact` what live permits and
 * orders before their signature take, `budget` beside them what today's caps still allow. The account's cap counts, or else
 * the strategy's `own`.
 */
export function approvalOf(
  state: DaemonState,
  query: {
    readonly approval: ApprovalPolicy
    readonly token: Pick<Token, 'address'>
    readonly nowMs: number
    readonly account: AccountLimits
    readonly own: StrategyLimits | undefined
  },
): bigint {
  const { approval, token } = query
  const required = livePermits(state, token) + plannedSells(state, token)
  switch (approval) {
    case 'exact':
      return required
    case 'budget':
      return maxOf(required, dayBudget(state, query))
    case 'unlimited':
      return UNLIMITED
  }
}

/** Several orders of one slot are covered at once: an approval replaces the one before. */
function plannedSells(state: DaemonState, { address }: Pick<Token, 'address'>): bigint {
  let sum = 0n
  for (const { state: at, intent } of openSwaps(state))
    if (at === 'planned' && intent.sell.token.address === address) sum += intent.maxSell
  return sum
}
