import type { Hex } from 'viem'
import type { ZodType } from 'zod'
import {
  accountInfoParams,
  batchedReceiptParams,
  ERROR_MESSAGES,
  getTransactionReceiptParams,
  METHODS,
  prefixedMethods,
  sendBundleObjectParams,
  sendBundleParams,
  sendRawTransactionParams,
  transactionStatusParams,
} from '../../../wire/aggregator.ts'
import type { Rpc } from '../../evm/rpc.ts'
import type { AggregatorRoute } from '../../faults.ts'
import { type Accounts, lower } from '../account/accounts.ts'
import type { Batcher } from '../batch/batcher.ts'
import { type Call, type CallBook, faultOf, type NodeReceipt } from '../batch/calls.ts'
import type { Intake, IntakeRefusal } from '../batch/intake.ts'
import { nodeReceipt } from '../chain/chain.ts'
import { type ERROR_CODES, fail, type Outcome, succeed } from './json-rpc.ts'
import { authenticated } from './relay-auth.ts'
import { statusOf } from './status.ts'

export type MethodDeps = {
  readonly rpc: Rpc
  readonly accounts: Accounts
  readonly book: CallBook
  readonly batcher: Batcher
  readonly intake: Intake
  /** A batch that holds none of the customers' calls. */
  readonly foreignBatch: Hex
}

/** The request around a call: what its signature header says, and the text it signs. */
export type Envelope = { readonly signatureHeader: string | undefined; readonly bodyText: string }

export type Method = {
  readonly route: AggregatorRoute
  run(params: readonly unknown[], envelope: Envelope): Promise<Outcome>
}

/** The wording is this sandbox's: the interface shows none for it. */
export const AUTHENTICATION_FAILURE = 'authentication failure'

/** The six methods under their names on the wire. */
export function createMethods(deps: MethodDeps, prefix: string): ReadonlyMap<string, Method> {
  const own = prefixedMethods(prefix)
  return new Map<string, Method>([
    [
      METHODS.sendRawTransaction,
      method('sendRawTransaction', sendRawTransactionParams, ([raw]) => submit(deps, raw, 0n)),
    ],
    [METHODS.sendBundle, sendBundle(deps)],
    [
      METHODS.getTransactionReceipt,
      method('transactionReceipt', getTransactionReceiptParams, ([hash]) => receipt(deps, hash)),
    ],
    [
      own.accountInfo,
      method('accountInfo', accountInfoParams, ([account], envelope) =>
        accountInfo(deps, account, envelope),
      ),
    ],
    [
      own.transactionStatus,
      method('transactionStatus', transactionStatusParams, ([hash]) => status(deps, hash)),
    ],
    [
      own.getBatchedTransactionReceipt,
      method('batchedReceipt', batchedReceiptParams, async ([hash]) =>
        succeed(await deps.batcher.batchReceipt(lower(hash as Hex))),
      ),
    ],
  ])
}

/** Takes both shapes of parameters, and complains about the one that was meant. */
function sendBundle(deps: MethodDeps): Method {
  const listed = method('sendBundle', sendBundleParams, ([[raw], block]) =>
    submit(deps, raw, BigInt(block)),
  )
  const named = method(
    'sendBundle',
    sendBundleObjectParams,
    ([
      {
        txs: [raw],
        blockNumber,
      },
    ]) => submit(deps, raw, BigInt(blockNumber ?? 0)),
  )
  return {
    route: 'sendBundle',
    run: (params, envelope) => (isListed(params) ? listed : named).run(params, envelope),
  }
}

function isListed([first]: readonly unknown[]): boolean {
  return typeof first !== 'object' || first === null || Array.isArray(first)
}

function method<T>(
  route: AggregatorRoute,
  schema: ZodType<T>,
  run: (params: T, envelope: Envelope) => Promise<Outcome>,
): Method {
  return {
    route,
    run(params, envelope) {
      const parsed = schema.safeParse(params)
      if (parsed.success) return run(parsed.data, envelope)
      const [first] = parsed.error.issues
      const where = first === undefined ? '' : `params.${first.path.join('.')}: `
      return Promise.resolve(fail('invalidParams', `${where}${first?.message ?? 'invalid'}`))
    },
  }
}

const REFUSAL_CODES: Readonly<Record<IntakeRefusal['tag'], keyof typeof ERROR_CODES>> = {
  malformed: 'invalidParams',
  accountNotFound: 'accountNotFound',
  insufficientBalance: 'insufficientBalance',
  refused: 'refused',
}

async function submit(deps: MethodDeps, raw: string, earliestBlock: bigint): Promise<Outcome> {
  const taken = await deps.intake(raw as Hex, earliestBlock)
  if (taken.ok) return succeed(taken.hash)
  return fail(REFUSAL_CODES[taken.refusal.tag], taken.refusal.message)
}

async function receipt(deps: MethodDeps, hash: string): Promise<Outcome> {
  const call = deps.book.get(lower(hash as Hex))
  // A hash nobody submitted here has not landed here: null, as of any node.
  if (call === undefined) return succeed(null)
  if (isHidden(call)) return fail('transactionNotFound', ERROR_MESSAGES.transactionNotFound)
  if (faultOf(call, 'lieReceipt') !== undefined) {
    return succeed(await nodeReceipt(deps.rpc, deps.foreignBatch))
  }
  return succeed(await receiptOf(deps, call))
}

async function receiptOf({ rpc }: MethodDeps, call: Call): Promise<NodeReceipt | null> {
  const { progress } = call
  if (progress.state === 'landed') return progress.receipt
  if (progress.state === 'dropped') return progress.receipt ?? null
  return call.work.kind === 'direct' ? nodeReceipt(rpc, call.hash) : null
}

async function status(deps: MethodDeps, hash: string): Promise<Outcome> {
  const call = deps.book.get(lower(hash as Hex))
  if (call === undefined || isHidden(call)) {
    return fail('transactionNotFound', ERROR_MESSAGES.transactionNotFound)
  }
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
  const signer = authenticated(signatureHeader, bodyText)
  const asked = lower(account as Hex)
  // An account's balance is shown to that account alone.
  if (signer !== asked) return fail('authentication', AUTHENTICATION_FAILURE)
  await deps.accounts.index()
  const info = deps.accounts.info(asked)
  if (info === undefined) return fail('accountNotFound', ERROR_MESSAGES.accountNotFound)
  return succeed({
    balance: info.balance.toString(),
    outstanding_charge: info.outstanding.toString(),
    // Services in use say more than the interface describes; a client must not mind.
    ...{ whitelisted: false, gas_unit_discount: 0 },
  })
}
