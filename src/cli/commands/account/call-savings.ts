import { etherWords, isDisputed, savedOf } from '../../../domain/book/costs.ts'
import type { JournalRecord } from '../../../domain/book/journal.ts'
import { ETHER } from '../../../domain/token.ts'
import { amountData } from '../../amount-data.ts'
import type { GastankStatusData } from '../../json/account.ts'
import type { AmountData } from '../../json/shapes.ts'

/** Costs of all calls whose charge and savings are both known, in wei. `saved` is negative where sharing cost more. */
export type CallSavings = {
  readonly calls: number
  readonly charged: bigint
  readonly saved: bigint
  /** Of what was charged, the part for blob gas, as far as the service tells. */
  readonly blob: bigint
  /** What the account's funds fell by for the calls of which both are known, and what was charged for these. */
  readonly check: { readonly calls: number; readonly fell: bigint; readonly charged: bigint }
  /** Of these, calls for which the two differ. */
  readonly disputed: number
  /** Proven calls of which a figure is missing; they are in no sum. */
  readonly unknown: number
  /** What delegations were charged, as far as it is on record; in no other sum. */
  readonly delegation: bigint
}

const NONE: CallSavings = {
  calls: 0,
  charged: 0n,
  saved: 0n,
  blob: 0n,
  check: { calls: 0, fell: 0n, charged: 0n },
  disputed: 0,
  unknown: 0,
  delegation: 0n,
}

/** Sums what the journal says of each call that went through the service: the charge, and the price of going alone. */
export async function callSavings(records: AsyncIterable<JournalRecord>): Promise<CallSavings> {
  let sums = NONE
  for await (const { event } of records) {
    if (event.type === 'delegation-charged')
      sums = { ...sums, delegation: sums.delegation + event.charged }
    if (event.type !== 'call-proven' || event.execution.via !== 'aggregated') continue
    const { costs } = event.execution
    const { charged, blob = 0n, fall } = costs
    const saved = savedOf(costs)
    if (charged === undefined || saved === undefined) {
      sums = { ...sums, unknown: sums.unknown + 1 }
      continue
    }
    const { check } = sums
    sums = {
      ...sums,
      calls: sums.calls + 1,
      charged: sums.charged + charged,
      saved: sums.saved + saved,
      blob: sums.blob + blob,
      check:
        fall === undefined
          ? check
          : { calls: check.calls + 1, fell: check.fell + fall, charged: check.charged + charged },
      disputed: sums.disputed + (isDisputed(costs) ? 1 : 0),
    }
  }
  return sums
}

/** The same as data. */
export function savingsData(savings: CallSavings): NonNullable<GastankStatusData['savings']> {
  const { calls, check, disputed, unknown } = savings
  const ether = (wei: bigint): AmountData => amountData(wei, ETHER)
  return {
    calls,
    charged: ether(savings.charged),
    saved: ether(savings.saved),
    blob: ether(savings.blob),
    check: { calls: check.calls, fell: ether(check.fell), charged: ether(check.charged) },
    disputed,
    unknown,
    delegation: ether(savings.delegation),
  }
}

/** The sums in one line, told honestly when sharing saved nothing. */
export function savingsText({ calls, charged, saved, blob, unknown }: CallSavings): string {
  if (calls === 0) return 'no call with known costs yet'
  const direct = charged + saved
  const rest = unknown === 0 ? '' : `; ${unknown} more with unknown costs`
  const blobs = blob === 0n ? '' : ` (${etherWords(blob)} of it for blobs)`
  const verdict =
    saved > 0n
      ? `saved ${etherWords(saved)}${percent(saved, direct)}`
      : `saved nothing${saved === 0n ? '' : `: ${etherWords(-saved)} more than direct`}`
  return `${calls} calls for ${etherWords(charged)}${blobs}, ${etherWords(direct)} directly: ${verdict}${rest}`
}

function percent(part: bigint, whole: bigint): string {
  if (whole <= 0n) return ''
  const tenths = (part * 1000n) / whole
  return ` (${tenths / 10n}.${tenths % 10n} %)`
}

/** What the fall of the funds says of what the service says. */
export function checkText({ check, disputed }: CallSavings): string {
  if (check.calls === 0) return 'no call of which the fall of the funds is known'
  const fell = `the funds fell by ${etherWords(check.fell)} for ${check.calls} of them`
  return disputed === 0
    ? `${fell}, as charged`
    : `${fell}, charged were ${etherWords(check.charged)}: ${disputed} differ`
}
