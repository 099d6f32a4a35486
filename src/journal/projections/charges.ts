import type { AccountCall } from '../../domain/order/call.ts'
import { isDirect } from '../../venues/call/call-projection.ts'
import type { Execution } from '../records.ts'
import type { DaemonState } from '../state/daemon-state.ts'

/** Charges kept per strategy: enough for an average, few enough to follow the gas price. */
const CHARGES_KEPT = 20

/** Books the service's charge for a call. Direct calls are not paid from the deposit. */
export function noteCharge(
  { charges }: Pick<DaemonState, 'charges'>,
  strategy: string,
  { via, costs: { charged } }: Pick<Execution, 'via' | 'costs'>,
): void {
  if (isDirect(via) || charged === undefined) return
  charges.set(strategy, [...(charges.get(strategy) ?? []), charged].slice(-CHARGES_KEPT))
}

/** Wei charged for the account's last delegation; undefined if unknown. */
export function delegationCharge(
  { delegationCharges }: Pick<DaemonState, 'delegationCharges'>,
  account: Account,
): bigint | undefined {
  return delegationCharges.get(delegationKey(account))
}

type Account = Pick<AccountCall, 'chainId' | 'account'>

export function delegationKey({ chainId, account }: Account): string {
  return `${chainId}:${account}`
}

/** Average charge of a strategy's call in wei, rounded up: from its own last charges, or else those of all strategies. */
export function averageCharge(
  { charges }: Pick<DaemonState, 'charges'>,
  strategy: string,
): { readonly wei: bigint; readonly from: 'own' | 'all' } | undefined {
  const own = charges.get(strategy) ?? []
  const all = own.length > 0 ? own : [...charges.values()].flat()
  if (all.length === 0) return undefined
  const sum = all.reduce((total, wei) => total + wei, 0n)
  const wei = (sum + BigInt(all.length) - 1n) / BigInt(all.length)
  return { wei, from: own.length > 0 ? 'own' : 'all' }
}
