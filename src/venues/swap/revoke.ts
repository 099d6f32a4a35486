import type { Address } from '../../domain/money/units.ts'
import { payloadOf } from '../../signing/wallet-transactions.ts'
import type { SendingContext, WalletContext } from '../context.ts'
import { type TransactionOutcome, transactOnce } from '../wallet/transaction.ts'

/** Recorded like every wallet transaction. A pending approval is mined first, so that it cannot come later. */
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
