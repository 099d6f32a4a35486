import { limitHit } from '../../domain/book/limits.ts'
import type { OpenCall } from '../../domain/book/state.ts'
import { type CallRecord, resolveVerifyingContract } from '../../domain/call.ts'
import { type CallIntent, clientOrderId } from '../../domain/intent.ts'
import { hasLiveAuthorization } from '../../domain/order.ts'
import { trustedTime } from '../../domain/policy.ts'
import { nativeOf } from '../../domain/token.ts'
import type { Hex } from '../../domain/units.ts'
import { baseUnits } from '../../domain/units.ts'
import type { AccountView, ChainFault } from '../../ports.ts'
import { delegationRefusal } from '../authority/delegation.ts'
import {
  type Closing,
  closeUnfilled,
  failure,
  haltedNow,
  mayNotStart,
  refusal,
  skipped,
} from '../close.ts'
import { type AggregatorContext, askChain, type OrderContext } from '../context.ts'
import { bookOnPaper } from '../paper.ts'
import { hashCall } from './data.ts'
import { submitCall } from './submit.ts'

/** Gas that the proposer and the transaction around it use beside the call itself, with room. */
const ENVELOPE_GAS = 150_000n
/**
 * The block's number is added, in wei. The service leaves the account's nonce as it is and takes the same bytes for the
 * same transaction, so the next call with equal calldata has to differ somewhere; it begins in a later block.
 */
const PRIORITY_FEE_WEI = 1_000_000_000n
/** What a call's deadline leaves after the direct fallback may have begun, so that it can still be mined. */
const FALLBACK_ROOM_MS = 120_000

type Step = { readonly tag: 'sent' } | { readonly tag: 'stopped' } | Closing

/**
 * One attempt of a planned call: look at the account, simulate, journal, sign, submit. Calls of an account go one at
 * a time, because one signed call per nonce may be live (rule A1).
 */
export async function attemptCall(context: OrderContext, open: OpenCall): Promise<void> {
  const { aggregator } = context
  const step =
    aggregator === undefined
      ? failure('aggregator-missing', 'the config has no aggregator section')
      : ((await waitForTurn(context, open)) ?? (await tryCall(context, aggregator, open)))
  if (step.tag === 'sent' || step.tag === 'stopped') return
  await closeUnfilled(context, open, step)
}

/** Waits until no other call of the account is live. */
async function waitForTurn(context: OrderContext, open: OpenCall): Promise<Step | undefined> {
  const { clock } = context.ports
  for (;;) {
    const barred = mayNotStart(context, open)
    if (barred !== undefined) return barred
    if (!isAccountBusy(context, open)) return undefined
    await clock.sleep(context.policy.pollMsMin, context.closing)
    if (context.closing.aborted) return { tag: 'stopped' }
  }
}

function isAccountBusy(context: OrderContext, open: OpenCall): boolean {
  for (const other of context.ports.journal.state.intents.values()) {
    if (other === open || other.venue !== 'aggregated') continue
    if (other.intent.owner === open.intent.owner && hasLiveAuthorization(other.state)) return true
  }
  return false
}

async function tryCall(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
): Promise<Step> {
  const { intent } = open
  const { settings, chain, wallet } = aggregator
  if (intent.owner !== wallet.signer.address)
    return refusal('owner-mismatch', `it was decided for ${intent.owner}`)
  if (!settings.targets.includes(intent.target))
    return refusal('target-not-allowed', `${intent.target} is not in aggregator.targets`)
  const read = await askChain(context, 'reading the account', () =>
    chain.account({ account: intent.owner, gasTank: settings.contracts.gasTank }),
  )
  if (!read.ok) return failure('chain-unavailable', read.fault.message)
  const view = read.value
  const undelegated = delegationRefusal(aggregator, view)
  if (undelegated !== undefined) return undelegated
  if (view.balance < intent.value)
    return failure('insufficient-balance', `the account holds ${view.balance} wei`)
  const simulated = await askChain(context, 'simulating the call', () =>
    chain.simulate({
      from: intent.owner,
      to: intent.target,
      data: intent.calldata,
      value: intent.value,
      gas: intent.gasLimit + transactionGas(intent.calldata),
    }),
  )
  if (!simulated.ok) return simulationFailure(simulated.fault)
  if (context.mode === 'dry-run') return bookCall(context, open, view)
  const funds = await aggregator.service.accountInfo(intent.owner)
  return record(context, aggregator, open, {
    view,
    directGas: simulated.value.gasUsed,
    availableWei: funds.ok ? funds.value.balance - funds.value.outstandingCharge : undefined,
  })
}

