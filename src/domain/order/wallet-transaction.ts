import type { CallRecord } from './call.ts'
import type { GasTankMethods } from './settings.ts'
import type { Address, BaseUnits } from './units.ts'

/**
 * What a transaction of our own wallet does. Nothing else is ever signed as one (rule T1): its receiver, data and value follow
 * from these words alone. Amounts in base units, or wei.
 */
export type Deed =
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
  /** Nothing, but its nonce is used up: what had it may not be signed again. */
  | { readonly type: 'cancel'; readonly account: Address }
  /** The direct fallback: the account's own signed call by a call to itself, or of a trusted one the bare call. */
  | { readonly type: 'call'; readonly call: CallRecord }
