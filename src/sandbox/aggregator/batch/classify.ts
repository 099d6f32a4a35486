import { zeroAddress } from 'viem'
import type { AccountCode } from '../chain/chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import { AGGREGATOR_CHAIN_ID } from '../settings.ts'
import type { Work } from './calls.ts'
import { asksForDelegation, type RawTransaction, readSignedCall } from './raw-transaction.ts'

/** What is to be done with a transaction, or why nothing is. */
export type Classified = Work | { readonly kind: 'refused'; readonly reason: string }

type Sender = { readonly code: AccountCode; readonly nonce: number }

const GAS_MAX = 10_000_000n
/** What the TrustlessProposer needs for its own checks, over the gas that the owner allows to the call. */
const VERIFICATION_GAS = 150_000n

/**
 * Sorts a transaction by what it asks for and by what its sender is delegated to. A transaction that has no place
 * in a batch is submitted as it is; one that could only fail is refused.
 */
export function classify(
  transaction: RawTransaction,
  sender: Sender,
  contracts: AggregatorContracts,
): Classified {
  const { chainId, nonce, gas } = transaction
  if (chainId !== AGGREGATOR_CHAIN_ID) return refused(`invalid chain id ${chainId ?? 'none'}`)
  if (nonce < sender.nonce)
    return refused(`nonce too low: ${nonce}, the account is at ${sender.nonce}`)
  if (gas > GAS_MAX) return refused(`gas limit above ${GAS_MAX}`)
  if (asksForDelegation(transaction)) return delegation(transaction, sender, contracts)
  if (isAddressedTo(transaction, contracts.trustlessProposer)) {
    return trustless(transaction, sender, contracts)
  }
  const isTrusted = isDelegatedTo(sender, contracts.trustedProposer)
  return isTrusted ? trusted(transaction) : { kind: 'direct' }
}

function delegation(
  transaction: RawTransaction,
  sender: Sender,
  contracts: AggregatorContracts,
): Classified {
  const [authorization, ...others] = transaction.authorizations
  if (authorization === undefined || others.length > 0) {
    return refused('exactly one authorization is sponsored at a time')
  }
  if (authorization.signer !== transaction.sender) {
    return refused('the authorization is not signed by the sender of the transaction')
  }
  if (authorization.chainId !== 0 && authorization.chainId !== AGGREGATOR_CHAIN_ID) {
    return refused('the authorization is for another chain')
  }
  const known = [contracts.trustedProposer, contracts.trustlessProposer, zeroAddress]
  if (!known.some((address) => address.toLowerCase() === authorization.delegate)) {
    return refused('the authorization names no proposer of this service')
  }
  if (authorization.nonce === sender.nonce) return { kind: 'delegation', authorization }
  // Signed for a transaction that the account sends itself: only that very transaction makes it valid.
  const isForOwn = authorization.nonce === sender.nonce + 1 && transaction.nonce === sender.nonce
  return isForOwn
    ? { kind: 'direct' }
    : refused(`authorization nonce ${authorization.nonce}, the account is at ${sender.nonce}`)
}

function trustless(
  transaction: RawTransaction,
  sender: Sender,
  contracts: AggregatorContracts,
): Classified {
  if (!isDelegatedTo(sender, contracts.trustlessProposer)) {
    return refused('the account is not delegated to the TrustlessProposer')
  }
  const signed = readSignedCall(transaction.data)
  if (signed === undefined) return refused('not the calldata of onCall with a signed call')
  if (signed.gasLimit > GAS_MAX) return refused(`gas limit above ${GAS_MAX}`)
  if (transaction.value !== 0n) return refused('the value belongs into onCall')
  return {
    kind: 'aggregated',
    proposer: 'trustless',
    target: signed.target,
    data: signed.payload,
    value: signed.value,
    gasLimit: signed.gasLimit + VERIFICATION_GAS,
    direct: { to: signed.target, data: signed.callData, value: signed.value },
    nonce: signed.nonce,
    deadline: signed.deadline,
  }
}

function trusted(transaction: RawTransaction): Classified {
  const { to, data, value, gas, nonce } = transaction
  const cannotShare =
    to === undefined || transaction.carriesBlobs || transaction.authorizations.length > 0
  if (cannotShare) return { kind: 'direct' }
  return {
    kind: 'aggregated',
    proposer: 'trusted',
    target: to,
    data,
    value,
    gasLimit: gas,
    direct: { to, data, value },
    nonce: BigInt(nonce),
    deadline: undefined,
  }
}

function isAddressedTo({ to }: RawTransaction, address: string): boolean {
  return to === address.toLowerCase()
}

function isDelegatedTo({ code }: Sender, address: string): boolean {
  return code.kind === 'delegated' && code.to === address.toLowerCase()
}

function refused(reason: string): Classified {
  return { kind: 'refused', reason }
}
