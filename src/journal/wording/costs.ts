import { briefText } from '../../domain/money/amount-text.ts'
import { ETHER } from '../../domain/money/token.ts'
import type { CallCosts } from '../records.ts'

/** Wei saved by sharing against direct submission; negative if it cost more. Prefers the service's own figure. */
export function savedOf({ saved, charged, direct }: CallCosts): bigint | undefined {
  if (saved !== undefined) return saved
  return charged === undefined || direct === undefined ? undefined : direct - charged
}

/** Whether the account's funds fell by another amount than the service's reported charge. */
export function isDisputed({ charged, fall }: CallCosts): boolean {
  return charged !== undefined && fall !== undefined && charged !== fall
}

/** A call's cost in words; undefined if unknown. */
export function costText(costs: CallCosts): string | undefined {
  const { charged, blob = 0n, fall = 0n } = costs
  if (charged === undefined) return undefined
  const blobs = blob > 0n ? ` (${etherText(blob)} of it for blobs)` : ''
  const check = isDisputed(costs) ? `, although its funds fell by ${etherText(fall)}` : ''
  return `charged ${etherText(charged)}${blobs}${savedText(savedOf(costs))}${check}`
}

function savedText(saved: bigint | undefined): string {
  if (saved === undefined) return ''
  if (saved === 0n) return ', saved nothing against direct'
  return saved > 0n
    ? `, saved ${etherText(saved)} against direct`
    : `, cost more by ${etherText(-saved)} against direct`
}

export function etherText(wei: bigint): string {
  return briefText(wei, ETHER)
}
