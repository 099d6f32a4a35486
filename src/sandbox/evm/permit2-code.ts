import { encodeAbiParameters, type Hex, keccak256, stringToHex } from 'viem'
import permit2Artifact from '../artifacts/permit2.json' with { type: 'json' }

/** Permit2's address on every chain. */
export const PERMIT2_ADDRESS: Hex = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

const DOMAIN_TYPE_HASH = keccak256(
  stringToHex('EIP712Domain(string name,uint256 chainId,address verifyingContract)'),
)
const NAME_HASH = keccak256(stringToHex('Permit2'))

/** Domain separator of Permit2 on a chain (EIP-712, domain without version). */
export function permit2DomainSeparator(chainId: number): Hex {
  return keccak256(
    encodeAbiParameters(
      [{ type: 'bytes32' }, { type: 'bytes32' }, { type: 'uint256' }, { type: 'address' }],
      [DOMAIN_TYPE_HASH, NAME_HASH, BigInt(chainId), PERMIT2_ADDRESS],
    ),
  )
}

/**
 * Runtime code of the real Permit2 with its two immutables (chain id and domain separator) written for the
 * given chain: the published code was built on another one and would recompute a foreign separator.
 */
export function permit2Code(chainId: number): Hex {
  const code = Buffer.from(permit2Artifact.deployedBytecode.slice(2), 'hex')
  const { chainIdByte, domainSeparatorByte } = permit2Artifact.immutables
  code.write(chainId.toString(16).padStart(64, '0'), chainIdByte, 'hex')
  code.write(permit2DomainSeparator(chainId).slice(2), domainSeparatorByte, 'hex')
  return `0x${code.toString('hex')}`
}
