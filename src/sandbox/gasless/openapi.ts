import { privateKeyToAccount } from 'viem/accounts'
import * as z from 'zod'
import { GASLESS_CHAIN_ID } from '../../domain/money/token.ts'
import {
  createOrderRequestSchema,
  createOrderResponseSchema,
  errorResponseSchema,
  orderSchema,
  quoteRequestSchema,
  quoteResponseSchema,
  tokenListSchema,
  tokenSchema,
  type WireCreateOrderResponse,
  type WireErrorResponse,
  type WireOrder,
  type WireQuoteRequest,
  type WireQuoteResponse,
  type WireToken,
} from '../../venues/swap/client/gasless-wire.ts'
import type { ResetStyle } from '../http/rate-limit.ts'
import { type Operation, STATUS } from './operation.ts'

const SCHEMAS = {
  Token: tokenSchema,
  Tokens: tokenListSchema,
  QuoteRequest: quoteRequestSchema,
  Quote: quoteResponseSchema,
  OrderRequest: createOrderRequestSchema,
  CreatedOrder: createOrderResponseSchema,
  Order: orderSchema,
  Error: errorResponseSchema,
}
const ABOUT = [
  'Amounts are base units as decimal text. HEAD answers like GET without a body.',
  'Another method of a path is refused with 405 and the header Allow, an unknown path with 404, both with the schema Error.',
  'Injected faults are not described.',
].join(' ')
const UNIT: Readonly<Record<ResetStyle, string>> = {
  epoch: 'milliseconds since 1970',
  duration: 'milliseconds from now',
}

/** Values by schema. */
type Examples = ReadonlyMap<z.ZodType, unknown>

/** OpenAPI 3.1 description of the operations. `base`: address of the service with the prefix. */
export function openApiDocument(
  operations: readonly Operation[],
  shown: { readonly base: string; readonly reset: ResetStyle; readonly examples: Examples },
) {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id })
  const uri = (id: string): string => `#/components/schemas/${id}`
  const { schemas } = z.toJSONSchema(registry, { uri, io: 'input' })
  const content = (schema: z.ZodType, example = shown.examples.get(schema)) => ({
    'application/json': {
      schema: { $ref: uri(registry.get(schema)?.id ?? '') },
      ...(example !== undefined && { example }),
    },
  })
  const refusal = (code: WireErrorResponse['error']['code'], description: string) => ({
    description,
    ...(code !== 'INTERNAL_ERROR' && { headers: code === 'RATE_LIMITED' ? LIMITED : RATE }),
    content: content(errorResponseSchema, { error: { code, message: description } }),
  })
  const described = (operation: Operation) => {
    const { operationId, summary, body, result, replies } = operation
    const { name, in: place, schema, rule } = operation.parameter ?? {}
    const parameter = schema && {
      ...{ name, in: place, required: true, description: rule },
      schema: plain(z.toJSONSchema(schema)),
    }
    const links = result === createOrderResponseSchema && { links: ORDER_LINK }
    const success = { headers: RATE, content: content(result), ...links }
    const successes = Object.entries(replies).map(([status, description]) => [
      status,
      { description, ...success },
    ])
    const refusals = Object.entries(STATUS)
      .filter(([code]) => code !== 'NOT_FOUND' || place === 'path')
      .map(([code, status]) => [status, { $ref: `#/components/responses/${code}` }])
    return {
      operationId,
      summary,
      ...(parameter && { parameters: [parameter] }),
      ...(body && { requestBody: { required: true, content: content(body) } }),
      responses: Object.fromEntries([...successes, ...refusals]),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gasless swap service (sandbox)',
      version: '0.1.0',
      description: ABOUT,
    },
    servers: [{ url: shown.base }],
    paths: Object.fromEntries(
      operations.map((each) => [each.path, { [each.method.toLowerCase()]: described(each) }]),
    ),
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).map(([id, of]) => [id, plain(of)])),
      responses: {
        BAD_REQUEST: refusal('BAD_REQUEST', 'the request is invalid, or the service refuses it'),
        NOT_FOUND: refusal('NOT_FOUND', 'unknown order id'),
        RATE_LIMITED: refusal('RATE_LIMITED', 'the rate limit of the operation is exceeded'),
        INTERNAL_ERROR: refusal('INTERNAL_ERROR', 'internal failure'),
      },
      headers: {
        'x-ratelimit-limit': header('requests in a window'),
        'x-ratelimit-remaining': header('requests left in this window'),
        'x-ratelimit-reset': header(`end of this window, in ${UNIT[shown.reset]}`),
        'retry-after': header('seconds until the next window'),
      },
    },
  }
}

const RATE = headerRefs('x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset')
const LIMITED = { ...RATE, ...headerRefs('retry-after') }
const ORDER_LINK = {
  order: { operationId: 'getOrder', parameters: { orderId: '$response.body#/orderId' } },
}

function headerRefs(...names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function header(description: string) {
  return { description, required: true, schema: { type: 'integer', minimum: 0 } }
}

/** Without the keys that name the dialect, which is OpenAPI 3.1's own, and the place. */
function plain({ $schema: _, $id: __, ...shape }: z.core.JSONSchema.BaseSchema) {
  return shape
}

/**
 * A quote, its order and their replies. The requests run as they are: `quote` answers a live quote, and the key that signs it
 * is public. If the market has no price for it, the tokens alone.
 */
export async function createExamples(
  tokens: readonly WireToken[],
  quote: (request: WireQuoteRequest) => WireQuoteResponse | undefined,
): Promise<Examples> {
  const examples = new Map<z.ZodType, unknown>([[tokenListSchema, tokens]])
  const [sell, buy] = tokens
  if (sell === undefined || buy === undefined) return examples
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  const request: WireQuoteRequest = {
    chainId: GASLESS_CHAIN_ID,
    from: account.address,
    sellToken: sell.address,
    buyToken: buy.address,
    kind: 'sell',
    sellAmountBeforeFee: (25n * 10n ** BigInt(sell.decimals)).toString(),
    slippageBps: 50,
    signingScheme: 'eip712',
  }
  const quoted = quote(request)
  if (quoted === undefined) return examples
  const { sellAmount, buyAmount } = quoted.quote
  const signature = await account.signTypedData(quoted.permit2.typedData as never)
  const created: WireCreateOrderResponse = {
    orderId: '7d9f1c6e-52a4-4b0c-9a1e-3f1d2c4b5a60',
    quoteId: quoted.id,
    status: 'pending',
  }
  const filled: WireOrder = {
    ...created,
    status: 'filled',
    sellToken: sell.address,
    buyToken: buy.address,
    sellAmount,
    buyAmount,
    executedSellAmount: sellAmount,
    executedBuyAmount: buyAmount,
    txHash: `0x${'ab'.repeat(32)}`,
  }
  const submitted = { quoteId: quoted.id, signature, clientOrderId: `example:${quoted.id}` }
  return examples
    .set(quoteRequestSchema, request)
    .set(quoteResponseSchema, quoted)
    .set(createOrderRequestSchema, submitted)
    .set(createOrderResponseSchema, created)
    .set(orderSchema, filled)
}
