import { firstFreeNonce, openCalls } from '../../domain/book/calls.ts'
import { etherWords } from '../../domain/book/costs.ts'
import type { DaemonState, OpenCall } from '../../domain/book/state.ts'
import { gasInDay } from '../../domain/book/transactions.ts'
import { type CallRecord, resolveVerifyingContract } from '../../domain/call.ts'
import { gasRefusal } from '../../domain/gas.ts'
import { type CallIntent, clientOrderId } from '../../domain/intent.ts'
import { hasLiveAuthorization } from '../../domain/order.ts'
import type { AggregatorSettings } from '../../domain/settings.ts'
import { type Address, baseUnits } from '../../domain/units.ts'
import type { AccountView, ChainFault, ChainReply } from '../../ports.ts'
import { availableOf } from '../account/deposit.ts'
import { askChainOnce, soon, trustedNow } from '../ask.ts'
import { callContracts, codeStep } from '../authority/code.ts'
import { delegationRefusal } from '../authority/delegation.ts'
import { bookOnPaper, capHit } from '../authorization.ts'
import { type Closing, failure, mayNotStart, refusal } from '../close.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { doubtfulNonces } from '../evidence.ts'
import { clockDoubt, type Step, trouble, tryPatiently } from '../patience.ts'
import { hashCall } from './data.ts'
import { envelopeFees } from './envelope.ts'
import { targetGas as gasOfTarget, proposerGas } from './gas.ts'
import { sendCall } from './send.ts'

/** Gas that the proposer and the transaction around it use beside the call itself, with room. */
const ENVELOPE_GAS = 150_000n

/** A call on record, to be given to the service. */
type Recorded = { readonly tag: 'recorded'; readonly call: CallRecord }

/**
 * One attempt of a planned call: look at the account, simulate, journal, sign, submit; again while only time is lacking.
 * Calls of an account go one at a time, because one signed call per nonce may be live (rule A1).
 */
