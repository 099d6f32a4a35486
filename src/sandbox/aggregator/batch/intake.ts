import type { Hex } from 'viem'
import { ERROR_MESSAGES } from '../../../wire/aggregator.ts'
import { type Rpc, RpcError } from '../../evm/rpc.ts'
import type { Faults } from '../../faults.ts'
import type { Accounts } from '../account/accounts.ts'
import { currentFees, gasOf, nextNonce, readAccount } from '../chain/chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import type { AggregatorSettings } from '../settings.ts'
import type { Batcher } from './batcher.ts'
import { type AggregatedCall, type Call, type CallBook, faultOf, type Work } from './calls.ts'
import { type Classified, classify } from './classify.ts'
import { type RawTransaction, readRawTransaction } from './raw-transaction.ts'
import { readinessOf } from './readiness.ts'
import type { Sponsor } from './sponsor.ts'

/** Why a transaction was not taken. Nothing of it will reach the chain through this service. */
export type IntakeRefusal = {
  readonly tag: 'malformed' | 'accountNotFound' | 'insufficientBalance' | 'refused'
  readonly message: string
}
export type IntakeResult =
  | { readonly ok: true; readonly hash: Hex }
  | { readonly ok: false; readonly refusal: IntakeRefusal }

/** Takes signed transactions. The same bytes sent again, however often, are one transaction. */
export type Intake = (raw: Hex, earliestBlock: bigint) => Promise<IntakeResult>

export type IntakeDeps = {
  readonly rpc: Rpc
  readonly settings: Pick<AggregatorSettings, 'chainId' | 'gasLimit' | 'blobCostWei'>
  readonly contracts: AggregatorContracts
  readonly relayer: Hex
  readonly accounts: Accounts
  readonly book: CallBook
  readonly batcher: Batcher
  readonly sponsor: Sponsor
  readonly faults: Faults
}

const DELEGATION_GAS = 60_000n
/** Waiting calls of one account. */
const QUEUED_MAX = 64

export function createIntake(deps: IntakeDeps): Intake {
  const underWay = new Map<Hex, Promise<IntakeResult>>()
  return async (raw, earliestBlock) => {
    const transaction = readRawTransaction(raw)
    if (transaction === undefined) return refused('malformed', 'not a signed transaction')
    const { hash } = transaction
    if (deps.book.get(hash) !== undefined) return { ok: true, hash }
    const existing = underWay.get(hash)
    if (existing !== undefined) return existing
    const result = take(deps, transaction, earliestBlock).finally(() => underWay.delete(hash))
    underWay.set(hash, result)
    return result
  }
}

async function take(
  deps: IntakeDeps,
  transaction: RawTransaction,
  earliestBlock: bigint,
): Promise<IntakeResult> {
  await deps.accounts.index()
  if (deps.accounts.info(transaction.sender) === undefined) {
    return refused('accountNotFound', ERROR_MESSAGES.accountNotFound)
  }
  const sender = await readAccount(deps.rpc, transaction.sender)
  const { chainId, gasLimit } = deps.settings
  const network = { chainId, gasLimit, contracts: deps.contracts }
  const classified = classify(transaction, sender, network)
  switch (classified.kind) {
    case 'refused':
      return refused('refused', classified.reason)
    case 'direct':
      return broadcast(deps, transaction)
    case 'delegation':
      return delegate(deps, transaction, classified)
    case 'aggregated':
      return enqueue(deps, { transaction, work: classified, earliestBlock })
  }
}

/** What cannot share a transaction goes to the chain as it is. Its sender pays there, and nothing here. */
async function broadcast(deps: IntakeDeps, transaction: RawTransaction): Promise<IntakeResult> {
  const next = await nextNonce(deps.rpc, transaction.sender)
  // The node would keep it and wait for the ones in between, which the service has no reason to expect.
  if (transaction.nonce > next) {
    return refused('refused', `nonce too high: ${transaction.nonce}, the account is at ${next}`)
  }
  try {
    await deps.rpc.call<Hex>('eth_sendRawTransaction', [transaction.raw])
    deps.book.add(newCall(deps, transaction, { kind: 'direct' }))
    return { ok: true, hash: transaction.hash }
  } catch (error) {
    if (error instanceof RpcError) return refused('refused', error.message)
    throw error
  }
}

async function delegate(
  deps: IntakeDeps,
  transaction: RawTransaction,
  work: Extract<Classified, { kind: 'delegation' }>,
): Promise<IntakeResult> {
  const reserved = DELEGATION_GAS * (await currentFees(deps.rpc)).maxFeePerGas
  if (!deps.accounts.reserve(transaction.sender, reserved)) return insufficient()
  const call = newCall(deps, transaction, work, { reserved })
  deps.book.add(call)
  deps.sponsor.add(call)
  return { ok: true, hash: call.hash }
}

async function enqueue(
  deps: IntakeDeps,
  taken: {
    transaction: RawTransaction
    work: AggregatedCall['work']
    earliestBlock: bigint
  },
): Promise<IntakeResult> {
  const { transaction, work, earliestBlock } = taken
  const { rpc, batcher, accounts } = deps
  const account = transaction.sender
  if (batcher.queued(account).length >= QUEUED_MAX) {
    return refused('refused', `${QUEUED_MAX} calls of this account are waiting already`)
  }
  const [direct, fees] = await Promise.all([
    gasOf(rpc, { from: account, ...work.direct }),
    currentFees(rpc),
  ])
  const gasCost = (direct ?? work.gasLimit) * fees.maxFeePerGas
  const reserved = gasCost + deps.settings.blobCostWei
  if (!accounts.reserve(account, reserved)) return insufficient()
  // Behind another call of the account, or ahead of its turn, it may well pass when its turn comes.
  if (batcher.queued(account).length === 0) {
    const readiness = await readinessOf({ account, work, earliestBlock }, deps)
    if (readiness.kind === 'never') {
      accounts.resolve(account, { reserved, charged: 0n })
      return refused('refused', `execution reverted: ${readiness.reason}`)
    }
  }
  const call = newCall(deps, transaction, work, { reserved, earliestBlock })
  deps.book.add(call)
  if (faultOf(call, 'neverIncluded') === undefined) batcher.add(call)
  return { ok: true, hash: call.hash }
}

function newCall<W extends Work>(
  deps: IntakeDeps,
  transaction: Pick<RawTransaction, 'hash' | 'sender'>,
  work: W,
  terms: { reserved?: bigint; earliestBlock?: bigint } = {},
): Call & { work: W } {
  const acceptedAtMs = Date.now()
  const faults = deps.faults.forCall()
  return {
    hash: transaction.hash,
    account: transaction.sender,
    work,
    acceptedAtMs,
    faults,
    reserved: terms.reserved ?? 0n,
    earliestBlock: terms.earliestBlock ?? 0n,
    patienceMs: 0,
    progress: { state: 'queued' },
    notBeforeMs: acceptedAtMs + (faultOf({ faults }, 'lateInclusion')?.delayMs ?? 0),
    revertedBatches: [],
    repeatedIn: [],
  }
}

function insufficient(): IntakeResult {
  return refused('insufficientBalance', ERROR_MESSAGES.insufficientBalance)
}

function refused(tag: IntakeRefusal['tag'], message: string): IntakeResult {
  return { ok: false, refusal: { tag, message } }
}
