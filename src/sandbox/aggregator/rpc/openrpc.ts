import * as z from 'zod'
import {
  ERROR_MESSAGES,
  METHODS,
  prefixedMethods,
  receiptSchema,
  sendBundleObjectParams,
  sendBundleParams,
  sendRawTransactionParams,
  transactionHashSchema,
  transactionStatusSchema,
  weiText,
} from '../../../venues/call/client/aggregator-wire.ts'
import { addressText } from '../../../venues/swap/client/gasless-wire.ts'
import type { AggregatorSettings } from '../aggregator-settings.ts'
import { errorOf } from './json-rpc.ts'
import { AUTHENTICATION_FAILURE } from './methods.ts'

const HASH = shapeOf(transactionHashSchema)
const RECEIPT = { name: 'receipt', schema: shapeOf(receiptSchema) }
const ACCOUNT_INFO = z.object({
  balance: weiText,
  outstanding_charge: weiText,
  whitelisted: z.boolean(),
  gas_unit_discount: z.number(),
})
const [RAW] = sendRawTransactionParams.def.items
const [TXS, BLOCK] = sendBundleParams.def.items
const [BUNDLE] = sendBundleObjectParams.def.items

/** OpenRPC 1.2.6 description of the service. */
export function openRpcDocument({ methodPrefix, signatureHeader }: AggregatorSettings['wire']) {
  const own = prefixedMethods(methodPrefix)
  const methods = [
    {
      name: METHODS.sendRawTransaction,
      summary: 'Takes a signed transaction and answers its hash.',
      params: [parameter('rawTransaction', shapeOf(RAW))],
      result: { name: 'transactionHash', schema: HASH },
      errors: submitErrors(),
    },
    {
      name: METHODS.getTransactionReceipt,
      summary:
        'The receipt of the on-chain transaction that holds it, or null while there is none.',
      params: [parameter('transactionHash', HASH)],
      result: RECEIPT,
      errors: [known('transactionNotFound')],
    },
    {
      name: METHODS.sendBundle,
      summary:
        'Takes exactly one signed transaction, for the given block or a later one, as two parameters or as one object.',
      params: [
        parameter('txs', { oneOf: [shapeOf(TXS), shapeOf(BUNDLE)] }),
        parameter('blockNumber', shapeOf(BLOCK), false),
      ],
      result: { name: 'transactionHash', schema: HASH },
      errors: submitErrors(),
    },
    {
      name: own.accountInfo,
      summary: `Deposit and charges of the account that signed the header ${signatureHeader}.`,
      params: [parameter('accountAddress', shapeOf(addressText))],
      result: { name: 'accountInfo', schema: shapeOf(ACCOUNT_INFO) },
      errors: [known('accountNotFound'), errorOf('authentication', AUTHENTICATION_FAILURE)],
    },
    {
      name: own.transactionStatus,
      summary: 'Status, costs, savings and tracking details.',
      params: [
        parameter('transactionHash', HASH),
        parameter('token', shapeOf(z.string().min(1)), false),
      ],
      result: { name: 'status', schema: shapeOf(transactionStatusSchema) },
      errors: [known('transactionNotFound')],
    },
    {
      name: own.getBatchedTransactionReceipt,
      summary: 'The receipt of an on-chain transaction that held a batch, or null.',
      params: [parameter('batchedTransactionHash', HASH)],
      result: RECEIPT,
      errors: [],
    },
  ]
  return {
    openrpc: '1.2.6',
    info: { title: 'Transaction aggregation service (sandbox)', version: '1.0.0' },
    methods: methods.map((method) => ({ ...method, paramStructure: 'by-position' })),
  }
}

function shapeOf(schema: z.ZodType) {
  const { $schema: _, ...shape } = z.toJSONSchema(schema)
  return shape
}

function parameter(name: string, schema: object, required = true) {
  return { name, required, schema }
}

function known(error: keyof typeof ERROR_MESSAGES) {
  return errorOf(error, ERROR_MESSAGES[error])
}

function submitErrors() {
  const reason = 'the reason for which the transaction was not taken'
  return [known('accountNotFound'), known('insufficientBalance'), errorOf('refused', reason)]
}
