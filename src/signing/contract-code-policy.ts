import type { DaemonState } from '../../domain/book/state.ts'
import {
  type CodeDoubt,
  codeText,
  contractKey,
  pinText,
  proposerOf,
  type TrustedCode,
  workingHash,
} from '../../domain/contract.ts'
import type { PricePath } from '../../domain/price.ts'
import type { AggregatorSettings, GaslessSettings } from '../../domain/settings.ts'
import type { Address } from '../../domain/units.ts'
import { type Closing, refusal } from '../close.ts'
import type { OrderContext } from '../context.ts'
import { type Trouble, trouble } from '../patience.ts'

/** What signatures depend on does not change its code unseen (rule T13). */

/** What a permit depends on; of its spender only where one is named already. */
export function permitContracts(
  { permit2 }: Pick<GaslessSettings, 'permit2'>,
  {
    sell,
    buy,
    path = [],
    spender,
  }: {
    readonly sell: Address
    readonly buy: Address
    readonly path: PricePath | undefined
    readonly spender?: Address | undefined
  },
): readonly Address[] {
  const addresses = [permit2, sell, buy]
  if (spender !== undefined) addresses.push(spender)
  for (const { feed } of path) {
    addresses.push(feed.feed)
    if (feed.sequencerFeed !== undefined) addresses.push(feed.sequencerFeed)
  }
  return addresses
}

/** What a call depends on, beside its account: its target, and the service's own contracts that the config uses. */
export function callContracts(settings: AggregatorSettings, target: Address): readonly Address[] {
  const { gasTank, multicall } = settings.contracts
  return [target, gasTank, multicall, proposerOf(settings)]
}

export type CodeBar =
  | CodeDoubt
  | {
      /** Until an operator accepts it. */
      readonly reason: 'code-changed'
      readonly detail: string
    }

/** Why nothing may be signed that depends on these contracts; undefined where all have the code that they were seen with. */
export function codeBar(
  { contracts }: Pick<DaemonState, 'contracts'>,
  { pins, doubt }: TrustedCode,
  { chainId, addresses }: { readonly chainId: number; readonly addresses: readonly Address[] },
): CodeBar | undefined {
  for (const address of addresses) {
    const key = contractKey({ chainId, address })
    const known = contracts.get(key)
    if (known?.changed !== undefined)
      return {
        reason: 'code-changed',
        detail: `${known.name} (${address}) had ${codeText(known.code)}, and has ${codeText(known.changed.code)}: find out why, then \`tranched approve ${known.name}\``,
      }
    const pin = pins.get(key)
    if (known !== undefined && pin !== undefined && pin !== workingHash(known.code))
      return { reason: 'code-changed', detail: pinText(known.name, pin, workingHash(known.code)) }
    const passing = doubt(chainId, address)
    if (passing !== undefined) return passing
  }
  return undefined
}

/** The same for an order: a change ends it, and what is not certain yet is waited for. */
export function codeStep(
  { ports, trusted }: Pick<OrderContext, 'ports' | 'trusted'>,
  asked: { readonly chainId: number; readonly addresses: readonly Address[] },
): Closing | Trouble | undefined {
  const bar = codeBar(ports.journal.state, trusted, asked)
  if (bar === undefined) return undefined
  const { reason, detail } = bar
  return reason === 'code-changed' ? refusal(reason, detail) : trouble(reason, detail)
}
