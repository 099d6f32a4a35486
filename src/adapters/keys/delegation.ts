import { hashAuthorization, keccak256, serializeTransaction } from 'viem/utils'
import type { Address, Hex } from '../../domain/units.ts'
import type { Signer } from '../../ports.ts'

/** What a delegation is signed for. Amounts in wei. */
export type DelegationDraft = {
  /** The one chain that it holds on. */
  readonly chainId: number
  /** The code that the account is to have; the zero address clears it. */
  readonly delegate: Address
  /** Account nonces that an authorization is signed for, each good for one use at exactly that nonce. */
  readonly authorizationNonces: readonly number[]
  readonly nonce: number
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

const ZERO_ADDRESS: Address = `0x${'0'.repeat(40)}`

/**
 * A type-4 transaction to the zero address that carries the owner's authorizations (EIP-7702, the service's setup
 * rule 3). Deterministic. Throws for chain id 0: such an authorization would hold on every chain (rule A4).
 */
export function signDelegation(
  signer: Pick<Signer, 'signDigest'>,
  draft: DelegationDraft,
): { readonly raw: Hex; readonly hash: Hex } {
  const { chainId, delegate, authorizationNonces } = draft
  if (!Number.isSafeInteger(chainId) || chainId <= 0)
    throw new RangeError(`an authorization needs the id of one chain, not ${chainId}`)
  const authorizationList = authorizationNonces.map((nonce) => {
    const authorization = { address: delegate, chainId, nonce }
    return { ...authorization, ...signatureOf(signer, hashAuthorization(authorization)) }
  })
  const transaction = {
    type: 'eip7702',
    chainId,
    to: ZERO_ADDRESS,
    data: '0x',
    value: 0n,
    nonce: draft.nonce,
    gas: draft.gas,
    maxFeePerGas: draft.maxFeePerGas,
    maxPriorityFeePerGas: draft.maxPriorityFeePerGas,
    authorizationList,
  } as const
  const signature = signatureOf(signer, keccak256(serializeTransaction(transaction)))
  const raw = serializeTransaction(transaction, signature)
  return { raw, hash: keccak256(raw) }
}

/** The 65 bytes of a signature in the parts that transactions hold. */
function signatureOf(
  signer: Pick<Signer, 'signDigest'>,
  digest: Hex,
): { r: Hex; s: Hex; yParity: number } {
  const signature = signer.signDigest(digest)
  return {
    r: `0x${signature.slice(2, 66)}`,
    s: `0x${signature.slice(66, 130)}`,
    yParity: signature.endsWith('1c') ? 1 : 0,
  }
}
