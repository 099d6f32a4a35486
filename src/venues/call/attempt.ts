import { gasRefusal } from '../../domain/money/gas.ts'
import { baseUnits } from '../../domain/money/units.ts'
import { type CallRecord, resolveVerifyingContract } from '../../domain/order/call.ts'
import { type CallIntent, clientOrderId } from '../../domain/order/intent.ts'
import { hasLiveAuthorization } from '../../domain/order/order.ts'
import { callRecorded } from '../../journal/events/order/authorizations.ts'
import { gasInDay } from '../../journal/projections/transactions.ts'
import type { DaemonState, OpenCall } from '../../journal/state/daemon-state.ts'
import { etherText } from '../../journal/wording/costs.ts'
import type { AccountView, ChainReply } from '../../ports.ts'
import { hashCall } from '../../signing/call-data.ts'
import { callContracts } from '../../signing/contract-code-policy.ts'
import { capHit, recordPaperFill } from '../authorization.ts'
import { askChainOnce, soon, trustedNow } from '../chain-requests.ts'
import { type Closing, delegationRefusal, failure, mayNotStart, refusal } from '../close.ts'
import {
  type AggregatorContext,
  type CallContext,
  hasAggregator,
  type OrderContext,
} from '../context.ts'
import { unexplainedNonces } from '../evidence.ts'
import {
  clockConflict,
  codeStep,
  retryChain,
  retryLater,
  retryUntilEnd,
  type Step,
} from '../retry.ts'
import { availableOf } from '../wallet/deposit.ts'
import { targetGas as gasOfTarget, proposerGas } from './call-gas.ts'
import { firstFreeNonce, openCalls } from './call-projection.ts'
import { envelopeFees } from './envelope.ts'
import { sendCall } from './send.ts'

/** Gas of the proposer and the enclosing transaction, without the call; includes a margin. */
const ENVELOPE_GAS = 150_000n

type Recorded = { readonly tag: 'recorded'; readonly call: CallRecord }

/**
 * One attempt of a planned call: read the account, simulate, journal, sign, submit. Repeats while only time is lacking.
 * Calls of an account run one at a time, because only one signed call per nonce may be live (rule A1).
 */
export async function attemptCall(
  context: OrderContext,
  open: OpenCall,
): Promise<Closing | undefined> {
  if (!hasAggregator(context))
    return failure('aggregator-missing', 'the config has no aggregator section')
  return retryUntilEnd(context, open, {
    blocked: () => mayNotStart(context, open),
    clocks: () => clockConflict(context, context.aggregator.chain),
    atOnceMax: context.policy.requestTriesMax,
    async tryOnce() {
      const uncompared = context.compared.account.missing()
      if (uncompared !== undefined) return retryLater('chain-unavailable', uncompared)
      const unexplained = codeRefusal(context, open)
      if (unexplained !== undefined) return unexplained
      const step = (await waitForTurn(context, open)) ?? (await tryCall(context, open))
      return step.tag === 'recorded' ? sendCall(context, open, step.call) : step
    },
  })
}

function codeRefusal(context: CallContext, { intent }: OpenCall) {
  const { settings, wallet } = context.aggregator
  const addresses = callContracts(settings, intent.target)
  return codeStep(context, { chainId: wallet.chainId, addresses })
}

async function waitForTurn(context: OrderContext, open: OpenCall): Promise<Step | undefined> {
  const { clock } = context.ports
  while (isAccountBusy(context, open)) {
    await clock.sleep(context.policy.pollMsMin, context.closing)
    if (context.closing.aborted) return { tag: 'stopped' }
    if (mayNotStart(context, open) !== undefined) return BLOCKED
  }
  return undefined
}

const BLOCKED = { tag: 'blocked' } as const

function isAccountBusy(context: OrderContext, open: OpenCall): boolean {
  return openCalls(context.ports.journal.state).some(
    (other) =>
      other !== open &&
      other.intent.owner === open.intent.owner &&
      hasLiveAuthorization(other.state),
  )
}

