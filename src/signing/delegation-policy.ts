import { type Address, ZERO_ADDRESS } from '../domain/money/units.ts'
import type { AggregatorSettings } from '../domain/settings.ts'

/** Delegating to this address removes the code. */
export const NO_DELEGATE = ZERO_ADDRESS

export function nameOfDelegate(
  delegate: Address,
  { contracts }: AggregatorSettings,
): 'trustless' | 'trusted' | undefined {
  if (delegate === contracts.trustlessProposer) return 'trustless'
  return delegate === contracts.trustedProposer ? 'trusted' : undefined
}
