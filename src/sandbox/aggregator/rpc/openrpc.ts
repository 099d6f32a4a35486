import { ERROR_MESSAGES, METHODS, prefixedMethods } from '../../../wire/aggregator.ts'
import { ERROR_CODES, errorOf } from './json-rpc.ts'
import { AUTHENTICATION_FAILURE } from './methods.ts'

type Schema = Readonly<Record<string, unknown>>
type Parameter = { readonly name: string; readonly required: boolean; readonly schema: Schema }

const HEX: Schema = { type: 'string', pattern: '^0x([0-9a-fA-F]{2})+$' }
const HASH: Schema = { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' }
const ADDRESS: Schema = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }
const BLOCK: Schema = {
  oneOf: [
    { type: 'string', pattern: '^0x[0-9a-fA-F]+$' },
    { type: 'integer', minimum: 0 },
  ],
}
const TXS: Schema = { type: 'array', items: HEX, minItems: 1, maxItems: 1 }
const BUNDLE: Schema = {
  type: 'object',
  properties: { txs: TXS, blockNumber: { oneOf: [BLOCK, { type: 'null' }] } },
  required: ['txs'],
}
const WEI: Schema = { type: 'string', pattern: '^(0|[1-9][0-9]*)$' }
const RECEIPT: Schema = {
  oneOf: [
    { type: 'object', properties: { transactionHash: HASH }, required: ['transactionHash'] },
    { type: 'null' },
  ],
}

/** OpenRPC 1.2.6 description of the service. */
export function openRpcDocument(options: {
  readonly methodPrefix: string
  readonly signatureHeader: string
}): Record<string, unknown> {
  const own = prefixedMethods(options.methodPrefix)
  return {
    openrpc: '1.2.6',
    info: { title: 'Transaction aggregation service (sandbox)', version: '1.0.0' },
    methods: [
      method({
        name: METHODS.sendRawTransaction,
        summary: 'Takes a signed transaction and answers its hash.',
        params: [parameter('rawTransaction', HEX)],
        result: { name: 'transactionHash', schema: HASH },
        errors: submitErrors(),
      }),
      method({
        name: METHODS.getTransactionReceipt,
        summary:
          'The receipt of the on-chain transaction that holds it, or null while there is none.',
        params: [parameter('transactionHash', HASH)],
        result: { name: 'receipt', schema: RECEIPT },
        errors: [errorOf('transactionNotFound', ERROR_MESSAGES.transactionNotFound)],
      }),
      method({
        name: METHODS.sendBundle,
        summary:
          'Takes exactly one signed transaction, for the given block or a later one, as two parameters or as one object.',
        params: [
          parameter('txs', { oneOf: [TXS, BUNDLE] }),
          { name: 'blockNumber', required: false, schema: BLOCK },
        ],
        result: { name: 'transactionHash', schema: HASH },
        errors: submitErrors(),
      }),
      method({
        name: own.accountInfo,
        summary: `Deposit and charges of the account that signed the header ${options.signatureHeader}.`,
        params: [parameter('accountAddress', ADDRESS)],
        result: {
          name: 'accountInfo',
          schema: {
            type: 'object',
            properties: {
              balance: WEI,
              outstanding_charge: WEI,
              whitelisted: { type: 'boolean' },
              gas_unit_discount: { type: 'number' },
            },
            required: ['balance', 'outstanding_charge'],
          },
        },
        errors: [
          errorOf('accountNotFound', ERROR_MESSAGES.accountNotFound),
          errorOf('authentication', AUTHENTICATION_FAILURE),
        ],
      }),
      method({
        name: own.transactionStatus,
        summary: 'Status, costs, savings and tracking details.',
        params: [
          parameter('transactionHash', HASH),
          { name: 'token', required: false, schema: { type: 'string' } },
        ],
        result: { name: 'status', schema: { type: 'object' } },
        errors: [errorOf('transactionNotFound', ERROR_MESSAGES.transactionNotFound)],
      }),
      method({
        name: own.getBatchedTransactionReceipt,
        summary: 'The receipt of an on-chain transaction that held a batch, or null.',
        params: [parameter('batchedTransactionHash', HASH)],
        result: { name: 'receipt', schema: RECEIPT },
        errors: [],
      }),
    ],
  }
}

function method(description: {
  name: string
  summary: string
  params: readonly Parameter[]
  result: { name: string; schema: Schema }
  errors: readonly { code: number; message: string }[]
}): Record<string, unknown> {
  return { ...description, paramStructure: 'by-position' }
}

function parameter(name: string, schema: Schema): Parameter {
  return { name, required: true, schema }
}

function submitErrors(): { code: number; message: string }[] {
  return [
    errorOf('accountNotFound', ERROR_MESSAGES.accountNotFound),
    errorOf('insufficientBalance', ERROR_MESSAGES.insufficientBalance),
    { code: ERROR_CODES.refused, message: 'the reason for which the transaction was not taken' },
  ]
}