async function tryCall(context: CallContext, open: OpenCall): Promise<Step | Recorded> {
  const { intent } = open
  const { settings, chain, wallet, service, callTurn } = context.aggregator
  if (intent.owner !== wallet.signer.address)
    return refusal('owner-mismatch', `it was decided for ${intent.owner}`)
  if (![...settings.targets.values()].includes(intent.target))
    return refusal('target-not-allowed', `${intent.target} is not in aggregator.targets`)
  const isDry = context.mode === 'dry-run'
  const funds = isDry ? undefined : await soon(context.ports, service.accountInfo())
  const simulated = await askChainOnce(context, 'simulating the call', () =>
    chain.simulate({
      from: intent.owner,
      to: intent.target,
      data: intent.calldata,
      value: intent.value,
    }),
  )
  if (!simulated.ok && simulated.fault.tag === 'unavailable')
    return retryChain('simulate', simulated.fault)
  const availableWei = funds?.ok === true ? availableOf(funds.value) : undefined
  return callTurn(() => recordInTurn(context, open, { simulated, availableWei }))
}

/** Runs in the account's turn: another call recorded in between could use the same nonce (rule A1). */
async function recordInTurn(
  context: CallContext,
  open: OpenCall,
  input: { readonly simulated: SimulatedCall; readonly availableWei: bigint | undefined },
): Promise<Step | Recorded> {
  const { intent } = open
  const { simulated, availableWei } = input
  const { settings, chain, wallet } = context.aggregator
  // Another call may have been recorded while this one waited.
  if (mayNotStart(context, open) !== undefined || isAccountBusy(context, open)) return BLOCKED
  const read = await askChainOnce(context, 'reading the account', () =>
    chain.account({ account: intent.owner, gasTank: settings.contracts.gasTank }),
  )
  if (!read.ok) return retryChain('account', read.fault)
  const view = read.value
  const place = { chainId: wallet.chainId, wallet: intent.owner }
  if (context.mode !== 'dry-run') {
    const conflict = await unexplainedNonces(context, chain, place, view)
    if (conflict !== undefined)
      return mayNotStart(context, open) ?? retryLater('chain-unavailable', conflict)
  }
  const unfit = unfitNow(context.aggregator, intent, view)
  if (unfit !== undefined) return unfit
  if (!simulated.ok) {
    const { tag, message } = simulated.fault
    return failure(tag === 'refused' ? 'call-reverts' : 'insufficient-balance', message)
  }
  const snapshot = { view, directGas: simulated.value.gasUsed, availableWei }
  const tooLow = gasLimitRefusal(context.aggregator, intent, snapshot)
  if (tooLow !== undefined) return tooLow
  return context.mode === 'dry-run'
    ? fillCallOnPaper(context, open, view)
    : record(context, open, snapshot)
}

type SimulatedCall = ChainReply<{ readonly gasUsed: bigint }>

function unfitNow(
  aggregator: AggregatorContext,
  { value }: CallIntent,
  view: AccountView,
): Closing | undefined {
  const undelegated = delegationRefusal(aggregator, view)
  if (undelegated !== undefined) return undelegated
  if (view.balance >= value) return undefined
  const detail = `the account holds ${etherText(view.balance)}, the call carries ${etherText(value)}`
  return failure('insufficient-balance', detail)
}

/** Dry run: the call counts as executed. */
async function fillCallOnPaper(
  context: OrderContext,
  open: OpenCall,
  view: AccountView,
): Promise<Step> {
  const { value } = open.intent
  const time = trustedNow(context, view)
  if (!time.ok) return retryLater(time.reason, time.detail)
  const hit = capHit(context, open, { amount: value, nowMs: time.nowMs })
  const blocked = hit ?? mayNotStart(context, open)
  if (blocked !== undefined) return blocked
  await recordPaperFill(context, open, { paid: value, received: baseUnits(0n), feed: undefined })
  return { tag: 'sent' }
}

/** Rejects a gas limit below the whole call's need: its batch or the account's code would revert. */
function gasLimitRefusal(
  { settings }: AggregatorContext,
  { calldata, value, gasLimit }: CallIntent,
  { view, directGas }: Pick<Snapshot, 'view' | 'directGas'>,
): Closing | undefined {
  const targetGas = gasOfTarget({ calldata, directGas })
  const nonce = view.nestedNonce ?? 0n
  const ownGas =
    settings.proposer === 'trustless' ? proposerGas({ calldata, value, nonce, targetGas }) : 0n
  const needed = targetGas + ownGas
  if (gasLimit >= needed) return undefined
  const detail = `gasLimit ${gasLimit} is too low: the whole call may take ${needed}, of which the target ${targetGas} and the proposer's own code ${ownGas}`
  return refusal('gas-limit-too-low', detail)
}

