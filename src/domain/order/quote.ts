import type { Address, BaseUnits } from './units.ts'

export type TokenInfo = {
  readonly address: Address
  readonly symbol: string
  readonly name: string
  readonly decimals: number
}

/** What is asked of the service. Amounts in base units. */
export type QuoteRequest = {
  readonly from: Address
  readonly receiver: Address
  readonly sellToken: Address
  readonly buyToken: Address
  readonly size: { readonly side: 'sell' | 'buy'; readonly amount: BaseUnits }
  readonly slippageBps: number
}

/** A quote as received and parsed, not yet believed: `execute/authority/verify.ts` decides whether it may be signed. */
export type Quote = {
  readonly id: string
  readonly from: Address
  readonly expirationMs: number
  readonly sellToken: Address
  readonly buyToken: Address
  readonly receiver: Address | undefined
  readonly sellAmount: BaseUnits
  readonly buyAmount: BaseUnits
  /** Undefined where the service leaves it to the permit's witness. */
  readonly minBuyAmount: BaseUnits | undefined
  readonly validToSeconds: number
  readonly feeAmount: BaseUnits
  readonly side: 'sell' | 'buy'
  readonly allowanceTarget: Address
  readonly spender: Address
  readonly typedData: Readonly<Record<string, unknown>>
  /** What the service says of the witness type: noted, never used. Undefined where it is no text. */
  readonly witnessTypeString: string | undefined
}

export type OrderStatus = 'pending' | 'filled' | 'failed' | 'expired'

export type ServiceOrder = {
  readonly orderId: string
  readonly quoteId: string
  readonly status: OrderStatus
  readonly txHash: `0x${string}` | undefined
  readonly error: { readonly code: string; readonly message: string } | undefined
}

/**
 * Why a service call brought no usable answer. `unavailable` (5xx, silence, a broken connection, an unreadable
 * body) says nothing about whether the request took effect.
 */
export type ServiceFault =
  | { readonly tag: 'rateLimited'; readonly retryAfterMs: number; readonly message: string }
  | { readonly tag: 'badRequest'; readonly message: string }
  | { readonly tag: 'notFound'; readonly message: string }
  | { readonly tag: 'unavailable'; readonly message: string }
  /**
   * Under our clientOrderId the service holds an order of another quote, which we did not place as far as we know: the state is
   * not what it was, or somebody else uses the wallet (rule T4).
   */
  | { readonly tag: 'foreignOrder'; readonly message: string }

export type Reply<Value, Fault = ServiceFault> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly fault: Fault }
