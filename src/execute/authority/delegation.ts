import { delegateOf } from '../../domain/call.ts'
import { proposerOf } from '../../domain/contract.ts'
import type { AggregatorSettings } from '../../domain/settings.ts'
import { type Address, ZERO_ADDRESS } from '../../domain/units.ts'
import type { AccountView } from '../../ports.ts'
import { type Closing, refusal } from '../close.ts'
import type { AggregatorContext } from '../context.ts'

/** Authorizing this address takes the code away. */
export const NO_DELEGATE = ZERO_ADDRESS

/** Which of the config's proposers it is. */
export function nameOfDelegate(
  delegate: Address,
  { contracts }: AggregatorSettings,
): 'trustless' | 'trusted' | undefined {
  if (delegate === contracts.trustlessProposer) return 'trustless'
  return delegate === contracts.trustedProposer ? 'trusted' : undefined
}

/** Why nothing may be submitted for the account: only the operator's own proposer may stand behind it (rule A4). */
export function delegationRefusal(
  aggregator: AggregatorContext,
  view: Pick<AccountView, 'code'>,
): Closing | undefined {
  if (view.code === '0x')
    return refusal('not-delegated', 'run `tranched delegation set` for the account')
  if (delegateOf(view.code) === proposerOf(aggregator.settings)) return undefined
  const { proposer } = aggregator.settings
  return refusal('foreign-delegation', `the account's code is not the ${proposer} proposer's`)
}
