import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import {
  createOrderRequestSchema,
  createOrderResponseSchema,
  errorResponseSchema,
  orderSchema,
  quoteRequestSchema,
  quoteResponseSchema,
  tokenListSchema,
  tokenSchema,
} from '../../../../src/venues/swap/client/gasless-wire.ts'
import { type GaslessShape, golden, type Variant } from '../../../support/gasless/gasless-golden.ts'

const schemas: [GaslessShape, z.ZodType][] = [
  ['token', tokenSchema],
  ['quote-request-sell', quoteRequestSchema],
  ['quote-request-buy', quoteRequestSchema],
  ['quote-response', quoteResponseSchema],
  ['create-order-request', createOrderRequestSchema],
  ['create-order-response', createOrderResponseSchema],
  ['order', orderSchema],
  ['error-response', errorResponseSchema],
]

describe.each(schemas)('%s', (name, schema) => {
  const { example, valid, invalid } = golden(name)

  test('accepts the example with every field', () => {
    expect(schema.safeParse(example).error?.issues).toBeUndefined()
  })

  test.each(valid)('accepts: $name', (variant) => {
    expect(schema.safeParse(changed(example, variant)).error?.issues).toBeUndefined()
  })

  test.each(invalid)('rejects for that field alone: $name', (variant) => {
    const issues = schema.safeParse(changed(example, variant)).error?.issues ?? []
    expect(new Set(issues.map((issue) => issue.path.join('.')))).toEqual(new Set([variant.field]))
  })
})

test('an order needs only its IDs and a status', () => {
  const bare = { orderId: 'order-1', quoteId: 'quote-1', status: 'pending' }
  expect(orderSchema.safeParse(bare).data).toEqual(bare)
})

test('a token list may be empty, and one invalid token rejects the list', () => {
  expect(tokenListSchema.safeParse([]).success).toBe(true)
  expect(tokenListSchema.safeParse([{ chainId: 8453 }]).success).toBe(false)
})

function changed(example: object, variant: Variant): object {
  const copy = structuredClone(example)
  const path = variant.field.split('.')
  const last = path.pop() ?? ''
  const parent = path.reduce<object>((node, key) => Reflect.get(node, key), copy)
  if ('value' in variant) Reflect.set(parent, last, variant.value)
  else Reflect.deleteProperty(parent, last)
  return copy
}
