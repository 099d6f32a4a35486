import type { JournalRecord } from '../../domain/book/journal.ts'
import { formatAmount } from '../../domain/units.ts'

/** Costs of all calls whose charge and direct price are both known, in wei. `saved` is negative where sharing cost more. */
export type CallSavings = {
  readonly calls: number
  readonly charged: bigint
  readonly direct: bigint
  readonly saved: bigint
  /** Proven calls of which one of the two figures is missing; they are in no sum. */
  readonly unknown: number
}

/** Sums what the journal says of each call that went through the service: the charge, and the price of going alone. */
export async function callSavings(records: AsyncIterable<JournalRecord>): Promise<CallSavings> {
  let calls = 0
  let unknown = 0
  let charged = 0n
  let direct = 0n
  for await (const { event } of records) {
    if (event.type !== 'call-proven' || event.execution.via !== 'aggregated') continue
    const { costs } = event.execution
    if (costs.charged === undefined || costs.direct === undefined) {
      unknown += 1
      continue
    }
    calls += 1
    charged += costs.charged
    direct += costs.direct
  }
  return { calls, charged, direct, saved: direct - charged, unknown }
}

/** The sums in one line, told honestly when sharing saved nothing. */
export function savingsText({ calls, charged, direct, saved, unknown }: CallSavings): string {
  if (calls === 0) return 'no call with known costs yet'
  const ether = (wei: bigint): string => `${formatAmount(wei, 18)} ETH`
  const rest = unknown === 0 ? '' : `; ${unknown} more with unknown costs`
  const verdict =
    saved > 0n
      ? `saved ${ether(saved)} (${(saved * 1000n) / direct / 10n}.${((saved * 1000n) / direct) % 10n} %)`
      : `saved nothing: ${ether(-saved)} more than direct`
  return `${calls} calls for ${ether(charged)}, ${ether(direct)} directly: ${verdict}${rest}`
}
