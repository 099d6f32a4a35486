import * as z from 'zod'
import { GASLESS_CHAIN_ID } from '../../../domain/money/token.ts'
import { printable } from '../../../domain/text/outside-text.ts'

/**
 * Schemas of the gasless swap service's REST interface (version 0.1.0, prefix `/api/v1`).
 *
 * Response schemas are strict in fields that money depends on and drop unknown fields, so the service can evolve. Optional
 * fields may be null, as in deployments. Amounts stay strings here, because JSON numbers lose precision; `gasless-orders.ts`
 * converts them.
 */

export const ID_LENGTH_MAX = 128
export const SLIPPAGE_BPS = { min: 1, max: 2000, default: 50 } as const

export const addressText = z.string().regex(/^0x[a-fA-F0-9]{40}$/, 'expected 0x and 40 hex digits')
export const hexText = z.string().regex(/^0x[a-fA-F0-9]+$/, 'expected 0x and hex digits')
const UINT256_MAX_TEXT = (2n ** 256n - 1n).toString()
/** Upper bound of any token amount. Compared as text, because both sides are canonical decimals. */
const fitsUint256 = (text: string): boolean =>
  text.length < UINT256_MAX_TEXT.length ||
  (text.length === UINT256_MAX_TEXT.length && text <= UINT256_MAX_TEXT)
/** Positive base units as decimal text, at most 2^256 - 1: the chain's bound, because the interface defines none. */
export const tokenAmountText = z
  .string()
  .regex(/^[1-9]\d*$/, 'expected positive base units as decimal text')
  .refine(fitsUint256, 'expected an amount below 2^256')
export const nonNegativeAmountText = z
  .string()
  .regex(/^(0|[1-9]\d*)$/, 'expected base units as decimal text')
  .refine(fitsUint256, 'expected an amount below 2^256')
/** Ids are recorded and logged, so they must be printable. */
const id = z
  .string()
  .min(1)
  .max(ID_LENGTH_MAX)
  .refine(
    (text) => printable(text) === text && !/[\n\t]/.test(text),
    'expected printable characters',
  )
export const orderId = id
const clientOrderId = id.regex(/^[A-Za-z0-9:_-]+$/, 'expected letters, digits, : _ or -')

const orderStatus = z.enum(['pending', 'filled', 'failed', 'expired'])
const orderKind = z.enum(['sell', 'buy'])

export const tokenSchema = z.object({
  chainId: z.literal(GASLESS_CHAIN_ID),
  address: addressText,
  symbol: z.string(),
  name: z.string(),
  decimals: z.int().min(0).max(255),
  logoURI: z.url().nullish(),
})
export const tokenListSchema = z.array(tokenSchema)

const quoteRequestFields = {
  chainId: z.literal(GASLESS_CHAIN_ID),
  from: addressText,
  receiver: addressText.optional(),
  sellToken: addressText,
  buyToken: addressText,
  slippageBps: z.int().min(SLIPPAGE_BPS.min).max(SLIPPAGE_BPS.max).optional(),
  routingPreference: z.string().min(1).optional(),
  signingScheme: z.literal('eip712'),
}
/** Body of `POST /quote`. The operator defines the values of `routingPreference`, so the caller checks them. */
export const quoteRequestSchema = z.discriminatedUnion('kind', [
  z.object({
    ...quoteRequestFields,
    kind: z.literal('sell'),
    sellAmountBeforeFee: tokenAmountText,
  }),
  z.object({ ...quoteRequestFields, kind: z.literal('buy'), buyAmountAfterFee: tokenAmountText }),
])

const quoteOrderSchema = z.object({
  sellToken: addressText,
  buyToken: addressText,
  receiver: addressText.nullish(),
  sellAmount: tokenAmountText,
  buyAmount: tokenAmountText,
  /** Specified as required. If a deployment omits it, the witness's minimum applies. */
  minBuyAmount: tokenAmountText.nullish(),
  validTo: z.int().positive(),
  feeAmount: nonNegativeAmountText,
  kind: orderKind,
  partiallyFillable: z.literal(false),
  signingScheme: z.literal('eip712'),
})

const permit2QuoteSchema = z.object({
  allowanceTarget: addressText,
  spender: addressText,
  /** Free-form on the wire; the signing firewall validates it. */
  typedData: z.record(z.string(), z.unknown()),
  /** Specified as text, but deployments differ. It is neither signed nor needed. */
  witnessTypeString: z.unknown().optional(),
})

export const quoteResponseSchema = z.object({
  id,
  from: addressText,
  expiration: z.iso.datetime({ offset: true }),
  quote: quoteOrderSchema,
  permit2: permit2QuoteSchema,
})

/** Body of `POST /orders`. */
export const createOrderRequestSchema = z.object({
  quoteId: id,
  signature: hexText,
  clientOrderId: clientOrderId.optional(),
})

export const createOrderResponseSchema = z.object({ orderId: id, quoteId: id, status: orderStatus })

export const orderSchema = z.object({
  orderId: id,
  quoteId: id,
  status: orderStatus,
  sellToken: addressText.nullish(),
  buyToken: addressText.nullish(),
  sellAmount: tokenAmountText.nullish(),
  buyAmount: tokenAmountText.nullish(),
  executedSellAmount: tokenAmountText.nullish(),
  executedBuyAmount: tokenAmountText.nullish(),
  txHash: hexText.nullish(),
  error: z.object({ code: z.string(), message: z.string() }).nullish(),
})

const errorCode = z.enum(['BAD_REQUEST', 'NOT_FOUND', 'RATE_LIMITED', 'INTERNAL_ERROR'])
export const errorResponseSchema = z.object({
  error: z.object({ code: errorCode, message: z.string() }),
})

export type WireToken = z.infer<typeof tokenSchema>
export type WireQuoteRequest = z.infer<typeof quoteRequestSchema>
export type WireQuoteResponse = z.infer<typeof quoteResponseSchema>
export type WireCreateOrderResponse = z.infer<typeof createOrderResponseSchema>
export type WireOrder = z.infer<typeof orderSchema>
export type WireErrorResponse = z.infer<typeof errorResponseSchema>
