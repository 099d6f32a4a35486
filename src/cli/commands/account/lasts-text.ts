import { etherWords } from '../../../domain/book/costs.ts'
import { ETHER } from '../../../domain/token.ts'
import type { GasRunway } from '../../../engine/gas-runway.ts'
import { amountData } from '../../amount-data.ts'
import { durationText, lastingText } from '../../describe.ts'
import type { GastankStatusData } from '../../json/account.ts'

const DAY_MS = 86_400_000

/** How long a deposit lasts, and what that assumes: `11h (1 call every 10m, 0.00041 ETH each)`. */
export function lastsText(runway: GasRunway | undefined): string {
  if (runway === undefined) return 'not known'
  if (runway.tag === 'idle') return 'no call is due'
  if (runway.tag === 'unknown')
    return `not known: nobody can tell what ${namesOf(runway)} costs yet`
  const { seconds, callsPerDay, perCall, isSimulated } = runway
  const lasts = seconds === undefined ? 'for every call to come' : lastingText(seconds)
  const each = `${etherWords(rough(perCall))} each${isSimulated ? ' by simulation' : ''}`
  return `${lasts} (${paceText(callsPerDay)}, ${each}${delegationText(runway)})`
}

/** Two digits, rounded up: more of an expectation would say too much. */
function rough(wei: bigint): bigint {
  const unit = 10n ** BigInt(Math.max(0, wei.toString().length - 2))
  return ((wei + unit - 1n) / unit) * unit
}

function namesOf({ strategies }: Extract<GasRunway, { tag: 'unknown' }>): string {
  return `a call of ${strategies.join(', ')}`
}

/** `17280 calls a day` says less than `1 call every 5s`. */
function paceText(callsPerDay: number): string {
  return `1 call every ${durationText(Math.round(DAY_MS / callsPerDay))}`
}

function delegationText({ delegation }: Extract<GasRunway, { tag: 'known' }>): string {
  const { isAwaited, wei } = delegation
  if (!isAwaited || wei === undefined) return ''
  return `, after ${etherWords(rough(wei))} for the delegation`
}

/** The same as data: amounts of ether, seconds, null where it is not known or nothing is due. */
export function runwayData({
  runway,
  unread,
}: {
  readonly runway: GasRunway | undefined
  readonly unread: string | undefined
}): Pick<GastankStatusData, 'runwaySeconds' | 'assumed' | 'runwayUnknown'> {
  if (runway?.tag !== 'known')
    return { runwaySeconds: null, assumed: null, runwayUnknown: unread ?? reasonOf(runway) }
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

function reasonOf(runway: GasRunway | undefined): string | null {
  return runway?.tag === 'idle' ? null : lastsText(runway)
}
