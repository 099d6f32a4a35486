import { type Hex, hashMessage, hexToBytes, keccak256, stringToHex } from 'viem'
import type { ZodType } from 'zod'
import {
  accountInfoParams,
  batchedReceiptParams,
  getTransactionReceiptParams,
  METHODS,
  prefixedMethods,
  sendBundleObjectParams,
  sendBundleParams,
  sendRawTransactionParams,
  transactionStatusParams,
} from '../../../venues/call/client/aggregator-wire.ts'
import { recoverAddress } from '../../evm/recover.ts'
import type { Rpc } from '../../evm/rpc.ts'
import type { AggregatorRoute } from '../../faults.ts'
import type { CallCosts } from '../account/account-costs.ts'
import { type Accounts, lower } from '../account/accounts.ts'
import type { Batcher } from '../batch/batcher.ts'
import { type Call, type CallStore, faultOf, type NodeReceipt } from '../batch/calls.ts'
import type { Intake } from '../batch/intake.ts'
import { nodeReceipt } from '../chain/aggregator-chain.ts'
import { fail, failKnown, type Outcome, succeed } from './json-rpc.ts'

export type MethodDeps = {
  readonly rpc: Rpc
  readonly accounts: Accounts
  readonly store: CallStore
  readonly batcher: Batcher
  readonly intake: Intake
  /** Hash of a batch without customers' calls, for false receipts. */
  readonly foreignBatch: Hex
}

/** The HTTP request around a call: its signature header, and the text that the signature covers. */
export type Envelope = { readonly signatureHeader: string | undefined; readonly bodyText: string }

type Method = {
  readonly route: AggregatorRoute
  run(params: readonly unknown[], envelope: Envelope): Promise<Outcome>
}

/** The sandbox's own message: the interface defines none for this error. */
export const AUTHENTICATION_FAILURE = 'authentication failure'

/** The six methods by their names on the wire. */
export function createMethods(deps: MethodDeps, prefix: string): ReadonlyMap<string, Method> {
  const own = prefixedMethods(prefix)
  const methods: Readonly<Record<string, Method>> = {
    [METHODS.sendRawTransaction]: method('sendRawTransaction', sendRawTransactionParams, ([raw]) =>
      deps.intake(raw as Hex, 0n),
    ),
    [METHODS.sendBundle]: sendBundle(deps),
    [METHODS.getTransactionReceipt]: method(
      'transactionReceipt',
      getTransactionReceiptParams,
      ([hash]) => receipt(deps, hash),
    ),
    [own.accountInfo]: method('accountInfo', accountInfoParams, ([account], envelope) =>
      accountInfo(deps, account, envelope),
    ),
    [own.transactionStatus]: method('transactionStatus', transactionStatusParams, ([hash]) =>
      status(deps, hash),
    ),
    [own.getBatchedTransactionReceipt]: method(
      'batchedReceipt',
      batchedReceiptParams,
      async ([hash]) => succeed(await deps.batcher.batchReceipt(lower(hash as Hex))),
    ),
  }
  return new Map(Object.entries(methods))
}

/** Accepts parameters as a list or as one object. An error refers to the form that was sent. */
function sendBundle(deps: MethodDeps): Method {
  const listed = method('sendBundle', sendBundleParams, ([[raw], block]) =>
    deps.intake(raw as Hex, BigInt(block)),
  )
  const named = method('sendBundle', sendBundleObjectParams, ([{ txs, blockNumber }]) =>
    deps.intake(txs[0] as Hex, BigInt(blockNumber ?? 0)),
  )
  return {
    route: 'sendBundle',
    run(params, envelope) {
      const [first] = params
      const isObject = typeof first === 'object' && first !== null && !Array.isArray(first)
      return (isObject ? named : listed).run(params, envelope)
    },
  }
}

function method<T>(
  route: AggregatorRoute,
  schema: ZodType<T>,
  run: (params: T, envelope: Envelope) => Promise<Outcome>,
): Method {
  return {
    route,
    async run(params, envelope) {
      const parsed = schema.safeParse(params)
      if (parsed.success) return run(parsed.data, envelope)
      const [first] = parsed.error.issues
      const where = first === undefined ? '' : `params.${first.path.join('.')}: `
      return fail('invalidParams', `${where}${first?.message ?? 'invalid'}`)
    },
  }
}

