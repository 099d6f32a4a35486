import { gasRefusal } from '../../domain/money/gas.ts'
import { type Address, baseUnits } from '../../domain/money/units.ts'
import { type CallRecord, resolveVerifyingContract } from '../../domain/order/call.ts'
import { type CallIntent, clientOrderId } from '../../domain/order/intent.ts'
import { hasLiveAuthorization } from '../../domain/order/order.ts'
import type { AggregatorSettings } from '../../domain/settings.ts'
import { callRecorded } from '../../journal/events/order/authorizations.ts'
import { gasInDay } from '../../journal/projections/transactions.ts'
import type { DaemonState, OpenCall } from '../../journal/state/daemon-state.ts'
import { etherWords } from '../../journal/wording/costs.ts'
import type { AccountView, ChainFault, ChainReply } from '../../ports.ts'
import { hashCall } from '../../signing/call-data.ts'
import { callContracts } from '../../signing/contract-code-policy.ts'
import { bookOnPaper, capHit } from '../authorization.ts'
import { askChainOnce, soon, trustedNow } from '../chain-requests.ts'
import { type Closing, delegationRefusal, failure, mayNotStart, refusal } from '../close.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { unexplainedNonces } from '../evidence.ts'
import { clockConflict, codeStep, retryLater, retryUntilEnd, type Step } from '../retry.ts'
import { availableOf } from '../wallet/deposit.ts'
import { targetGas as gasOfTarget, proposerGas } from './call-gas.ts'
import { firstFreeNonce, openCalls } from './call-projection.ts'
import { envelopeFees } from './envelope.ts'
import { sendCall } from './send.ts'

/** Gas of the proposer and the surrounding transaction besides the call, with margin. */
const ENVELOPE_GAS = 150_000n

type Recorded = { readonly tag: 'recorded'; readonly call: CallRecord }

/**
 * One attempt of a planned call: read the account, simulate, journal, sign, submit; repeated while only time is lacking.
 * Calls of an account run one at a time: one signed call per nonce may be live (rule A1).
 */
export async function attemptCall(
  context: OrderContext,
  open: OpenCall,
): Promise<Closing | undefined> {
  const { aggregator, policy } = context
  if (aggregator === undefined)
    return failure('aggregator-missing', 'the config has no aggregator section')
  return retryUntilEnd(context, open, {
    blocked: () => mayNotStart(context, open),
    clocks: () => clockConflict(context, aggregator.chain),
    atOnceMax: policy.requestTriesMax,
    async tryOnce() {
      const uncompared = context.compared.account.missing()
      if (uncompared !== undefined) return retryLater('chain-unavailable', uncompared)
      const unexplained = codeRefusal(context, aggregator, open)
      if (unexplained !== undefined) return unexplained
      const step = (await waitForTurn(context, open)) ?? (await tryCall(context, aggregator, open))
      return step.tag === 'recorded' ? sendCall(context, aggregator, open, step.call) : step
    },
  })
}

