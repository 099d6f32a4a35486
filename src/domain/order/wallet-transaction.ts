import type { Address, BaseUnits } from '../money/units.ts'
import type { GasTankMethods } from '../settings.ts'
import type { CallRecord } from './call.ts'

/**
 * The only wallet transactions that are ever signed (rule T1): receiver, data and value follow from these fields alone.
 * Amounts in base units, or wei.
 */
export type WalletTransaction =
  | {
      readonly type: 'approve'
      readonly token: Address
      readonly spender: Address
      readonly amount: bigint
    }
  | { readonly type: 'wrap' | 'unwrap'; readonly token: Address; readonly amount: bigint }
  | {
      readonly type: 'deposit'
      readonly gasTank: Address
      readonly methods: GasTankMethods
      readonly account: Address
      readonly amount: BaseUnits
    }
  /** Consumes its nonce, so no other transaction can use it. */
  | { readonly type: 'cancel'; readonly account: Address }
  /** The direct fallback: the account's own signed call sent to itself, or the bare call of a trusted one. */
  | { readonly type: 'call'; readonly call: CallRecord }
