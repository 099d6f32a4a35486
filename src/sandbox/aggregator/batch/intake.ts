import type { Hex } from 'viem'
import { type Rpc, RpcError } from '../../evm/rpc.ts'
import { nextNonce } from '../../evm/sender.ts'
import type { Faults } from '../../faults.ts'
import type { AggregatorSettings } from '../../options.ts'
import type { Accounts } from '../account/accounts.ts'
import { currentFees, gasOf, readAccount } from '../chain/aggregator-chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import { fail, failKnown, type Outcome, succeed } from '../rpc/json-rpc.ts'
import type { Batcher } from './batcher.ts'
import {
  type AggregatedCall,
  type Call,
  type CallStore,
  faultOf,
  newCall,
  type Work,
} from './calls.ts'
import { classify } from './classify.ts'
import { type RawTransaction, readRawTransaction } from './raw-transaction.ts'
import { blobHashes, readinessOf } from './readiness.ts'
import type { Sponsor } from './sponsor.ts'

/**
 * Accepts a signed transaction and returns its hash. A refused transaction never reaches the chain. Bytes that were accepted
 * before only return their hash.
 */
export type Intake = (raw: Hex, earliestBlock: bigint) => Promise<Outcome>

type IntakeDeps = {
  readonly rpc: Rpc
  readonly settings: Pick<AggregatorSettings, 'chainId' | 'gasLimit' | 'blobCost' | 'passthrough'>
  readonly contracts: AggregatorContracts
  readonly relayer: Hex
  readonly accounts: Accounts
  readonly store: CallStore
  readonly batcher: Batcher
  readonly sponsor: Sponsor
  readonly faults: Faults
}

const DELEGATION_GAS = 60_000n
/** Maximum waiting calls of one account. */
const QUEUED_MAX = 64

export function createIntake(deps: IntakeDeps): Intake {
  const underWay = new Map<Hex, Promise<Outcome>>()
  return async (raw, earliestBlock) => {
    const transaction = readRawTransaction(raw)
    if (transaction === undefined) return fail('invalidParams', 'not a signed transaction')
    const { hash } = transaction
    if (deps.store.get(hash) !== undefined) return succeed(hash)
    const result =
      underWay.get(hash) ??
      accept(deps, transaction, earliestBlock).finally(() => underWay.delete(hash))
    underWay.set(hash, result)
    return result
  }
}

async function accept(
  deps: IntakeDeps,
  transaction: RawTransaction,
  earliestBlock: bigint,
): Promise<Outcome> {
  await deps.accounts.index()
  const { chainId, gasLimit, passthrough } = deps.settings
  const isKnown = deps.accounts.info(transaction.sender) !== undefined
  if (!isKnown && !passthrough) return failKnown('accountNotFound')
  const sender = await readAccount(deps.rpc, transaction.sender)
  const work = classify(transaction, sender, { chainId, gasLimit, contracts: deps.contracts })
  // Like a node, for example for the first deposit of an account.
  if (!isKnown && (work.kind === 'aggregated' || work.kind === 'delegation'))
    return failKnown('accountNotFound')
  switch (work.kind) {
    case 'refused':
      return fail('refused', work.reason)
    case 'direct':
      return broadcast(deps, transaction)
    case 'delegation':
      return delegate(deps, transaction, work)
    case 'aggregated':
      return enqueue(deps, { transaction, work, earliestBlock })
  }
}

/** Sends a transaction that cannot be batched to the chain unchanged. Its sender pays on the chain, not from the deposit. */
async function broadcast(deps: IntakeDeps, transaction: RawTransaction): Promise<Outcome> {
  const next = await nextNonce(deps.rpc, transaction.sender)
  // The node would hold the transaction until the missing nonces are used.
  if (transaction.nonce > next)
    return fail('refused', `nonce too high: ${transaction.nonce}, the account is at ${next}`)
  try {
    await deps.rpc.call<Hex>('eth_sendRawTransaction', [transaction.raw])
    deps.store.add(callOf(deps, transaction, { work: { kind: 'direct' } }))
    return succeed(transaction.hash)
  } catch (error) {
    if (error instanceof RpcError) return fail('refused', error.message)
    throw error
  }
}

async function delegate(
  deps: IntakeDeps,
  transaction: RawTransaction,
  work: Extract<Work, { kind: 'delegation' }>,
): Promise<Outcome> {
  const reserved = DELEGATION_GAS * (await currentFees(deps.rpc)).maxFeePerGas
  if (!deps.accounts.reserve(transaction.sender, reserved)) return failKnown('insufficientBalance')
  const call = callOf(deps, transaction, { work, reserved })
  deps.store.add(call)
  deps.sponsor.add(call)
  return succeed(call.hash)
}

async function enqueue(
  deps: IntakeDeps,
  {
    transaction,
    work,
    earliestBlock,
  }: { transaction: RawTransaction; work: AggregatedCall['work']; earliestBlock: bigint },
): Promise<Outcome> {
  const { rpc, batcher, accounts } = deps
  const account = transaction.sender
  if (batcher.queued(account).length >= QUEUED_MAX)
    return fail('refused', `${QUEUED_MAX} calls of this account are waiting already`)
  const { blobs } = transaction
  const [direct, fees] = await Promise.all([
    gasOf(rpc, { from: account, ...work.direct, ...blobHashes([transaction]) }),
    currentFees(rpc),
  ])
  const blobCostMax = (work.blobGas ?? 0n) * fees.maxFeePerBlobGas + deps.settings.blobCost
  const reserved = (direct ?? work.gasLimit) * fees.maxFeePerGas + blobCostMax
  if (!accounts.reserve(account, reserved)) return failKnown('insufficientBalance')
  // A call behind others of its account is not simulated, because it may pass once they have run.
  if (batcher.queued(account).length === 0) {
    const readiness = await readinessOf({ account, work, earliestBlock, blobs }, deps)
    if (readiness.kind === 'never') {
      accounts.resolve(account, { reserved, charged: 0n })
      return fail('refused', `execution reverted: ${readiness.reason}`)
    }
  }
  const call = callOf(deps, transaction, { work, reserved, earliestBlock, blobs })
  deps.store.add(call)
  if (faultOf(call, 'neverIncluded') === undefined) batcher.add(call)
  return succeed(call.hash)
}

function callOf<W extends Work>(
  { faults, settings }: IntakeDeps,
  { hash, onChain, sender: account }: RawTransaction,
  { work, ...terms }: { work: W; reserved?: bigint; earliestBlock?: bigint; blobs?: Call['blobs'] },
): Call & { readonly work: W } {
  const shown = settings.passthrough ? { onChain } : {}
  return newCall({ hash, account, work, faults: faults.forCall() }, { ...shown, ...terms })
}
