import * as z from 'zod'
import { addressText, hexText, nonNegativeAmountText } from './gasless.ts'

/**
 * Shapes of the transaction aggregation service's JSON-RPC 2.0 interface. One endpoint, six methods; the prefix of
 * the service's own methods (`agg_` here) is the operator's. Fields that money depends on are strict, and a status
 * keeps every field it came with, because the interface does not name them.
 */

const bytes32Text = z.string().regex(/^0x[a-fA-F0-9]{64}$/, 'expected 0x and 64 hex digits')
/** Non-negative wei as decimal text. */
export const weiText = nonNegativeAmountText
/** A signed transaction as it is broadcast. */
const rawTransactionText = z
  .string()
  .regex(/^0x(?:[a-fA-F0-9]{2})+$/, 'expected 0x and whole bytes in hex')
const rpcId = z.union([z.number(), z.string()])

export const METHODS = {
  sendRawTransaction: 'eth_sendRawTransaction',
  getTransactionReceipt: 'eth_getTransactionReceipt',
  sendBundle: 'eth_sendBundle',
} as const

/** Names of the service's own methods under the operator's prefix. */
export function prefixedMethods(prefix: string): {
  readonly accountInfo: string
  readonly transactionStatus: string
  readonly getBatchedTransactionReceipt: string
} {
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

/** The interface names no codes, so that any integer may come. */
export const rpcErrorSchema = z.object({ code: z.int(), message: z.string() })
/** Exactly one of `result` (which may be null) and `error`; beside a result an error of null is none. */
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
/** A bundle holds exactly one signed transaction. */
export const sendBundleParams = z.tuple([
  z.tuple([rawTransactionText]),
  z.union([hexText, z.int().min(0)]),
])
/** The other shape in which bundles are sent: one object, whose block may be left out. */
export const sendBundleObjectParams = z.tuple([
  z.object({
    txs: z.tuple([rawTransactionText]),
    blockNumber: z.union([hexText, z.int().min(0)]).nullish(),
  }),
])
export const accountInfoParams = z.tuple([addressText])
/** The optional second parameter is a token. */
export const transactionStatusParams = z.union([
  z.tuple([bytes32Text]),
  z.tuple([bytes32Text, z.string().min(1)]),
])
export const batchedReceiptParams = z.tuple([bytes32Text])

/** Described as text; deployments also give a JSON number, which counts as long as nothing has rounded it. */
const wei = z.union([weiText, z.int().min(0)], 'expected wei as decimal text or an exact number')
export const accountInfoSchema = z.object({ balance: wei, outstanding_charge: wei })
/** What both sending methods give. */
export const transactionHashSchema = bytes32Text
/** `transactionHash` is the on-chain transaction that carried the batch; the rest is kept as it came. */
export const receiptSchema = z.looseObject({ transactionHash: bytes32Text }).nullable()
export const transactionStatusSchema = z.looseObject({})

/** Observed error messages, by which the client tells causes apart: the numeric codes are not specified. */
export const ERROR_MESSAGES = {
  accountNotFound: 'Account not found',
  insufficientBalance: 'Insufficient balance.',
  transactionNotFound: 'Transaction not found',
} as const