export async function attemptCall(
  context: OrderContext,
  open: OpenCall,
): Promise<Closing | undefined> {
  const { aggregator, policy } = context
  if (aggregator === undefined)
    return failure('aggregator-missing', 'the config has no aggregator section')
  return tryPatiently(context, open, {
    barred: () => mayNotStart(context, open),
    clocks: () => clockDoubt(context, aggregator.chain),
    atOnceMax: policy.requestTriesMax,
    async tryOnce() {
      const uncompared = context.uncompared('aggregated')
      if (uncompared !== undefined) return trouble('chain-unavailable', uncompared)
      const doubtful = codeRefusal(context, aggregator, open)
      if (doubtful !== undefined) return doubtful
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

/** Waits until no other call of the account is live. */
async function waitForTurn(context: OrderContext, open: OpenCall): Promise<Step | undefined> {
  const { clock } = context.ports
  while (isAccountBusy(context, open)) {
    await clock.sleep(context.policy.pollMsMin, context.closing)
    if (context.closing.aborted) return { tag: 'stopped' }
    if (mayNotStart(context, open) !== undefined) return BARRED
  }
  return undefined
}

const BARRED = { tag: 'barred' } as const

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

/**
 * From reading the account to having recorded the call no other call of it begins: one that began and ended in between would
 * have used the nonce that was read (rule A1).
 */
async function recordInTurn(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  { simulated, availableWei }: Asked,
): Promise<Step | Recorded> {
  const { intent } = open
  const { settings, chain } = aggregator
  // It may have waited for its turn, and whoever had it before may have recorded a call.
  if (mayNotStart(context, open) !== undefined || isAccountBusy(context, open)) return BARRED
  const read = await askChainOnce(context, 'reading the account', () =>
    chain.account({ account: intent.owner, gasTank: settings.contracts.gasTank }),
  )
  if (!read.ok) return unread('account', read.fault)
  const view = read.value
  const place = { chainId: aggregator.wallet.chainId, wallet: intent.owner }
  if (context.mode !== 'dry-run') {
    const doubt = await doubtfulNonces(context, chain, place, view)
    if (doubt !== undefined)
      return mayNotStart(context, open) ?? trouble('chain-unavailable', doubt)
  }
  const unfit = unfitNow(aggregator, intent, view)
  if (unfit !== undefined) return unfit
  if (!simulated.ok) return simulationFailure(simulated.fault)
  const sight = { view, directGas: simulated.value.gasUsed, availableWei }
  const tooLow = gasLimitRefusal(aggregator, intent, sight)
  if (tooLow !== undefined) return tooLow
  return context.mode === 'dry-run'
    ? bookCall(context, open, view)
    : record(context, aggregator, open, sight)
}

/** What was asked before it is the call's turn. */
type Asked = {
  readonly simulated: ChainReply<{ readonly gasUsed: bigint }>
  readonly availableWei: bigint | undefined
}

function unread(route: 'simulate' | 'account', { tag: cause, message }: ChainFault): Step {
  return trouble('chain-unavailable', message, { again: { service: 'rpc', route, cause } })
}

/** What the account as it is now bars the call for. */
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

/** Dry-run ends here: the call would be made, and counts as executed. */
async function bookCall(context: OrderContext, open: OpenCall, view: AccountView): Promise<Step> {
  const { value } = open.intent
  const time = trustedNow(context, view)
  if (!time.ok) return trouble(time.reason, time.detail)
  const hit = capHit(context, open, { amount: value, nowMs: time.nowMs })
  const barred = hit ?? mayNotStart(context, open)
  if (barred !== undefined) return barred
  await bookOnPaper(context, open, { paid: value, received: baseUnits(0n), feed: undefined })
  return { tag: 'sent' }
}

/** A limit that the whole call cannot keep to: its batch would revert, or the account's own code would. */
function gasLimitRefusal(
  { settings }: AggregatorContext,
  { calldata, value, gasLimit }: CallIntent,
  { view, directGas }: Pick<Sight, 'view' | 'directGas'>,
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

type Sight = {
  readonly view: AccountView
  readonly directGas: bigint
  readonly availableWei: bigint | undefined
}

/** The moment that matters: caps and the nonce are checked and the record is made without a pause in between. */
async function record(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  sight: Sight,
): Promise<Step | Recorded> {
  const time = trustedNow(context, sight.view)
  if (!time.ok) return trouble(time.reason, time.detail)
  const fromBlock = context.comparedTo('aggregated') ?? sight.view.blockNumber
  const { journal, clock } = context.ports
  const { chainId } = aggregator.wallet
  const gasToday = gasInDay(journal.state, { chainId, nowMs: clock.now() })
  const seen = { ...sight, fromBlock, gasToday }
  const built = buildRecord(aggregator, open, seen, time.nowMs)
  if (built.tag !== 'recorded') return built
  const { call } = built
  const behind = nodeBehind(journal.state, call)
  if (behind !== undefined) return behind
  const { intent } = open
  const hit = capHit(context, open, { amount: intent.value, nowMs: time.nowMs })
  const barred = hit ?? mayNotStart(context, open) ?? codeRefusal(context, aggregator, open)
  if (barred !== undefined) return barred
  if (context.closing.aborted || isAccountBusy(context, open)) return BARRED
  await journal.append({ type: 'call-recorded', intentId: intent.id, call })
  return built
}

/** A nonce that a call of ours is proven to have used is never signed again, whatever a node says. */
function nodeBehind(state: DaemonState, call: CallRecord): Step | undefined {
  if (call.trust === 'trusted') return undefined
  const free = firstFreeNonce(state, call)
  if (call.nonce >= free) return undefined
  return trouble('chain-stale', `the node says nonce ${call.nonce}, which is used: ${free} is next`)
}

/** Whom the transaction of a trustless call is addressed to: the service reads the call out of either. */
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
  }: Sight & { readonly fromBlock: bigint; readonly gasToday: bigint },
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
  if (dear !== undefined) return trouble('gas-too-dear', dear)
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
