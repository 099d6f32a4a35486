import type { Address, BaseUnits } from '../money/units.ts'

export type TokenInfo = {
  readonly address: Address
  readonly symbol: string
  readonly name: string
  readonly decimals: number
}

/** Amounts in base units. */
export type QuoteRequest = {
  readonly from: Address
  readonly receiver: Address
  readonly sellToken: Address
  readonly buyToken: Address
  readonly size: { readonly side: 'sell' | 'buy'; readonly amount: BaseUnits }
  readonly slippageBps: number
}

/** A parsed but untrusted quote: `signing/verify.ts` decides whether it may be signed. */
export type Quote = {
  readonly id: string
  readonly from: Address
  readonly expirationMs: number
  readonly sellToken: Address
  readonly buyToken: Address
  readonly receiver: Address | undefined
  readonly sellAmount: BaseUnits
  readonly buyAmount: BaseUnits
  /** Undefined if only the permit's witness has it. */
  readonly minBuyAmount: BaseUnits | undefined
  readonly validToSeconds: number
  readonly feeAmount: BaseUnits
  readonly side: 'sell' | 'buy'
  readonly allowanceTarget: Address
  readonly spender: Address
  readonly typedData: Readonly<Record<string, unknown>>
  /** The service's witness type: recorded, never used. Undefined if it is not text. */
  readonly witnessTypeString: string | undefined
}

type OrderStatus = 'pending' | 'filled' | 'failed' | 'expired'

export type ServiceOrder = {
  readonly orderId: string
  readonly quoteId: string
  readonly status: OrderStatus
  readonly txHash: `0x${string}` | undefined
  readonly error: { readonly code: string; readonly message: string } | undefined
}

/**
 * Why a service call has no usable answer. `unavailable` (5xx, timeout, broken connection, unreadable body) says nothing
 * about whether the request took effect.
 */
export type ServiceFault =
  | { readonly tag: 'rateLimited'; readonly retryAfterMs: number; readonly message: string }
  | { readonly tag: 'badRequest'; readonly message: string }
  | { readonly tag: 'notFound'; readonly message: string }
  | { readonly tag: 'unavailable'; readonly message: string }
  /** An unknown order under our clientOrderId: the state was rolled back, or another process uses the wallet (rule T4). */
  | { readonly tag: 'foreignOrder'; readonly message: string }

export type Reply<Value, Fault = ServiceFault> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly fault: Fault }
