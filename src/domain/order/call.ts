import type { GasOffer } from '../money/gas.ts'
import type { Address, Hex } from '../money/units.ts'

/**
 * One owner-authorized call of a delegated account, as TrustlessProposer verifies it: all fields of its EIP-712 digest, and
 * the account. Source: the aggregation service's interface, EIP-712 type `Call`.
 */
export type AccountCall = {
  readonly chainId: number
  readonly account: Address
  /** In the signature's domain: the proposer's address or the account, as the delegated code reports. */
  readonly verifyingContract: Address
  readonly deadlineSeconds: number
  /** The account's `nestedNonce` that this call consumes. At most one live signature per value (rule A1). */
  readonly nonce: bigint
  readonly target: Address
  readonly value: bigint
  readonly calldata: Hex
  readonly gasLimit: bigint
}

/** The Ethereum transaction that carries a call to the service. Signing is deterministic, so it can be resent. */
type Envelope = GasOffer & {
  readonly to: Address
  readonly nonce: number
  readonly value: bigint
}

type CallRecordBase = Omit<AccountCall, 'verifyingContract' | 'deadlineSeconds' | 'nonce'> & {
  readonly attempt: number
  /** `<intentId>:<attempt>` */
  readonly clientOrderId: string
  /** A final block from before the record: a search begins here. Older records have the newest block. */
  readonly fromBlock: bigint
  readonly directGas: bigint
  /** Wei available for the account at the service before the call; undefined if not reported. */
  readonly availableWei: bigint | undefined
  readonly envelope: Envelope
}

/** A call as recorded before its signature may exist (rules A1, G2). */
export type TrustlessCall = CallRecordBase &
  AccountCall & { readonly trust: 'trustless'; readonly digest: Hex }

/** A call authorized only by the signed transaction around it. Nothing prevents a second execution. */
export type TrustedCall = CallRecordBase & { readonly trust: 'trusted' }

export type CallRecord = TrustlessCall | TrustedCall

export type DelegationDraft = GasOffer & {
  readonly chainId: number
  /** The account's new code; the zero address clears it. */
  readonly delegate: Address
  /** The authorization is valid once, at exactly this account nonce. */
  readonly authorizationNonce: number
  readonly nonce: number
}

export const PROPOSER_DOMAIN = { name: 'TrustlessProposer', version: '1' } as const

/** The used fields of the EIP-712 domain that a delegated account reports (ERC-5267). */
export type AnsweredDomain = {
  readonly name: string
  readonly version: string
  readonly chainId: bigint
  readonly verifyingContract: Address
  /** A salt or extensions define another domain, so the answer is rejected. */
  readonly hasExtras: boolean
}

/**
 * The contract that signatures must name: the proposer by the interface, or the account if the delegated code uses its own
 * address. Any other answer is refused; without an answer the interface applies.
 */
export function resolveVerifyingContract(query: {
  readonly answered: AnsweredDomain | undefined
  readonly chainId: number
  readonly proposer: Address
  readonly account: Address
}): Address | undefined {
  const { answered, chainId, proposer, account } = query
  if (answered === undefined) return proposer
  const isExpected =
    answered.name === PROPOSER_DOMAIN.name &&
    answered.version === PROPOSER_DOMAIN.version &&
    answered.chainId === BigInt(chainId) &&
    !answered.hasExtras
  const { verifyingContract } = answered
  const isAllowed = verifyingContract === proposer || verifyingContract === account
  return isExpected && isAllowed ? verifyingContract : undefined
}

const DELEGATION = /^0xef0100([0-9a-f]{40})$/

/** The target of an EIP-7702 delegation; undefined for any other code, or none. */
export function delegateOf(code: Hex): Address | undefined {
  const match = DELEGATION.exec(code.toLowerCase())
  return match === null ? undefined : `0x${match[1]}`
}
