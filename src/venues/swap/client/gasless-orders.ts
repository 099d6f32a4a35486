import * as z from 'zod'
import { outsideText } from '../domain/outside-text.ts'
import type { Quote, QuoteRequest, ServiceOrder, TokenInfo } from '../domain/quote.ts'
import type { RoutingPreference } from '../domain/settings.ts'
import { type Address, type BaseUnits, baseUnits, type Hex } from '../domain/units.ts'
import { withExactIntegers } from './exact-integers.ts'
import {
  createOrderResponseSchema,
  GASLESS_CHAIN_ID,
  orderSchema,
  quoteResponseSchema,
  tokenSchema,
  type WireCreateOrderResponse,
  type WireQuoteRequest,
  type WireQuoteResponse,
} from './gasless.ts'
import { type Reading, readJson, wrong } from './reading.ts'

type Routing = {
  readonly preference: RoutingPreference
  /** The operator's words for the two preferences that name a liquidity of the service's own. */
  readonly words: { readonly preferOwn: string; readonly onlyOwn: string }
}

/** Body of `POST /quote`. The receiver is always named, so that the service's default never decides it. */
export function quoteBody(request: QuoteRequest, routing: Routing): WireQuoteRequest {
  const fields = {
    chainId: GASLESS_CHAIN_ID,
    from: request.from,
    receiver: request.receiver,
    sellToken: request.sellToken,
    buyToken: request.buyToken,
    slippageBps: request.slippageBps,
    routingPreference: routingWord(routing),
    signingScheme: 'eip712',
  } as const
  const amount = request.size.amount.toString()
  return request.size.side === 'sell'
    ? { ...fields, kind: 'sell', sellAmountBeforeFee: amount }
    : { ...fields, kind: 'buy', buyAmountAfterFee: amount }
}

function routingWord(routing: Routing): string {
  return routing.preference === 'auto' ? 'auto' : routing.words[routing.preference]
}

/** Characters of a token's names. */
const NAME_MAX = 64

/** The logo is never read, so a broken logo address must not take the token list with it. */
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

/** Body of `POST /quote`. Integers in the typed data that a double cannot hold come out as decimal strings. */
export function readQuote(text: string): Reading<Quote> {
  const parsed = readJson(quoteResponseSchema, text)
  if (!parsed.ok) return parsed
  const exact = withExactIntegers(text)
  if (exact === undefined) return { ok: true, value: quoteOf(parsed.value) }
  // Only the typed data is taken from the exact text: everywhere else an amount written as a number is an error.
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

/** Body of `POST /orders`: perhaps the order of another quote than the one that was sent. */
export function readCreatedOrder(text: string): Reading<ServiceOrder> {
  const parsed = readJson(createOrderResponseSchema, text)
  return parsed.ok ? { ok: true, value: orderOf(parsed.value) } : parsed
}

/** What is read of an order. The amounts are the service's own words: the chain says what moved. */
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

const TRANSACTION_HASH = /^0x[0-9a-fA-F]{64}$/

/** The wire allows hex of any length; what cannot be a transaction hash is no hint to look for one. */
function transactionHash(text: string | null | undefined): Hex | undefined {
  return typeof text === 'string' && TRANSACTION_HASH.test(text)
    ? (text.toLowerCase() as Hex)
    : undefined
}

/** Only what a person reads: the HTTP status alone decides what an error means. */
const errorMessage = z.object({ error: z.object({ message: z.string() }) })

/** Message of an error envelope, fit for logs; undefined when the body is no envelope. */
export function readErrorMessage(text: string): string | undefined {
  const parsed = readJson(errorMessage, text)
  if (!parsed.ok) return undefined
  return outsideText(parsed.value.error.message) || undefined
}

/** The schema has checked the shape; only the case is left to settle. */
function address(text: string): Address {
  return text.toLowerCase() as Address
}

function amount(text: string): BaseUnits {
  return baseUnits(BigInt(text))
}