/** Dry-run ends here: the call would be made, and counts as executed. */
async function bookCall(context: OrderContext, open: OpenCall, view: AccountView): Promise<Step> {
  const { blockTimeSeconds } = view
  const localMs = context.ports.clock.now()
  const time = trustedTime({ localMs, serviceOffsetMs: undefined, blockTimeSeconds })
  if (!time.ok) return failure(time.reason, time.detail)
  const barred = capHit(context, open.intent, time.nowMs) ?? haltedNow(context)
  if (barred !== undefined) return barred
  await bookOnPaper(context, open, { paid: open.intent.value, received: baseUnits(0n) })
  return { tag: 'sent' }
}

function simulationFailure({ tag, message }: ChainFault): Closing {
  if (tag === 'refused') return failure('call-reverts', message)
  return failure(tag === 'unavailable' ? 'chain-unavailable' : 'insufficient-balance', message)
}

type Sight = {
  readonly view: AccountView
  readonly directGas: bigint
  readonly availableWei: bigint | undefined
}

/** Gas of an Ethereum transaction beside its execution, at most: the base and 16 for each byte of calldata. */
function transactionGas(calldata: Hex): bigint {
  return 21_000n + 16n * BigInt((calldata.length - 2) / 2)
}

/** The moment that matters: caps and the nonce are checked and the record is made without a pause in between. */
async function record(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  sight: Sight,
): Promise<Step> {
  const { clock, journal } = context.ports
  const localMs = clock.now()
  const { blockTimeSeconds } = sight.view
  const time = trustedTime({ localMs, serviceOffsetMs: undefined, blockTimeSeconds })
  if (!time.ok) return failure(time.reason, time.detail)
  const built = buildRecord(aggregator, open, sight, time.nowMs)
  if ('tag' in built) return built
  const hit = capHit(context, open.intent, time.nowMs)
  const barred = hit ?? haltedNow(context)
  if (barred !== undefined) return barred
  if (context.closing.aborted || isAccountBusy(context, open)) return { tag: 'stopped' }
  await journal.append({ type: 'call-recorded', intentId: open.intent.id, call: built })
  const haltedSince = haltedNow(context)
  if (haltedSince !== undefined) {
    const { attempt } = built
    const withdrawn = { intentId: open.intent.id, attempt, reason: 'halted' } as const
    await journal.append({ type: 'authorization-withdrawn', ...withdrawn })
    return haltedSince
  }
  await submitCall(context, aggregator, open, built, 'ends-order')
  return { tag: 'sent' }
}

function buildRecord(
  { settings, wallet }: AggregatorContext,
  open: OpenCall,
  { view, directGas, availableWei }: Sight,
  nowMs: number,
): CallRecord | Closing {
  const { intent, attempt } = open
  const trustless = settings.proposer === 'trustless'
  const maxPriorityFeePerGas = PRIORITY_FEE_WEI + view.blockNumber
  const base = {
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    chainId: wallet.chainId,
    account: intent.owner,
    target: intent.target,
    value: intent.value,
    calldata: intent.calldata,
    gasLimit: intent.gasLimit,
    fromBlock: view.blockNumber,
    directGas,
    availableWei,
    envelope: {
      to: trustless ? settings.contracts.trustlessProposer : intent.target,
      nonce: view.transactionCount,
      gas: intent.gasLimit + ENVELOPE_GAS,
      value: trustless ? 0n : intent.value,
      maxFeePerGas: view.baseFeePerGas * 2n + maxPriorityFeePerGas,
      maxPriorityFeePerGas,
    },
  } as const
  if (!trustless) return { ...base, trust: 'trusted' }
  const verifyingContract = resolveVerifyingContract({
    answered: view.domain,
    chainId: wallet.chainId,
    proposer: settings.contracts.trustlessProposer,
    account: intent.owner,
  })
  if (verifyingContract === undefined || view.nestedNonce === undefined)
    return refusal('proposer-mismatch', 'the account does not answer as a TrustlessProposer')
  const lifetimeMs = settings.fallback.deadlineMs + FALLBACK_ROOM_MS
  const call = {
    ...base,
    verifyingContract,
    deadlineSeconds: Math.ceil((nowMs + lifetimeMs) / 1000),
    nonce: view.nestedNonce,
  }
  return { ...call, trust: 'trustless', digest: hashCall(call) }
}

function capHit(context: OrderContext, intent: CallIntent, nowMs: number): Closing | undefined {
  const strategy = context.strategies.get(intent.strategy)
  if (strategy === undefined) return undefined
  const hit = limitHit(context.ports.journal.state, {
    strategy: intent.strategy,
    token: nativeOf(context.chainId),
    amount: intent.value,
    nowMs,
    limits: strategy.limits,
    account: context.account,
  })
  return hit === undefined ? undefined : skipped(hit, nowMs)
}
