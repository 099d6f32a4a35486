import type { ServiceConflict } from '../domain/order/conflict.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import type { OrderContext } from './context.ts'

/** Normal delay between nodes, services and clocks; earlier differences are not conflicts. */
const GRACE_MS: Partial<Record<ServiceConflict['what'], number>> = {
  filled: 10_000,
  receipt: 10_000,
  clock: 10_000,
}
/** After this long the operator should investigate. */
const WAITING_MS = 30_000

export type RejectedClaim = ServiceConflict & { readonly detail: string }

/** Reports each conflict about one order after its grace period. */
export function createConflictReporter(
  context: OrderContext,
  open: OpenIntent,
): (claim: RejectedClaim) => void {
  const sinceMs = new Map<ServiceConflict['what'], number>()
  return (claim) => {
    const nowMs = context.ports.clock.now()
    const firstMs = sinceMs.get(claim.what) ?? nowMs
    sinceMs.set(claim.what, firstMs)
    // Absolute distance: a clock that was set back must not suppress the report.
    const forMs = Math.abs(nowMs - firstMs)
    if (forMs < (GRACE_MS[claim.what] ?? 0)) return
    reportConflict(context, open, { ...claim, moneyWaits: forMs >= WAITING_MS })
  }
}

export function reportConflict(
  { ports }: OrderContext,
  { intent }: OpenIntent,
  claim: RejectedClaim & { readonly moneyWaits: boolean },
): void {
  const { strategy, id: intentId } = intent
  ports.observe({ type: 'disbelieved', strategy, intentId, ...claim })
}
