import * as z from 'zod'
import { GASLESS_CHAIN_ID } from '../../../domain/money/token.ts'
import { type Address, type BaseUnits, baseUnits, type Hex } from '../../../domain/money/units.ts'
import type { Quote, QuoteRequest, ServiceOrder, TokenInfo } from '../../../domain/order/quote.ts'
import type { RoutingPreference } from '../../../domain/settings.ts'
import { outsideText } from '../../../domain/text/outside-text.ts'
import { type Reading, readJson, withExactIntegers, wrong } from '../../../system/read-json.ts'
import {
  createOrderResponseSchema,
  orderSchema,
  quoteResponseSchema,
  tokenSchema,
  type WireCreateOrderResponse,
  type WireQuoteRequest,
  type WireQuoteResponse,
} from './gasless-wire.ts'

type Routing = {
  readonly preference: RoutingPreference
  /** The operator's wire values of the two preferences for the service's own liquidity. */
  readonly words: { readonly preferOwn: string; readonly onlyOwn: string }
}

/** Body of `POST /quote`. Always names the receiver, so the service's default is never used. */
export function quoteBody(request: QuoteRequest, routing: Routing): WireQuoteRequest {
  const { preference, words } = routing
  const fields = {
    chainId: GASLESS_CHAIN_ID,
    from: request.from,
    receiver: request.receiver,
    sellToken: request.sellToken,
    buyToken: request.buyToken,
    slippageBps: request.slippageBps,
    routingPreference: preference === 'auto' ? 'auto' : words[preference],
    signingScheme: 'eip712',
  } as const
  const amount = request.size.amount.toString()
  return request.size.side === 'sell'
    ? { ...fields, kind: 'sell', sellAmountBeforeFee: amount }
    : { ...fields, kind: 'buy', buyAmountAfterFee: amount }
}

/** Characters of a token's name or symbol. */
const NAME_MAX = 64

/** The logo is never read, so a malformed logo URL must not invalidate the list. */
const tokenList = z.array(tokenSchema.omit({ logoURI: true }))

/** Body of `GET /tokens`. */
export function readTokens(text: string): Reading<readonly TokenInfo[]> {
  const tokens = readJson(tokenList, text)
  if (!tokens.ok) return tokens
  const value = tokens.value.map((token) => ({
    address: address(token.address),
    symbol: outsideText(token.symbol, NAME_MAX),
    name: outsideText(token.name, NAME_MAX),
    decimals: token.decimals,
  }))
  return { ok: true, value }
}

/** Body of `POST /quote`. Typed-data integers beyond double precision become decimal strings. */
export function readQuote(text: string): Reading<Quote> {
  const parsed = readJson(quoteResponseSchema, text)
  if (!parsed.ok) return parsed
  const exact = withExactIntegers(text)
  if (exact === undefined) return { ok: true, value: quoteOf(parsed.value) }
  // Only the typed data uses the exact text: elsewhere an amount written as a number is an error.
  const { typedData } = (JSON.parse(exact) as WireQuoteResponse).permit2
  return { ok: true, value: { ...quoteOf(parsed.value), typedData } }
}

function quoteOf({ id, from, expiration, quote, permit2 }: WireQuoteResponse): Quote {
  return {
    id,
    from: address(from),
    expirationMs: Date.parse(expiration),
    sellToken: address(quote.sellToken),
    buyToken: address(quote.buyToken),
    receiver: quote.receiver ? address(quote.receiver) : undefined,
    sellAmount: amount(quote.sellAmount),
    buyAmount: amount(quote.buyAmount),
    minBuyAmount: quote.minBuyAmount ? amount(quote.minBuyAmount) : undefined,
    validToSeconds: quote.validTo,
    feeAmount: amount(quote.feeAmount),
    side: quote.kind,
    allowanceTarget: address(permit2.allowanceTarget),
    spender: address(permit2.spender),
    typedData: permit2.typedData,
    witnessTypeString:
      typeof permit2.witnessTypeString === 'string' ? permit2.witnessTypeString : undefined,
  }
}

/** Body of `POST /orders`. It may be the order of another quote. */
export function readCreatedOrder(text: string): Reading<ServiceOrder> {
  const parsed = readJson(createOrderResponseSchema, text)
  return parsed.ok ? { ok: true, value: orderOf(parsed.value) } : parsed
}

/** The fields of an order that we read. Its amounts are the service's claims; the chain proves what moved. */
const orderReply = orderSchema.pick({
  orderId: true,
  quoteId: true,
  status: true,
  txHash: true,
  error: true,
})

/** Body of `GET /orders/{orderId}`. */
export function readOrder(text: string, orderId: string): Reading<ServiceOrder> {
  const parsed = readJson(orderReply, text)
  if (!parsed.ok) return parsed
  if (parsed.value.orderId !== orderId)
    return wrong('orderId: another order than the one asked for')
  return { ok: true, value: orderOf(parsed.value) }
}

function orderOf(order: z.infer<typeof orderReply> | WireCreateOrderResponse): ServiceOrder {
  const { txHash, error } = { txHash: undefined, error: undefined, ...order }
  return {
    orderId: order.orderId,
    quoteId: order.quoteId,
    status: order.status,
    txHash: transactionHash(txHash),
    error: error
      ? { code: outsideText(error.code, 64), message: outsideText(error.message) }
      : undefined,
  }
}

/** The wire allows hex of any length; only a transaction hash is a usable hint. */
function transactionHash(text: string | null | undefined): Hex | undefined {
  const hash = text?.toLowerCase()
  return /^0x[0-9a-f]{64}$/.test(hash ?? '') ? (hash as Hex) : undefined
}

/** For messages only: the HTTP status alone classifies an error. */
const errorMessage = z.object({ error: z.object({ message: z.string() }) })

/** An error envelope's message, safe to log; undefined if the body is not an envelope. */
export function readErrorMessage(text: string): string | undefined {
  const parsed = readJson(errorMessage, text)
  if (!parsed.ok) return undefined
  return outsideText(parsed.value.error.message) || undefined
}

/** The schema has checked the shape. */
function address(text: string): Address {
  return text.toLowerCase() as Address
}

function amount(text: string): BaseUnits {
  return baseUnits(BigInt(text))
}