type Snapshot = {
  readonly view: AccountView
  readonly directGas: bigint
  readonly availableWei: bigint | undefined
}

/** Checks caps and nonce, then makes the record without yielding in between. */
async function record(
  context: CallContext,
  open: OpenCall,
  snapshot: Snapshot,
): Promise<Step | Recorded> {
  const time = trustedNow(context, snapshot.view)
  if (!time.ok) return retryLater(time.reason, time.detail)
  const fromBlock = context.compared.account.upTo() ?? snapshot.view.blockNumber
  const { journal, clock } = context.ports
  const { chainId } = context.aggregator.wallet
  const gasToday = gasInDay(journal.state, { chainId, nowMs: clock.now() })
  const seen = { ...snapshot, fromBlock, gasToday }
  const built = buildRecord(context.aggregator, open, seen, time.nowMs)
  if (built.tag !== 'recorded') return built
  const { call } = built
  const behind = nodeBehind(journal.state, call)
  if (behind !== undefined) return behind
  const { intent } = open
  const hit = capHit(context, open, { amount: intent.value, nowMs: time.nowMs })
  const blocked = hit ?? mayNotStart(context, open) ?? codeRefusal(context, open)
  if (blocked !== undefined) return blocked
  if (context.closing.aborted || isAccountBusy(context, open)) return BLOCKED
  await journal.append(callRecorded({ intentId: intent.id, call }))
  return built
}

/** A nonce that one of our calls provably used is never signed again, even if a node reports it as unused. */
function nodeBehind(state: DaemonState, call: CallRecord): Step | undefined {
  if (call.trust === 'trusted') return undefined
  const free = firstFreeNonce(state, call)
  if (call.nonce >= free) return undefined
  const detail = `the node says nonce ${call.nonce}, which is used: ${free} is next`
  return retryLater('chain-stale', detail)
}

function buildRecord(
  { settings, wallet }: AggregatorContext,
  open: OpenCall,
  seen: Snapshot & { readonly fromBlock: bigint; readonly gasToday: bigint },
  nowMs: number,
): Recorded | Step {
  const { view, directGas, availableWei, fromBlock, gasToday } = seen
  const { intent, attempt } = open
  const { target, value, calldata, gasLimit, owner } = intent
  const trustless = settings.proposer === 'trustless'
  const { trustlessProposer } = settings.contracts
  // The service accepts either address as receiver of a trustless call's transaction.
  const carrier = settings.wire.envelopeTo === 'account' ? owner : trustlessProposer
  const orderId = clientOrderId(intent.id, attempt)
  const offer = {
    gas: gasLimit + ENVELOPE_GAS,
    ...envelopeFees(orderId, view.baseFeePerGas),
  }
  const dear = gasRefusal(wallet.gas, offer, gasToday)
  if (dear !== undefined) return retryLater('gas-too-dear', dear)
  const base = {
    attempt,
    clientOrderId: orderId,
    chainId: wallet.chainId,
    account: owner,
    target,
    value,
    calldata,
    gasLimit,
    fromBlock,
    directGas,
    availableWei,
    envelope: {
      to: trustless ? carrier : target,
      nonce: view.transactionCount,
      value: trustless ? 0n : value,
      ...offer,
    },
  } as const
  if (!trustless) return { tag: 'recorded', call: { ...base, trust: 'trusted' } }
  const verifyingContract = resolveVerifyingContract({
    answered: view.domain,
    chainId: wallet.chainId,
    proposer: trustlessProposer,
    account: owner,
  })
  if (verifyingContract === undefined || view.nestedNonce === undefined)
    return refusal('proposer-mismatch', 'the account does not answer as a TrustlessProposer')
  const call = {
    ...base,
    verifyingContract,
    deadlineSeconds: Math.ceil((nowMs + settings.fallback.deadlineMs) / 1000),
    nonce: view.nestedNonce,
  }
  return { tag: 'recorded', call: { ...call, trust: 'trustless', digest: hashCall(call) } }
}
