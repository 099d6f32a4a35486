import { zeroAddress } from 'viem'
import type { AggregatorSettings } from '../../options.ts'
import type { AccountCode } from '../chain/aggregator-chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import { trustedWork, type Work } from './calls.ts'
import {
  asksForDelegation,
  isOnCall,
  type RawTransaction,
  readSignedCall,
} from './raw-transaction.ts'

/** How to execute a transaction, or the reason to refuse it. */
type Classified = Work | { readonly kind: 'refused'; readonly reason: string }

type Network = Pick<AggregatorSettings, 'chainId' | 'gasLimit'> & {
  readonly contracts: AggregatorContracts
}

type Sender = { readonly code: AccountCode; readonly nonce: number }

const GAS_MAX = 10_000_000n
/** Gas for the TrustlessProposer's own checks, when the owner's limit excludes them. */
const VERIFICATION_GAS = 150_000n

/**
 * Sorts a transaction by its content and by its sender's delegation. Broadcasts unchanged one that cannot be batched;
 * refuses one that would certainly fail.
 */
export function classify(
  transaction: RawTransaction,
  sender: Sender,
  network: Network,
): Classified {
  const { chainId, nonce, gas } = transaction
  if (chainId !== network.chainId) return refused(`invalid chain id ${chainId ?? 'none'}`)
  if (gas > GAS_MAX) return refused(`gas limit above ${GAS_MAX}`)
  if (!transaction.hasItsBlobs) return refused('the blobs do not match their versioned hashes')
  // A sponsored authorization uses its own nonce, so the nonce of the transaction around it does not matter.
  if (asksForDelegation(transaction)) return delegation(transaction, sender, network)
  if (nonce < sender.nonce)
    return refused(`nonce too low: ${nonce}, the account is at ${sender.nonce}`)
  const useless = uselessAuthorization(transaction)
  if (useless !== undefined) return refused(useless)
  if (asksForSignedCall(transaction, sender, network))
    return trustless(transaction, sender, network)
  const isTrusted = isDelegatedTo(sender, network.contracts.trustedProposer)
  return isTrusted ? trusted(transaction) : { kind: 'direct' }
}

function delegation(
  transaction: RawTransaction,
  sender: Sender,
  { chainId, contracts }: Network,
): Classified {
  const [authorization, ...others] = transaction.authorizations
  if (authorization === undefined || others.length > 0)
    return refused('exactly one authorization is sponsored at a time')
  if (authorization.signer !== transaction.sender)
    return refused('the authorization is not signed by the sender of the transaction')
  if (authorization.chainId !== 0 && authorization.chainId !== chainId)
    return refused('the authorization is for another chain')
  const known = [contracts.trustedProposer, contracts.trustlessProposer, zeroAddress]
  if (!known.some((address) => address.toLowerCase() === authorization.delegate))
    return refused('the authorization names no proposer of this service')
  if (authorization.nonce === sender.nonce) return { kind: 'delegation', authorization }
  // The authorization is for the account's own transaction, and is valid only in this one.
  const isForOwn = authorization.nonce === transaction.nonce + 1
  return isForOwn
    ? { kind: 'direct' }
    : refused(`authorization nonce ${authorization.nonce}, the account is at ${sender.nonce}`)
}

/** Why an authorization would have no effect. The sender's nonce is one higher when its own is applied. */
function uselessAuthorization({ type, chainId, authorizations, sender, nonce }: RawTransaction) {
  if (type === 'eip7702' && authorizations.length === 0)
    return 'a set-code transaction needs an authorization'
  const own = authorizations.filter(({ signer }) => signer === sender)
  if (own.some((each) => each.chainId !== 0 && each.chainId !== chainId))
    return "the sender's authorization is for another chain"
  const spent = own.find((each) => each.nonce !== nonce + 1)
  if (spent === undefined) return undefined
  const way =
    spent.nonce === nonce
      ? ': send it to the zero address, and the service delegates the account'
      : ''
  return `the sender's authorization has nonce ${spent.nonce}, and works with ${nonce + 1} in this transaction${way}`
}

/**
 * Whether the transaction is a signed call. Its recipient is the TrustlessProposer, or the account itself, which works as
 * well.
 */
function asksForSignedCall(
  transaction: RawTransaction,
  sender: Sender,
  { contracts }: Network,
): boolean {
  const { to, data } = transaction
  if (to === contracts.trustlessProposer.toLowerCase()) return true
  if (to !== transaction.sender || transaction.authorizations.length > 0) return false
  // Without the proposer's code such a call would do nothing, or something that is not signed.
  const isTrustless = isDelegatedTo(sender, contracts.trustlessProposer)
  return isTrustless ? isOnCall(data) : readSignedCall(data) !== undefined
}

function trustless(transaction: RawTransaction, sender: Sender, network: Network): Classified {
  if (!isDelegatedTo(sender, network.contracts.trustlessProposer))
    return refused('the account is not delegated to the TrustlessProposer')
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
    gasLimit: signed.gasLimit + (network.gasLimit === 'whole' ? 0n : VERIFICATION_GAS),
    blobGas: transaction.blobGas,
    direct: { to: signed.target, data: signed.callData, value: signed.value },
    nonce: signed.nonce,
    deadline: signed.deadline,
  }
}

function trusted(transaction: RawTransaction): Classified {
  const { to, data, value } = transaction
  if (to === undefined || cannotShare(transaction)) return { kind: 'direct' }
  return trustedWork({ to, data, value }, transaction)
}

/** Authorizations are valid only in the transaction that carries them. A batch takes blobs with an `onCall`. */
function cannotShare({ blobGas, authorizations, to, sender, data }: RawTransaction): boolean {
  return authorizations.length > 0 || (blobGas > 0n && !(to === sender && isOnCall(data)))
}

function isDelegatedTo({ code }: Sender, address: string): boolean {
  return code.kind === 'delegated' && code.to === address.toLowerCase()
}

function refused(reason: string): Classified {
  return { kind: 'refused', reason }
}
