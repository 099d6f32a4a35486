import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import {
  accountInfoParams,
  accountInfoSchema,
  batchedReceiptParams,
  getTransactionReceiptParams,
  prefixedMethods,
  receiptSchema,
  rpcRequestSchema,
  rpcResponseSchema,
  sendBundleParams,
  sendRawTransactionParams,
  transactionHashSchema,
  transactionStatusParams,
  transactionStatusSchema,
} from '../../../../src/venues/call/client/aggregator-wire.ts'
import {
  type AggregatorShape,
  aggregatorGolden,
  changed,
} from '../../../support/aggregator/aggregator-golden.ts'

const shapes: [AggregatorShape, z.ZodType][] = [
  ['rpc-request', rpcRequestSchema],
  ['rpc-result', rpcResponseSchema],
  ['rpc-error', rpcResponseSchema],
  ['send-raw-transaction-params', sendRawTransactionParams],
  ['send-bundle-params', sendBundleParams],
  ['hash-params', getTransactionReceiptParams],
  ['hash-params', batchedReceiptParams],
  ['account-info-params', accountInfoParams],
  ['transaction-status-params', transactionStatusParams],
  ['account-info', accountInfoSchema],
  ['receipt', receiptSchema],
  ['transaction-status', transactionStatusSchema],
]

describe.each(shapes)('%s', (name, schema) => {
  const { example, valid, invalid } = aggregatorGolden(name)

  test('accepts the example with every field', () => {
    expect(schema.safeParse(example).error?.issues).toBeUndefined()
  })

  test.each(valid)('accepts: $name', (variant) => {
    expect(schema.safeParse(changed(example, variant)).error?.issues).toBeUndefined()
  })

  // A shape may have no invalid variant; an empty table would not be a test.
  for (const variant of invalid)
    test(`rejects: ${variant.name}`, () => {
      const issues = schema.safeParse(changed(example, variant)).error?.issues ?? []
      const blamed = new Set(issues.map((issue) => issue.path.join('.')))
      expect(blamed).toEqual(new Set([variant.blamed ?? variant.field]))
    })
})

test('only a receipt may be null', () => {
  expect(receiptSchema.safeParse(null).success).toBe(true)
  for (const schema of [accountInfoSchema, transactionStatusSchema, transactionHashSchema])
    expect(schema.safeParse(null).success).toBe(false)
})

test('a status keeps all fields of the reply', () => {
  const { example } = aggregatorGolden('transaction-status')
  expect(transactionStatusSchema.parse(example)).toEqual(example)
})

test('a status request has a hash and optionally a token', () => {
  const [hash] = aggregatorGolden('hash-params').example as [string]
  expect(transactionStatusParams.safeParse([hash]).success).toBe(true)
  expect(transactionStatusParams.safeParse([hash, 'a', 'b']).success).toBe(false)
})

test("the configured prefix applies to the service's own methods", () => {
  expect(prefixedMethods('agg_')).toEqual({
    accountInfo: 'agg_accountInfo',
    transactionStatus: 'agg_transactionStatus',
    getBatchedTransactionReceipt: 'agg_getBatchedTransactionReceipt',
  })
  expect(prefixedMethods('').accountInfo).toBe('accountInfo')
})
