import { type Hex, hashTypedData } from 'viem'
import { PERMIT_DOMAIN_NAME, PERMIT_PRIMARY_TYPE, PERMIT_TYPES } from '../../domain/order/permit.ts'
import { type Parity, recoverAddress } from '../evm/recover.ts'

/** The fields of a Permit2 witness transfer. The deadline is in Unix seconds. */
export type OrderPermit = {
  readonly chainId: number
  readonly permit2: Hex
  readonly token: Hex
  readonly amount: bigint
  readonly spender: Hex
  readonly nonce: bigint
  readonly deadline: number
  readonly recipient: Hex
  readonly tokenOut: Hex
  readonly minAmountOut: bigint
}

export type TypedData = {
  readonly domain: Readonly<Record<string, unknown>>
  readonly primaryType: string
  readonly types: Readonly<Record<string, readonly { name: string; type: string }[]>>
  readonly message: Readonly<Record<string, unknown>>
}

const DOMAIN_TYPES = {
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
}

/** EIP-712 payload of a permit. uint256 fields are decimal text; the chain id is a JSON number. */
export function typedDataOf(permit: OrderPermit, options: { listDomainType: boolean }): TypedData {
  return {
    domain: {
      name: PERMIT_DOMAIN_NAME,
      chainId: permit.chainId,
      verifyingContract: permit.permit2,
    },
    primaryType: PERMIT_PRIMARY_TYPE,
    types: options.listDomainType ? { ...DOMAIN_TYPES, ...PERMIT_TYPES } : PERMIT_TYPES,
    message: {
      permitted: { token: permit.token, amount: permit.amount.toString() },
      spender: permit.spender,
      nonce: permit.nonce.toString(),
      deadline: permit.deadline.toString(),
      witness: {
        recipient: permit.recipient,
        tokenOut: permit.tokenOut,
        minAmountOut: permit.minAmountOut.toString(),
      },
    },
  }
}

export function digestOf(typedData: TypedData): Hex {
  return hashTypedData(typedData as unknown as Parameters<typeof hashTypedData>[0])
}

const COMPACT_BYTES = 64
const FULL_BYTES = 65

/**
 * Lower-case address of the signer; undefined for an invalid signature. Accepts the forms that Permit2 accepts: 65 bytes
 * with v 27 or 28, and 64 bytes with the parity in the top bit of s (ERC-2098).
 */
export function recoverSigner(digest: Hex, signature: Hex): Hex | undefined {
  if (signature.length % 2 !== 0) return undefined
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const parity = parityOf(bytes)
  if (parity === undefined) return undefined
  const compact = new Uint8Array(bytes.subarray(0, COMPACT_BYTES))
  if (bytes.length === COMPACT_BYTES) compact[32] = (compact[32] ?? 0) & 0x7f
  return recoverAddress(digest, compact, parity)
}

function parityOf(bytes: Uint8Array): Parity | undefined {
  if (bytes.length === COMPACT_BYTES) return ((bytes[32] ?? 0) & 0x80) === 0 ? 0 : 1
  if (bytes.length !== FULL_BYTES) return undefined
  if (bytes[64] === 27) return 0
  return bytes[64] === 28 ? 1 : undefined
}