async function receipt(deps: MethodDeps, hash: string): Promise<Outcome> {
  const call = deps.store.get(lower(hash as Hex))
  // Null for a hash that was never submitted here, as from any node.
  if (call === undefined) return succeed(null)
  if (isHidden(call)) return failKnown('transactionNotFound')
  const lies = faultOf(call, 'lieReceipt') !== undefined
  return succeed(await (lies ? nodeReceipt(deps.rpc, deps.foreignBatch) : receiptOf(deps, call)))
}

async function receiptOf(
  { rpc }: MethodDeps,
  { hash, progress, work }: Call,
): Promise<NodeReceipt | null> {
  if (progress.state !== 'queued') return progress.receipt ?? null
  return work.kind === 'direct' ? nodeReceipt(rpc, hash) : null
}

async function status(deps: MethodDeps, hash: string): Promise<Outcome> {
  const call = deps.store.get(lower(hash as Hex))
  if (call === undefined || isHidden(call)) return failKnown('transactionNotFound')
  return succeed(statusOf(call, await receiptOf(deps, call)))
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
    // Fields that deployments have in addition to the interface's.
    whitelisted: false,
    gas_unit_discount: 0,
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

/**
 * Status of a transaction, with wei as text. The interface names no fields, so these are the sandbox's own. `directReceipt`:
 * receipt of a transaction that was broadcast unchanged.
 */
function statusOf(call: Call, directReceipt: NodeReceipt | null) {
  const { progress, work } = call
  const landed = progress.state === 'landed' ? progress : undefined
  const receipt = landed?.receipt ?? directReceipt
  const ownCosts = landed?.costs && costFields(landed.costs)
  const costs = work.kind === 'direct' ? directReceipt && directCosts(directReceipt) : ownCosts
  return {
    hash: call.hash,
    account: call.account,
    status: statusText(call, receipt),
    route: work.kind,
    reason: progress.state === 'dropped' ? progress.reason : null,
    costs: costs ?? null,
    savings: (landed?.costs && savingsFields(landed.costs)) ?? null,
    tracking: {
      batched_transaction_hash: receipt?.transactionHash ?? null,
      block_number: receipt === null ? null : Number(receipt.blockNumber),
      calls_in_batch: landed?.batchSize ?? null,
      reverted_batches: call.revertedBatches,
      accepted_at_ms: call.acceptedAtMs,
    },
  }
}

function statusText({ progress }: Call, receipt: NodeReceipt | null) {
  if (receipt !== null) return receipt.status === '0x1' ? 'landed' : 'reverted'
  return progress.state === 'dropped' ? 'dropped' : 'queued'
}

function savingsFields({ directGas, directCost, savings }: CallCosts) {
  return {
    direct_gas: directGas.toString(),
    direct_cost: directCost.toString(),
    saved: savings.toString(),
  }
}

function costFields(costs: Omit<CallCosts, 'directGas' | 'directCost' | 'savings'>) {
  return {
    execution_gas: costs.executionGas.toString(),
    effective_gas_price: costs.effectiveGasPrice.toString(),
    execution_cost: costs.executionCost.toString(),
    blob_cost: costs.blobCost.toString(),
    service_fee: costs.fee.toString(),
    charged: costs.charged.toString(),
  }
}

/** The sender's own costs on the chain, which are not charged to the deposit. */
function directCosts({ gasUsed, effectiveGasPrice, blobGasUsed, blobGasPrice }: NodeReceipt) {
  return costFields({
    executionGas: quantity(gasUsed),
    effectiveGasPrice: quantity(effectiveGasPrice),
    executionCost: quantity(gasUsed) * quantity(effectiveGasPrice),
    blobCost: quantity(blobGasUsed) * quantity(blobGasPrice),
    fee: 0n,
    charged: 0n,
  })
}

/** Nodes omit blob fields, or return null, for a transaction without blobs. */
function quantity(value: unknown): bigint {
  return typeof value === 'string' ? BigInt(value) : 0n
}
