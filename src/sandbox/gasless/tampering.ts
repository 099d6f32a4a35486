import type { Hex } from 'viem'
import type { Tampering } from '../faults.ts'
import { type OrderPermit, type TypedData, typedDataOf } from './permit.ts'

/** Recipient of stolen funds. No key for this address exists. */
export const THIEF: Hex = '0x000000000000000000000000000000000badf00d'

const LONG_SECONDS = 365 * 86_400

/** Applies each tampering in turn to the permit and its typed data. */
export function tamper(
  permit: OrderPermit,
  typedData: TypedData,
  kinds: readonly Tampering[],
  options: { listDomainType: boolean },
) {
  if (kinds.length === 0) return { permit, typedData }
  let changed = permit
  for (const kind of kinds) changed = { ...changed, ...CHANGES[kind](changed) }
  const rebuilt = typedDataOf(changed, options)
  return {
    permit: changed,
    typedData: kinds.includes('extraTypeField') ? withExtraField(rebuilt) : rebuilt,
  }
}

const CHANGES: Readonly<Record<Tampering, (permit: OrderPermit) => Partial<OrderPermit>>> = {
  wrongSpender: () => ({ spender: THIEF }),
  wrongToken: ({ tokenOut: token }) => ({ token }),
  higherAmount: ({ amount }) => ({ amount: amount * 2n }),
  foreignRecipient: () => ({ recipient: THIEF }),
  otherTokenOut: ({ token: tokenOut }) => ({ tokenOut }),
  lowerMinAmountOut: () => ({ minAmountOut: 1n }),
  longDeadline: ({ deadline }) => ({ deadline: deadline + LONG_SECONDS }),
  otherVerifyingContract: () => ({ permit2: THIEF }),
  otherChainId: () => ({ chainId: 1 }),
  // These two change the typed data and the amounts, not the permit.
  extraTypeField: () => ({}),
  badPrice: () => ({}),
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
