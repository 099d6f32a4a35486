import { hashAuthorization, keccak256, serializeTransaction } from 'viem/utils'
import { type Hex, ZERO_ADDRESS } from '../../domain/money/units.ts'
import type { DelegationDraft } from '../../domain/order/call.ts'

export type SignatureParts = { readonly r: Hex; readonly s: Hex; readonly yParity: number }

export function signDelegation(
  sign: (digest: Hex) => SignatureParts,
  draft: DelegationDraft,
): { readonly raw: Hex; readonly hash: Hex } {
  const { chainId, delegate, authorizationNonce: nonce } = draft
  if (!Number.isSafeInteger(chainId) || chainId <= 0)
    throw new RangeError(`an authorization needs the id of one chain, not ${chainId}`)
  const authorization = { address: delegate, chainId, nonce }
  const authorizationList = [{ ...authorization, ...sign(hashAuthorization(authorization)) }]
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
  const raw = serializeTransaction(transaction, sign(keccak256(serializeTransaction(transaction))))
  return { raw, hash: keccak256(raw) }
}
