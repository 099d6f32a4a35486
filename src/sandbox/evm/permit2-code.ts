import { domainSeparator, type Hex } from 'viem'
import { PERMIT_DOMAIN_NAME } from '../../domain/order/permit.ts'
import permit2Artifact from '../artifacts/permit2.json' with { type: 'json' }

/** The same address on every chain. */
export const PERMIT2_ADDRESS: Hex = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

export function permit2DomainSeparator(chainId: number): Hex {
  const verifyingContract = PERMIT2_ADDRESS
  return domainSeparator({ domain: { name: PERMIT_DOMAIN_NAME, chainId, verifyingContract } })
}

/**
 * Runtime code of the real Permit2 with its two immutables (chain id and domain separator) set for the chain. The published
 * code has the values of another chain.
 */
export function permit2Code(chainId: number): Hex {
  const code = Buffer.from(permit2Artifact.deployedBytecode.slice(2), 'hex')
  const { chainIdByte, domainSeparatorByte } = permit2Artifact.immutables
  code.write(chainId.toString(16).padStart(64, '0'), chainIdByte, 'hex')
  code.write(permit2DomainSeparator(chainId).slice(2), domainSeparatorByte, 'hex')
  return `0x${code.toString('hex')}`
}
