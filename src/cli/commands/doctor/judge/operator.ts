import type { AggregatorSettings } from '../../../../domain/settings.ts'
import type { Address } from '../../../../domain/units.ts'
import { availableOf, type GasTank } from '../../../../execute/account/deposit.ts'
import type { AggregatorReply, GasTankAccount } from '../../../../ports.ts'
import { type Check, fault, fine, warning } from '../check.ts'
import { etherText } from './trader.ts'

/** The account behind calls, as its chain and its service have it. */
export type OperatorFacts = {
  readonly account: Address
  readonly settings: Pick<AggregatorSettings, 'proposer' | 'fallback' | 'gasTank' | 'contracts'>
  /** Enabled strategies that make calls. */
  readonly callers: readonly string[]
  /** Why the account's code is not the config's proposer (rule A4); undefined where it is. */
  readonly delegation: { readonly reason: string; readonly detail?: string | undefined } | undefined
  /** Wei of its own, for what is sent directly. */
  readonly balance: bigint
  /** Undefined where nothing answers as a GasTank. */
  readonly tank: GasTank | undefined
  /** What the service says of the account; undefined where it was not asked. */
  readonly info: AggregatorReply<GasTankAccount> | undefined
}

/** Whether calls can be made and paid. What nobody needs is a warning. */
export function judgeOperator(facts: OperatorFacts): readonly Check[] {
  return [judgeDelegation(facts), ...judgeOwnEther(facts), ...judgeTank(facts)]
}

function badFor({ callers }: OperatorFacts): typeof fault {
  return callers.length > 0 ? fault : warning
}

function judgeDelegation(facts: OperatorFacts): Check {
  const { delegation, account, settings } = facts
  if (delegation === undefined)
    return fine(
      'operator-delegation',
      `the account behind calls is delegated to the ${settings.proposer} proposer`,
    )
  if (delegation.reason === 'not-delegated')
    return badFor(facts)(
      'operator-delegation',
      `the account behind calls has no code (${account})`,
      '`tranched delegation set`, while no daemon runs',
    )
  return fault(
    'operator-delegation',
    `the account behind calls has code that the config does not name (${account})`,
    'find out who set it: `tranched delegation status`; then `tranched delegation clear --direct`, or a new wallet',
  )
}

function judgeOwnEther({ balance, settings, account, callers }: OperatorFacts): readonly Check[] {
  if (balance > 0n)
    return [fine('operator-gas', `the account behind calls has ${etherText(balance)} of its own`)]
  if (callers.length === 0 || settings.fallback.mode === 'off') return []
  const says =
    'the account behind calls has no ether of its own: no call could be sent directly, nor a deposit'
  return [warning('operator-gas', says, `send some to ${account}, or \`fallback: { mode: off }\``)]
}

function judgeTank(facts: OperatorFacts): readonly Check[] {
  const { tank, info, settings } = facts
  if (tank === undefined)
    return [
      fault(
        'gastank-contract',
        `no GasTank answers at ${settings.contracts.gasTank}`,
        'correct `aggregator.contracts.gasTank`, or `aggregator.gasTank.methods`: ether that is sent elsewhere is lost',
      ),
    ]
  const contract = fine('gastank-contract', `the GasTank answers \`${tank.methods}\``)
  if (info === undefined) return [contract]
  if (!info.ok)
    return info.fault.tag === 'accountNotFound'
      ? [contract, judgeStranger(facts, tank)]
      : [contract]
  const known = fine('gastank-account', 'the service knows the account')
  return [contract, known, judgeAvailable(facts, availableOf(info.value))]
}

function judgeStranger(facts: OperatorFacts, { balance }: GasTank): Check {
  if (balance > 0n)
    return warning(
      'gastank-account',
      `the GasTank holds ${etherText(balance)} for the account, and the service does not know it yet`,
      'wait some minutes for its index: `tranched gastank status`',
    )
  return badFor(facts)(
    'gastank-account',
    'the service does not know the account: nothing is deposited',
    '`tranched gastank deposit 0.05 --yes`, while no daemon runs',
  )
}

function judgeAvailable(facts: OperatorFacts, available: bigint): Check {
  const { alertBelowWei, topUp } = facts.settings.gasTank
  const text = `the GasTank has ${etherText(available)} available`
  const isLow = available <= 0n || (alertBelowWei !== undefined && available < alertBelowWei)
  if (!isLow) return fine('gastank-funds', text)
  const least =
    alertBelowWei === undefined ? '' : `, less than \`alertBelow\` ${etherText(alertBelowWei)}`
  const remedy =
    topUp === undefined
      ? '`tranched gastank deposit 0.05 --yes`, while no daemon runs; or `aggregator.gasTank.topUp`'
      : 'a running daemon tops it up within `aggregator.gasTank.topUp`, where its wallet has the ether; else `tranched gastank deposit 0.05 --yes`'
  return badFor(facts)('gastank-funds', `${text}${least}`, remedy)
}
