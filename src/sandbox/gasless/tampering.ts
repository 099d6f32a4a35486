import type { Hex } from 'viem'
import type { Tampering } from '../faults.ts'
import { type OrderPermit, type TypedData, typedDataOf } from './permit.ts'

/** Where stolen money would go; nobody holds its key. */
export const THIEF: Hex = '0x000000000000000000000000000000000badf00d'

const LONG_SECONDS = 365 * 86_400

type Signed = { readonly permit: OrderPermit; readonly typedData: TypedData }

/** The permit and its typed data after each tampering in turn; unchanged if there is none. */
export function tamper(
  permit: OrderPermit,
  typedData: TypedData,
  kinds: readonly Tampering[],
  options: { listDomainType: boolean },
): Signed {
  if (kinds.length === 0) return { permit, typedData }
  const changed = kinds.reduce(tamperPermit, permit)
  const rebuilt = typedDataOf(changed, options)
  return {
    permit: changed,
    typedData: kinds.includes('extraTypeField') ? withExtraField(rebuilt) : rebuilt,
  }
}

function tamperPermit(permit: OrderPermit, kind: Tampering): OrderPermit {
  switch (kind) {
    case 'wrongSpender':
      return { ...permit, spender: THIEF }
    case 'wrongToken':
      return { ...permit, token: permit.tokenOut }
    case 'higherAmount':
      return { ...permit, amount: permit.amount * 2n }
    case 'foreignRecipient':
      return { ...permit, recipient: THIEF }
    case 'otherTokenOut':
      return { ...permit, tokenOut: permit.token }
    case 'lowerMinAmountOut':
      return { ...permit, minAmountOut: 1n }
    case 'longDeadline':
      return { ...permit, deadline: permit.deadline + LONG_SECONDS }
    case 'otherVerifyingContract':
      return { ...permit, permit2: THIEF }
    case 'otherChainId':
      return { ...permit, chainId: 1 }
    case 'extraTypeField':
    case 'badPrice':
      return permit
  }
}

function withExtraField(typedData: TypedData): TypedData {
  const { types, message } = typedData
  return {
    ...typedData,
    types: {
      ...types,
      OrderWitness: [...(types['OrderWitness'] ?? []), { name: 'approved', type: 'bool' }],
    },
    message: {
      ...message,
      witness: { ...(message['witness'] as Record<string, unknown>), approved: true },
    },
  }
}
