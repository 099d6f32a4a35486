import type { Address, Hex } from './units.ts'

/**
 * One owner-authorized call of a delegated account, as TrustlessProposer verifies it: everything its EIP-712 digest
 * is made of, and the account it acts for. Source: the aggregation service's interface, EIP-712 type `Call`.
 */
export type AccountCall = {
  readonly chainId: number
  readonly account: Address
  /** What the signature's domain names: the proposer's own address or the account, as the delegated code answers. */
  readonly verifyingContract: Address
  readonly deadlineSeconds: number
  /** The account's `nestedNonce` that this call uses up. At most one live signature per value (rule A1). */
  readonly nonce: bigint
  readonly target: Address
  readonly value: bigint
  readonly calldata: Hex
  readonly gasLimit: bigint
}

/** The Ethereum transaction that carries a call to the service. Signing is deterministic, so it can be sent again. */
export type Envelope = {
  readonly to: Address
  readonly nonce: number
  readonly gas: bigint
  readonly value: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

type CallRecordBase = {
  readonly attempt: number
  /** `<intentId>:<attempt>` */
  readonly clientOrderId: string
  readonly chainId: number
  readonly account: Address
  readonly target: Address
  readonly value: bigint
  readonly calldata: Hex
  readonly gasLimit: bigint
  /** A final block from before it was recorded: where a search for it begins. Older records have the newest block. */
  readonly fromBlock: bigint
  /** Gas of the call sent directly, as simulated. */
  readonly directGas: bigint
  /** What the service had for the account, in wei, before the call. Undefined where it did not say. */
  readonly availableWei: bigint | undefined
  readonly envelope: Envelope
}

/** A call as recorded before its signature may exist (rules A1, G2). */
export type TrustlessCall = CallRecordBase &
  AccountCall & { readonly trust: 'trustless'; readonly digest: Hex }

/** A call whose only authority is the signed transaction around it. Nothing guards it against a second execution. */
export type TrustedCall = CallRecordBase & { readonly trust: 'trusted' }

export type CallRecord = TrustlessCall | TrustedCall

/** What an EIP-7702 delegation is signed for. Amounts in wei. */
export type DelegationDraft = {
  /** The one chain that it holds on. */
  readonly chainId: number
  /** The code that the account is to have; the zero address clears it. */
  readonly delegate: Address
  /** Account nonce that the authorization is signed for: it is good for one use at exactly that nonce. */
  readonly authorizationNonce: number
  readonly nonce: number
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

export const CALL_PRIMARY_TYPE = 'Call'
/** Frozen EIP-712 types of a call. */
export const CALL_TYPES = {
  Call: [
    { name: 'deadline', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'target', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'calldata', type: 'bytes' },
    { name: 'gasLimit', type: 'uint256' },
  ],
} as const

export const PROPOSER_DOMAIN = { name: 'TrustlessProposer', version: '1' } as const

/** The EIP-712 domain that a delegated account answers for itself (ERC-5267), as far as it is used. */
export type AnsweredDomain = {
  readonly name: string
  readonly version: string
  readonly chainId: bigint
  readonly verifyingContract: Address
  /** A salt or extensions would make another domain: then the answer is not accepted. */
  readonly hasExtras: boolean
}

/**
 * The contract that signatures must name. The interface says the proposer; code that computes its domain with its own
 * address answers the account. Anything else is refused; no answer at all means what the interface says.
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

/** The code that an EIP-7702 delegation points to; undefined for any other code, or none. */
export function delegateOf(code: Hex): Address | undefined {
  const match = DELEGATION.exec(code.toLowerCase())
  return match === null ? undefined : `0x${match[1]}`
}
