import { type Hex, hashMessage, hexToBytes, keccak256, stringToHex } from 'viem'
import * as z from 'zod'
import {
  accountInfoParams,
  batchedReceiptParams,
  ERROR_MESSAGES,
  getTransactionReceiptParams,
  METHODS,
  prefixedMethods,
  receiptSchema,
  sendBundleObjectParams,
  sendBundleParams,
  sendRawTransactionParams,
  transactionHashSchema,
  transactionStatusParams,
  weiText,
} from '../../../venues/call/client/aggregator-wire.ts'
import { recoverAddress } from '../../evm/recover.ts'
import type { Rpc } from '../../evm/rpc.ts'
import type { AggregatorSettings } from '../../options.ts'
import { type Accounts, lower } from '../account/accounts.ts'
import type { Batcher } from '../batch/batcher.ts'
import { type Call, type CallStore, faultOf, newCall } from '../batch/calls.ts'
import type { Intake } from '../batch/intake.ts'
import { nodeReceipt } from '../chain/aggregator-chain.ts'
import { errorOf, fail, failKnown, type Outcome, type RpcCall, succeed } from './json-rpc.ts'
import { type Envelope, form, type Method } from './method.ts'
import { type ExampleTransaction, openRpcDocument } from './openrpc.ts'
import { receiptOf, shownTransaction, statusOf, statusSchema } from './status.ts'

export type MethodDeps = {
  readonly rpc: Rpc
  readonly accounts: Accounts
  readonly store: CallStore
  readonly batcher: Batcher
  readonly intake: Intake
  /** Hash of a batch without customers' calls, for false receipts. */
  readonly foreignBatch: Hex
  readonly example: ExampleTransaction
}

/** The sandbox's own message: the interface defines none for this error. */
const AUTHENTICATION_FAILURE = 'authentication failure'
const SUBMIT_ERRORS = [
  known('accountNotFound'),
  known('insufficientBalance'),
  errorOf('refused', 'the reason for which the transaction was not taken'),
]
const HASH_RESULT = { name: 'transactionHash', schema: transactionHashSchema }
const RECEIPT_RESULT = { name: 'receipt', schema: receiptSchema }
/** The interface's fields, and those that deployments have in addition. */
const ACCOUNT_INFO = z.object({
  balance: weiText,
  outstanding_charge: weiText,
  whitelisted: z.boolean(),
  gas_unit_discount: z.number(),
})
const NO_EFFECT = { whitelisted: false, gas_unit_discount: 0 }

/** The six methods and `rpc.discover`, by their names on the wire. */
export function createMethods(
  deps: MethodDeps,
  { wire, passthrough }: Pick<AggregatorSettings, 'wire' | 'passthrough'>,
): ReadonlyMap<string, Method> {
  const own = prefixedMethods(wire.methodPrefix)
  const { raw, hash, account } = deps.example
  const receiptExample = { transactionHash: hash, blockNumber: '0x10', status: '0x1' }
  const methods: readonly Method[] = [
    {
      name: METHODS.sendRawTransaction,
      summary: 'Takes a signed transaction and answers its hash.',
      route: 'sendRawTransaction',
      form: form(['rawTransaction'], sendRawTransactionParams, ([bytes]) =>
        deps.intake(bytes as Hex, 0n),
      ),
      result: HASH_RESULT,
      errors: SUBMIT_ERRORS,
      example: { params: [raw], result: hash },
    },
    {
      name: METHODS.getTransactionReceipt,
      summary:
        'The receipt of the on-chain transaction that holds it, or null while there is none.',
      route: 'transactionReceipt',
      form: form(['transactionHash'], getTransactionReceiptParams, ([of]) =>
        receipt(deps, of, passthrough),
      ),
      result: RECEIPT_RESULT,
      errors: [],
      example: { params: [hash], result: receiptExample },
    },
    {
      name: METHODS.sendBundle,
      summary:
        'Takes exactly one signed transaction for the given block or a later one, also in one object (x-in-one-object).',
      route: 'sendBundle',
      form: form(['txs', 'blockNumber'], sendBundleParams, ([[bytes], block]) =>
        deps.intake(bytes as Hex, BigInt(block)),
      ),
      inOneObject: form(['bundle'], sendBundleObjectParams, ([{ txs, blockNumber }]) =>
        deps.intake(txs[0] as Hex, BigInt(blockNumber ?? 0)),
      ),
      result: HASH_RESULT,
      errors: SUBMIT_ERRORS,
      example: { params: [[raw], '0x1'], result: hash },
    },
    {
      name: own.accountInfo,
      summary: `Deposit and charges of the account that signed the header ${wire.signatureHeader}.`,
      route: 'accountInfo',
      form: form(['accountAddress'], accountInfoParams, ([of], envelope) =>
        accountInfo(deps, of, envelope),
      ),
      result: { name: 'accountInfo', schema: ACCOUNT_INFO },
      errors: [known('accountNotFound'), errorOf('authentication', AUTHENTICATION_FAILURE)],
      example: {
        params: [account],
        result: { balance: '50000000000000000', outstanding_charge: '0', ...NO_EFFECT },
      },
    },
    {
      name: own.transactionStatus,
      summary: 'Status, costs, savings and tracking details.',
      route: 'transactionStatus',
      form: form(['transactionHash', 'token'], transactionStatusParams, ([of]) => status(deps, of)),
      result: { name: 'status', schema: statusSchema },
      errors: [known('transactionNotFound')],
      example: {
        params: [hash],
        result: statusOf(
          newCall({ hash, account, work: { kind: 'direct' }, faults: [] }, {}),
          null,
        ),
      },
    },
    {
      name: own.getBatchedTransactionReceipt,
      summary: 'The receipt of an on-chain transaction that held a batch, or null.',
      route: 'batchedReceipt',
      form: form(['batchedTransactionHash'], batchedReceiptParams, async ([of]) =>
        succeed(await deps.batcher.batchReceipt(lower(of as Hex))),
      ),
      result: RECEIPT_RESULT,
      errors: [],
      example: { params: [hash], result: null },
    },
    {
      name: 'rpc.discover',
      summary: 'This description.',
      form: form([], z.tuple([]), async (_, { origin }) =>
        succeed(openRpcDocument(methods, { origin, passthrough })),
      ),
      result: { name: 'openrpc', schema: z.looseObject({ openrpc: z.string() }) },
      errors: [],
    },
  ]
  return new Map(methods.map((method) => [method.name, method]))
}

