import * as z from 'zod'
import { addressText, hexText, nonNegativeAmountText } from '../../swap/client/gasless-wire.ts'

/**
 * Schemas of the aggregation service's JSON-RPC 2.0 interface: one endpoint, six methods. The operator sets the prefix of
 * the service's own methods (`agg_` here). Fields that money depends on are strict; a status keeps all fields, because the
 * interface does not name them.
 */

const bytes32Text = z.string().regex(/^0x[a-fA-F0-9]{64}$/, 'expected 0x and 64 hex digits')
export const weiText = nonNegativeAmountText
const rawTransactionText = z
  .string()
  .regex(/^0x(?:[a-fA-F0-9]{2})+$/, 'expected 0x and whole bytes in hex')
const rpcId = z.union([z.number(), z.string()])

export const METHODS = {
  sendRawTransaction: 'eth_sendRawTransaction',
  getTransactionReceipt: 'eth_getTransactionReceipt',
  sendBundle: 'eth_sendBundle',
} as const

export function prefixedMethods(prefix: string) {
  return {
    accountInfo: `${prefix}accountInfo`,
    transactionStatus: `${prefix}transactionStatus`,
    getBatchedTransactionReceipt: `${prefix}getBatchedTransactionReceipt`,
  }
}

export const rpcRequestSchema = z.object({
  jsonrpc: z.literal('2.0'),
  method: z.string().min(1),
  params: z.array(z.unknown()),
  id: rpcId,
})

/** The interface defines no codes, so any integer is accepted. */
const rpcErrorSchema = z.object({ code: z.int(), message: z.string() })
/** Exactly one of `result` (may be null) and `error`; a null error beside a result is ignored. */
export const rpcResponseSchema = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: rpcId.nullable(),
    result: z.unknown().optional(),
    error: rpcErrorSchema.nullish(),
  })
  .refine((reply) => Object.hasOwn(reply, 'result') !== Boolean(reply.error), {
    error: 'expected either result or error',
  })

export const sendRawTransactionParams = z.tuple([rawTransactionText])
export const getTransactionReceiptParams = z.tuple([bytes32Text])
/** A bundle has exactly one signed transaction. */
export const sendBundleParams = z.tuple([
  z.tuple([rawTransactionText]),
  z.union([hexText, z.int().min(0)]),
])
/** The alternative bundle format: one object with an optional block. */
export const sendBundleObjectParams = z.tuple([
  z.object({
    txs: z.tuple([rawTransactionText]),
    blockNumber: z.union([hexText, z.int().min(0)]).nullish(),
  }),
])
export const accountInfoParams = z.tuple([addressText])
/** The optional second parameter is a token. */
export const transactionStatusParams = z.tuple([bytes32Text, z.string().min(1).optional()])
export const batchedReceiptParams = z.tuple([bytes32Text])

/** Specified as text. Deployments also send numbers, accepted if they are exact. */
const wei = z.union([weiText, z.int().min(0)], 'expected wei as decimal text or an exact number')
export const accountInfoSchema = z.object({ balance: wei, outstanding_charge: wei })
export const transactionHashSchema = bytes32Text
/** `transactionHash` is the on-chain transaction of the batch; other fields are kept unmodified. */
export const receiptSchema = z.looseObject({ transactionHash: bytes32Text }).nullable()
export const transactionStatusSchema = z.looseObject({})

/** Observed error messages, used to classify errors because numeric codes are unspecified. */
export const ERROR_MESSAGES = {
  accountNotFound: 'Account not found',
  insufficientBalance: 'Insufficient balance.',
  transactionNotFound: 'Transaction not found',
} as const