function codeRefusal(
  context: OrderContext,
  { settings, wallet: { chainId } }: AggregatorContext,
  { intent }: OpenCall,
) {
  return codeStep(context, { chainId, addresses: callContracts(settings, intent.target) })
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

async function tryCall(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
): Promise<Step | Recorded> {
  const { intent } = open
  const { settings, chain, wallet, service } = aggregator
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
    return unread('simulate', simulated.fault)
  const availableWei = funds?.ok === true ? availableOf(funds.value) : undefined
  return aggregator.callTurn(() =>
    recordInTurn(context, aggregator, open, { simulated, availableWei }),
  )
}

/** No other call begins between reading the account's nonce and recording the call: it could use it (rule A1). */
async function recordInTurn(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  { simulated, availableWei }: Asked,
): Promise<Step | Recorded> {
  const { intent } = open
  const { settings, chain } = aggregator
  // Another call may have been recorded while this one waited.
  if (mayNotStart(context, open) !== undefined || isAccountBusy(context, open)) return BLOCKED
  const read = await askChainOnce(context, 'reading the account', () =>
    chain.account({ account: intent.owner, gasTank: settings.contracts.gasTank }),
  )
  if (!read.ok) return unread('account', read.fault)
  const view = read.value
  const place = { chainId: aggregator.wallet.chainId, wallet: intent.owner }
  if (context.mode !== 'dry-run') {
    const conflict = await unexplainedNonces(context, chain, place, view)
    if (conflict !== undefined)
      return mayNotStart(context, open) ?? retryLater('chain-unavailable', conflict)
  }
  const unfit = unfitNow(aggregator, intent, view)
  if (unfit !== undefined) return unfit
  if (!simulated.ok) return simulationFailure(simulated.fault)
  const snapshot = { view, directGas: simulated.value.gasUsed, availableWei }
  const tooLow = gasLimitRefusal(aggregator, intent, snapshot)
  if (tooLow !== undefined) return tooLow
  return context.mode === 'dry-run'
    ? bookCall(context, open, view)
    : record(context, aggregator, open, snapshot)
}

type Asked = {
  readonly simulated: ChainReply<{ readonly gasUsed: bigint }>
  readonly availableWei: bigint | undefined
}

function unread(route: 'simulate' | 'account', { tag: cause, message }: ChainFault): Step {
  return retryLater('chain-unavailable', message, { again: { service: 'rpc', route, cause } })
}

function unfitNow(
  aggregator: AggregatorContext,
  { value }: CallIntent,
  view: AccountView,
): Closing | undefined {
  const undelegated = delegationRefusal(aggregator, view)
  if (undelegated !== undefined) return undelegated
  return view.balance < value
    ? failure(
        'insufficient-balance',
        `the account holds ${etherWords(view.balance)}, the call carries ${etherWords(value)}`,
      )
    : undefined
}

/** Dry run: the call counts as executed. */
async function bookCall(context: OrderContext, open: OpenCall, view: AccountView): Promise<Step> {
  const { value } = open.intent
  const time = trustedNow(context, view)
  if (!time.ok) return retryLater(time.reason, time.detail)
  const hit = capHit(context, open, { amount: value, nowMs: time.nowMs })
  const blocked = hit ?? mayNotStart(context, open)
  if (blocked !== undefined) return blocked
  await bookOnPaper(context, open, { paid: value, received: baseUnits(0n), feed: undefined })
  return { tag: 'sent' }
}

/** A limit that the whole call exceeds: its batch or the account's code would revert. */
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

function simulationFailure({ tag, message }: ChainFault): Closing {
  return failure(tag === 'refused' ? 'call-reverts' : 'insufficient-balance', message)
}

type Snapshot = {
  readonly view: AccountView
  readonly directGas: bigint
  readonly availableWei: bigint | undefined
}

/** Checks caps and nonce and makes the record without a pause in between. */
async function record(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  snapshot: Snapshot,
): Promise<Step | Recorded> {
  const time = trustedNow(context, snapshot.view)
  if (!time.ok) return retryLater(time.reason, time.detail)
  const fromBlock = context.compared.account.upTo() ?? snapshot.view.blockNumber
  const { journal, clock } = context.ports
  const { chainId } = aggregator.wallet
  const gasToday = gasInDay(journal.state, { chainId, nowMs: clock.now() })
  const seen = { ...snapshot, fromBlock, gasToday }
  const built = buildRecord(aggregator, open, seen, time.nowMs)
  if (built.tag !== 'recorded') return built
  const { call } = built
  const behind = nodeBehind(journal.state, call)
  if (behind !== undefined) return behind
  const { intent } = open
  const hit = capHit(context, open, { amount: intent.value, nowMs: time.nowMs })
  const blocked = hit ?? mayNotStart(context, open) ?? codeRefusal(context, aggregator, open)
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
  return retryLater(
    'chain-stale',
    `the node says nonce ${call.nonce}, which is used: ${free} is next`,
  )
}

/** Receiver of a trustless call's transaction: the service accepts either. */
function carrierOf({ wire, contracts }: AggregatorSettings, account: Address): Address {
  return wire.envelopeTo === 'account' ? account : contracts.trustlessProposer
}

function buildRecord(
  { settings, wallet }: AggregatorContext,
  open: OpenCall,
  {
    view,
    directGas,
    availableWei,
    fromBlock,
    gasToday,
  }: Snapshot & { readonly fromBlock: bigint; readonly gasToday: bigint },
  nowMs: number,
): Recorded | Step {
  const { intent, attempt } = open
  const trustless = settings.proposer === 'trustless'
  const orderId = clientOrderId(intent.id, attempt)
  const offer = {
    gas: intent.gasLimit + ENVELOPE_GAS,
    ...envelopeFees(orderId, view.baseFeePerGas),
  }
  const dear = gasRefusal(wallet.gas, offer, gasToday)
  if (dear !== undefined) return retryLater('gas-too-dear', dear)
  const base = {
    attempt,
    clientOrderId: orderId,
    chainId: wallet.chainId,
    account: intent.owner,
    target: intent.target,
    value: intent.value,
    calldata: intent.calldata,
    gasLimit: intent.gasLimit,
    fromBlock,
    directGas,
    availableWei,
    envelope: {
      to: trustless ? carrierOf(settings, intent.owner) : intent.target,
      nonce: view.transactionCount,
      value: trustless ? 0n : intent.value,
      ...offer,
    },
  } as const
  if (!trustless) return { tag: 'recorded', call: { ...base, trust: 'trusted' } }
  const verifyingContract = resolveVerifyingContract({
    answered: view.domain,
    chainId: wallet.chainId,
    proposer: settings.contracts.trustlessProposer,
    account: intent.owner,
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
