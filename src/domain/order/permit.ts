import type { Worth } from '../money/price.ts'
import type { Address, BaseUnits, Hex, Ratio } from '../money/units.ts'

/**
 * One Permit2 `permitWitnessTransferFrom` authorization: all fields of its EIP-712 digest. Source: Permit2's
 * SignatureTransfer and the order witness of the gasless service.
 */
export type Permit = {
  readonly chainId: number
  readonly permit2: Address
  readonly owner: Address
  readonly token: Address
  readonly amount: BaseUnits
  readonly spender: Address
  readonly nonce: bigint
  readonly deadlineSeconds: number
  readonly recipient: Address
  readonly tokenOut: Address
  readonly minAmountOut: BaseUnits
}

/** Frozen EIP-712 types. Signatures are built from these alone, never from types received over the wire. */
export const PERMIT_TYPES = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'OrderWitness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  OrderWitness: [
    { name: 'recipient', type: 'address' },
    { name: 'tokenOut', type: 'address' },
    { name: 'minAmountOut', type: 'uint256' },
  ],
} as const

export const PERMIT_PRIMARY_TYPE = 'PermitWitnessTransferFrom'
export const PERMIT_DOMAIN_NAME = 'Permit2'
export const WITNESS_TYPE_STRING =
  'OrderWitness witness)OrderWitness(address recipient,address tokenOut,uint256 minAmountOut)TokenPermissions(address token,uint256 amount)'

/** A permit as recorded before its signature may exist (rule G2). */
export type PermitRecord = Permit & {
  readonly attempt: number
  readonly clientOrderId: string
  readonly quoteId: string
  readonly digest: Hex
  /** A final block from before the record: a search for its fill begins here. Older records have the newest block. */
  readonly fromBlock: bigint
  /** Feed price in the newest block when it was recorded, sell base units per buy base unit; undefined without one, and in older records. */
  readonly feed?: Ratio | undefined
  /** Value of the sold token then; undefined without one, if either token is the value token, and in older records. */
  readonly worth?: Worth | undefined
  /** The service's fee by the quote, in sell base units, included in the price. Absent in older records. */
  readonly fee?: BaseUnits | undefined
}
