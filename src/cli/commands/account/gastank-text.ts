import { DAY_MS } from '../../../domain/cap-windows.ts'
import { ETHER } from '../../../domain/money/token.ts'
import { durationText } from '../../../domain/text/duration.ts'
import type { GasRunway } from '../../../engine/accounts/gas-runway.ts'
import { callProven } from '../../../journal/events/order/fills.ts'
import type { JournalRecord } from '../../../journal/events/registry.ts'
import { delegationCharged } from '../../../journal/events/state/wallets.ts'
import { etherText, isDisputed, savedOf } from '../../../journal/wording/costs.ts'
import { lastingText } from '../../../observe/wording.ts'
import { isDirect } from '../../../venues/call/call-projection.ts'
import type { GastankStatusData } from '../../json/account-outputs.ts'
import type { AmountData } from '../../json/shapes.ts'
import { amountData } from '../../text/amount-data.ts'

export function lastsText(runway: GasRunway | undefined): string {
  if (runway === undefined) return 'not known'
  if (runway.tag === 'idle') return 'no call is due'
  if (runway.tag === 'unknown')
    return `unknown: no cost is known yet for a call of ${runway.strategies.join(', ')}`
  const { seconds, callsPerDay, perCall, isSimulated, delegation } = runway
  const lasts = seconds === undefined ? 'for all future calls' : lastingText(seconds)
  // `17280 calls a day` is harder to read than `1 call every 5s`.
  const pace = `1 call every ${durationText(Math.round(DAY_MS / callsPerDay))}`
  const each = `${etherText(rough(perCall))} each${isSimulated ? ' by simulation' : ''}`
  const before =
    delegation.isAwaited && delegation.wei !== undefined
      ? `, after ${etherText(rough(delegation.wei))} for the delegation`
      : ''
  return `${lasts} (${pace}, ${each}${before})`
}

/** Rounds up to two digits, the precision of an estimate. */
function rough(wei: bigint): bigint {
  const unit = 10n ** BigInt(Math.max(0, wei.toString().length - 2))
  return ((wei + unit - 1n) / unit) * unit
}

export function runwayData(
  runway: GasRunway | undefined,
  unread: string | undefined,
): Pick<GastankStatusData, 'runwaySeconds' | 'assumed' | 'runwayUnknown'> {
  if (runway?.tag !== 'known')
    return {
      runwaySeconds: null,
      assumed: null,
      runwayUnknown: unread ?? (runway?.tag === 'idle' ? null : lastsText(runway)),
    }
  const { seconds = null, callsPerDay, perCall, isSimulated, delegation } = runway
  return {
    runwaySeconds: seconds,
    assumed: {
      callsPerDay,
      perCall: amountData(perCall, ETHER),
      isSimulated,
      delegation: amountData(delegation.wei ?? 0n, ETHER),
    },
    runwayUnknown: null,
  }
}

/** Costs in wei of all calls with known charge and savings; the schema of `gastank status` explains each. */
export type CallSavings = Awaited<ReturnType<typeof callSavings>>

/** Sums charges and savings of all proven calls that went through the service. */
export async function callSavings(records: AsyncIterable<JournalRecord>) {
  const check = { calls: 0, fell: 0n, charged: 0n }
  // Output order.
  const amounts = { charged: 0n, saved: 0n, blob: 0n }
  const sums = { calls: 0, ...amounts, check, disputed: 0, unknown: 0, delegation: 0n }
  for await (const { event } of records) {
    if (delegationCharged.is(event)) sums.delegation += event.charged
    if (!callProven.is(event) || isDirect(event.execution.via)) continue
    const { costs } = event.execution
    const { charged, blob = 0n, fall } = costs
    const saved = savedOf(costs)
    if (charged === undefined || saved === undefined) {
      sums.unknown += 1
      continue
    }
    sums.calls += 1
    sums.charged += charged
    sums.saved += saved
    sums.blob += blob
    if (isDisputed(costs)) sums.disputed += 1
    if (fall === undefined) continue
    check.calls += 1
    check.fell += fall
    check.charged += charged
  }
  return sums
}

export function savingsData(savings: CallSavings): NonNullable<GastankStatusData['savings']> {
  const { check } = savings
  const ether = (wei: bigint): AmountData => amountData(wei, ETHER)
  return {
    ...savings,
    charged: ether(savings.charged),
    saved: ether(savings.saved),
    blob: ether(savings.blob),
    check: { calls: check.calls, fell: ether(check.fell), charged: ether(check.charged) },
    delegation: ether(savings.delegation),
  }
}

export function savingsText({ calls, charged, saved, blob, unknown }: CallSavings): string {
  if (calls === 0) return 'no call with known costs yet'
  const direct = charged + saved
  const rest = unknown === 0 ? '' : `; ${unknown} more with unknown costs`
  const blobs = blob === 0n ? '' : ` (${etherText(blob)} of it for blobs)`
  const tenths = direct <= 0n ? 0n : (saved * 1000n) / direct
  const verdict =
    saved > 0n
      ? `saved ${etherText(saved)}${direct <= 0n ? '' : ` (${tenths / 10n}.${tenths % 10n} %)`}`
      : `saved nothing${saved === 0n ? '' : `: ${etherText(-saved)} more than direct`}`
  return `${calls} calls for ${etherText(charged)}${blobs}, ${etherText(direct)} directly: ${verdict}${rest}`
}

export function checkText({ check, disputed }: CallSavings): string {
  if (check.calls === 0) return 'no call with a measured change of the balance'
  const fell = `the balance fell by ${etherText(check.fell)} for ${check.calls} of them`
  return disputed === 0
    ? `${fell}, as charged`
    : `${fell}, but ${etherText(check.charged)} was charged: ${disputed} differ`
}
