import type { Address } from '../../domain/units.ts'
import { payloadOf } from '../authority/deeds.ts'
import type { SendingContext, WalletContext } from '../context.ts'
import { type TransactionOutcome, transactOnce } from '../transaction.ts'

/**
 * Takes away what Permit2 may spend of a token: a transaction of our own like every other, recorded before it is signed. An
 * approval that is under way is followed into a block first, so that it cannot come after.
 */
export function revokeAllowance(
  context: SendingContext,
  wallet: WalletContext,
  { token, permit2 }: { readonly token: Address; readonly permit2: Address },
): Promise<TransactionOutcome> {
  return transactOnce(context, wallet, {
    id: undefined,
    purpose: 'approve',
    intentId: undefined,
    isRevoking: true,
    ...payloadOf({ type: 'approve', token, spender: permit2, amount: 0n }),
  })
}
