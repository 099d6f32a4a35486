import { concatHex, encodeAbiParameters, keccak256, toHex } from 'viem/utils'
import { PERMIT_DOMAIN_NAME, type Permit } from '../../domain/permit.ts'
import type { Address, Hex } from '../../domain/units.ts'

/**
 * EIP-712 digests of permits with every constant part hashed once. Produces what a general EIP-712 library does
 * for `PERMIT_TYPES` (a test holds it to that), at a tenth of the cost.
 */

const text = (value: string): Hex => keccak256(toHex(value))

const TOKEN_PERMISSIONS = 'TokenPermissions(address token,uint256 amount)'
const ORDER_WITNESS = 'OrderWitness(address recipient,address tokenOut,uint256 minAmountOut)'
const PERMIT_TYPE_HASH = text(
  `PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,OrderWitness witness)${ORDER_WITNESS}${TOKEN_PERMISSIONS}`,
)
const TOKEN_PERMISSIONS_TYPE_HASH = text(TOKEN_PERMISSIONS)
const ORDER_WITNESS_TYPE_HASH = text(ORDER_WITNESS)
const DOMAIN_TYPE_HASH = text('EIP712Domain(string name,uint256 chainId,address verifyingContract)')
const DOMAIN_NAME_HASH = text(PERMIT_DOMAIN_NAME)

const word = (value: bigint): string => value.toString(16).padStart(64, '0')
const addressWord = (address: Address): string => address.slice(2).padStart(64, '0')

/** EIP-712 domain separator of a Permit2 deployment. */
export function permit2DomainSeparator(chainId: number, permit2: Address): Hex {
  return keccak256(
    encodeAbiParameters(
      [{ type: 'bytes32' }, { type: 'bytes32' }, { type: 'uint256' }, { type: 'address' }],
      [DOMAIN_TYPE_HASH, DOMAIN_NAME_HASH, BigInt(chainId), permit2],
    ),
  )
}

/** Digests kept, a kilobyte each: more than there are permits on the way from the firewall to the signer. */
const KEPT = 256

/**
 * A hasher bound to one Permit2 deployment. `hash` gives the 32-byte digest that the owner signs. Firewall and signer both hash
 * what they hold; where those are equal, field by field, the second finds what the first has worked out.
 */
export function createPermitHasher(domain: { chainId: number; permit2: Address }): {
  hash(permit: Permit): Hex
} {
  const prefix = concatHex(['0x1901', permit2DomainSeparator(domain.chainId, domain.permit2)])
  /** By everything that is hashed, written out: two permits share a digest only if nothing of it differs. Oldest first. */
  const digests = new Map<string, Hex>()
  return {
    hash(permit) {
      if (permit.chainId !== domain.chainId || permit.permit2 !== domain.permit2)
        throw new RangeError('permit belongs to another Permit2 deployment')
      const words = wordsOf(permit)
      const fields = words.join(' ')
      const known = digests.get(fields)
      if (known !== undefined) return known
      const digest = digestOf(prefix, words)
      const [oldest] = digests.size >= KEPT ? digests.keys() : []
      if (oldest !== undefined) digests.delete(oldest)
      digests.set(fields, digest)
      return digest
    },
  }
}

type PermitWords = readonly [permitted: string, middle: string, witness: string]

function wordsOf(permit: Permit): PermitWords {
  return [
    `${addressWord(permit.token)}${word(permit.amount)}`,
    `${addressWord(permit.spender)}${word(permit.nonce)}${word(BigInt(permit.deadlineSeconds))}`,
    `${addressWord(permit.recipient)}${addressWord(permit.tokenOut)}${word(permit.minAmountOut)}`,
  ]
}

function digestOf(prefix: Hex, [permitted, middle, witness]: PermitWords): Hex {
  const permittedHash = hashText(`${TOKEN_PERMISSIONS_TYPE_HASH}${permitted}`)
  const witnessHash = hashText(`${ORDER_WITNESS_TYPE_HASH}${witness}`)
  const struct = hashText(`${PERMIT_TYPE_HASH}${permittedHash}${middle}${witnessHash}`)
  return `0x${hashText(`${prefix}${struct}`)}`
}

/** keccak256 of hex text, without 0x. Bytes in and out: the library's own conversions of hex cost as much as the hash. */
function hashText(text: string): string {
  return Buffer.from(keccak256(Buffer.from(text.slice(2), 'hex'), 'bytes')).toString('hex')
}
