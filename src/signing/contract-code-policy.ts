import type { PricePath } from '../domain/money/price.ts'
import type { Address } from '../domain/money/units.ts'
import {
  type CodeConflict,
  codeText,
  contractKey,
  pinText,
  proposerOf,
  type TrustedCode,
  workingHash,
} from '../domain/order/contract.ts'
import type { AggregatorSettings, GaslessSettings } from '../domain/settings.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'

/** Blocks signatures while the code of a contract that they depend on has changed without approval (rule T13). */

/** Contracts of a permit, including the spender once it is known. */
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

/** Contracts of a call besides its account: its target, and the service's contracts that the config uses. */
export function callContracts(settings: AggregatorSettings, target: Address): readonly Address[] {
  const { gasTank, multicall } = settings.contracts
  return [target, gasTank, multicall, proposerOf(settings)]
}

type CodeBar =
  | CodeConflict
  | {
      /** Blocks until an operator accepts it. */
      readonly reason: 'code-changed'
      readonly detail: string
    }

/** Reason not to sign anything that depends on these contracts; undefined if all have their recorded code. */
export function codeBar(
  { contracts }: Pick<DaemonState, 'contracts'>,
  { pins, conflict }: TrustedCode,
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
    const passing = conflict(chainId, address)
    if (passing !== undefined) return passing
  }
  return undefined
}