function known(error: keyof typeof ERROR_MESSAGES) {
  return errorOf(error, ERROR_MESSAGES[error])
}

/** Standard methods, without those that use the node's own keys or submit past the service. */
const STANDARD = /^(?:eth_(?!accounts$|coinbase$|send|sign)|net_|web3_)/

const TRANSACTION_BY_HASH = 'eth_getTransactionByHash'

function hashIn(params: RpcCall['params']): Hex {
  const [hash] = Array.isArray(params) ? params : []
  return lower(String(hash) as Hex)
}

/** The node's answer to a standard method; undefined for others. */
export async function askNode(
  { rpc, store }: Pick<MethodDeps, 'rpc' | 'store'>,
  { method, params }: RpcCall,
): Promise<Outcome | undefined> {
  if (!STANDARD.test(method)) return undefined
  const call = method === TRANSACTION_BY_HASH ? store.get(hashIn(params)) : undefined
  // Wallets read their transaction before its receipt, and the node does not know one that is in a batch.
  if (call?.onChain !== undefined && call.work.kind !== 'direct')
    return succeed(shownTransaction(call, call.onChain, await receiptOf(rpc, call)))
  const answer = await rpc.ask(method, params)
  return answer.error === undefined
    ? succeed(answer.result ?? null)
    : { ok: false, error: answer.error }
}

/** Null for a hash that was never submitted here, unless the node may answer. */
async function receipt(deps: MethodDeps, hash: string, passthrough: boolean): Promise<Outcome> {
  const call = deps.store.get(lower(hash as Hex))
  if (call === undefined)
    return succeed(passthrough ? await nodeReceipt(deps.rpc, hash as Hex) : null)
  if (isHidden(call)) return failKnown('transactionNotFound')
  const lies = faultOf(call, 'lieReceipt') !== undefined
  return succeed(
    await (lies ? nodeReceipt(deps.rpc, deps.foreignBatch) : receiptOf(deps.rpc, call)),
  )
}

async function status(deps: MethodDeps, hash: string): Promise<Outcome> {
  const call = deps.store.get(lower(hash as Hex))
  if (call === undefined || isHidden(call)) return failKnown('transactionNotFound')
  return succeed(statusOf(call, await receiptOf(deps.rpc, call)))
}

function isHidden(call: Call): boolean {
  const fault = faultOf(call, 'hashUnknownYet')
  return fault !== undefined && Date.now() < call.acceptedAtMs + fault.forMs
}

async function accountInfo(
  deps: MethodDeps,
  account: string,
  { signatureHeader, bodyText }: Envelope,
): Promise<Outcome> {
  const address = lower(account as Hex)
  if (authenticated(signatureHeader, bodyText) !== address)
    return fail('authentication', AUTHENTICATION_FAILURE)
  await deps.accounts.index()
  const info = deps.accounts.info(address)
  if (info === undefined) return failKnown('accountNotFound')
  return succeed({
    balance: info.balance.toString(),
    outstanding_charge: info.outstanding.toString(),
    ...NO_EFFECT,
  })
}

const HEADER = /^(0x[0-9a-fA-F]{40}):(0x[0-9a-fA-F]{130})$/

/**
 * The signer of a request body. The header is `<address>:<signature>`, an EIP-191 signature of the 32 bytes of the body's
 * Keccak-256. Undefined unless the address signed exactly this text.
 */
function authenticated(header: string | undefined, bodyText: string): Hex | undefined {
  const [, address, signatureText] = HEADER.exec(header ?? '') ?? []
  if (address === undefined) return undefined
  const signature = hexToBytes(signatureText as Hex)
  const v = signature[64] ?? 0
  const parity = v >= 27 ? v - 27 : v
  if (parity !== 0 && parity !== 1) return undefined
  const digest = hashMessage({ raw: keccak256(stringToHex(bodyText)) })
  const signer = recoverAddress(digest, signature.subarray(0, 64), parity)
  return signer === lower(address as Hex) ? signer : undefined
}
