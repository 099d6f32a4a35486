import type { Hex } from '../../domain/money/units.ts'
import type { CallRecord, TrustlessCall } from '../../domain/order/call.ts'
import { callProven } from '../../journal/events/order/fills.ts'
import type { OpenCall } from '../../journal/state/daemon-state.ts'
import type { AccountView, CallChain, CallTrace, SeenBlock } from '../../ports.ts'
import { callMark } from '../../signing/call-data.ts'
import { executedBy, type Resolution, recordDeath } from '../authorization.ts'
import { delegationRefusal } from '../close.ts'
import { reportConflict } from '../conflict.ts'
import { type CallContext, hasAggregator, type OrderContext } from '../context.ts'
import { askFinal, isOver, isWatched, searchStart } from '../finality.ts'
import { costsOf } from './call-costs.ts'
import { callClaim, isOutrun, LAG_SECONDS } from './call-projection.ts'
import { directId } from './submit.ts'

/** A used nonce without a known transaction counts as cancelled only this long after the deadline. */
const CANCELLED_AFTER_SECONDS = 120
/** True if a recorded call belongs to the configured wallet and chain. */
export function isOwnCall({ aggregator }: CallContext, call: CallRecord): boolean {
  const { wallet } = aggregator
  return call.chainId === wallet.chainId && call.account === wallet.signer.address
}

/**
 * Reads the outcome of the current call from the chain and journals what is certain. `hint` is a transaction named by the
 * service; it counts only if it contains our call (rule A3).
 */
export async function resolveCall(
  context: OrderContext,
  open: OpenCall,
  hint?: Hex,
): Promise<Resolution<AccountView>> {
  const { call } = open
  if (!hasAggregator(context) || call === undefined || !isOwnCall(context, call))
    return { tag: 'unknown' }
  const { aggregator } = context
  const { gasTank } = aggregator.settings.contracts
  const reply = await aggregator.chain.account({ account: call.account, gasTank })
  if (!reply.ok) {
    const { message } = reply.fault
    context.ports.observe({ type: 'chain-trouble', doing: 'resolving a call', message })
    return { tag: 'unknown' }
  }
  const view = reply.value
  if (call.trust === 'trusted') {
    const { traces, isComplete } = await known(context, { open, call, hint })
    if (await proveIn(context, open, { traces, view })) return { tag: 'moved' }
    return isComplete ? { tag: 'open', view } : { tag: 'unknown' }
  }
  // Another of our calls used its nonce, so no search is needed.
  if (isOutrun(context.ports.journal.state, call)) {
    await recordDeath(context, open, { attempt: call.attempt, view, how: 'expired' })
    return { tag: 'moved' }
  }
  // Only the proposer's own answer counts: other code may misreport a used nonce.
  const isProposer = delegationRefusal(aggregator, view) === undefined
  if (isProposer && view.nestedNonce === undefined) return { tag: 'unknown' }
  const isUnused = isProposer && view.nestedNonce !== undefined && view.nestedNonce <= call.nonce
  if (!isUnused) return findExecution(context, open, { view, hint })
  return expire(context, open, { call, view })
}

/** A nonce unused at a final block past the deadline can never be used (rules A1, T6). */
async function expire(
  context: CallContext,
  open: OpenCall,
  { call, view }: { readonly call: TrustlessCall; readonly view: AccountView },
): Promise<Resolution<AccountView>> {
  if (view.blockTimeSeconds <= call.deadlineSeconds) return { tag: 'open', view }
  const final = await finalAccount(context, call)
  const isDead = final?.nestedNonce !== undefined && final.nestedNonce <= call.nonce
  if (!isDead) return { tag: 'open', view }
  await recordDeath(context, open, { attempt: call.attempt, view: final, how: 'expired' })
  return { tag: 'moved' }
}

/** The account at a final block past the call's deadline; undefined if there is none yet. */
async function finalAccount(
  context: CallContext,
  { account, deadlineSeconds }: TrustlessCall,
): Promise<(SeenBlock & { readonly nestedNonce: bigint | undefined }) | undefined> {
  const final = await askFinal(context, 'finding a call dead', (query) =>
    context.aggregator.chain.finalAccount({ ...query, account }),
  )
  if (final === undefined) return undefined
  return isOver(context, deadlineSeconds, final, undefined) ? final : undefined
}

type Known = {
  readonly traces: readonly CallTrace[]
  /** False if a possible match could not be read. */
  readonly isComplete: boolean
}

/**
 * Transactions known without a search: the service's hint, our direct transactions, the one that executed the call before a
 * reorg, and the transaction given to the service, which it may have broadcast unmodified.
 */
export async function known(
  context: CallContext,
  of: { readonly open: OpenCall; readonly call: CallRecord; readonly hint: Hex | undefined },
): Promise<Known> {
  const { open, call, hint } = of
  const { directCalls, endedTransactions } = context.ports.journal.state
  const hashes = new Set(directCalls.get(call.clientOrderId))
  for (const named of [open.envelopeHash, open.executedIn, hint, open.orderId as Hex | undefined])
    if (named !== undefined) hashes.add(named)
  const replies = await Promise.all([...hashes].map((hash) => context.aggregator.chain.trace(hash)))
  const traces = replies.flatMap((reply) => (reply.ok ? (reply.value ?? []) : []))
  const isMined = endedTransactions.get(directId(call)) === 'mined'
  const isSeen = !isMined || traces.some(({ from }) => from === call.account)
  return { traces, isComplete: isSeen && replies.every(({ ok }) => ok) }
}

/** Handles a nonce that is used, or whose use is unknown: checks known transactions, then searches. */
async function findExecution(
  context: CallContext,
  open: OpenCall,
  { view, hint }: { readonly view: AccountView; readonly hint: Hex | undefined },
): Promise<Resolution<AccountView>> {
  const { call } = open
  if (call?.trust !== 'trustless') return { tag: 'open', view }
  const isLate = view.blockTimeSeconds > call.deadlineSeconds + CANCELLED_AFTER_SECONDS
  const final = isLate ? await finalAccount(context, call) : undefined
  const named = await known(context, { open, call, hint })
  const { traces } = named
  if (await proveIn(context, open, { traces, view })) return { tag: 'moved' }
  const atLeastBlock = final?.blockNumber ?? view.blockNumber
  const isThorough = final !== undefined
  const found = await searchCalls(context, call, { atLeastBlock, isThorough })
  if (!found.ok) {
    const { message } = found.fault
    context.ports.observe({ type: 'chain-trouble', doing: 'searching a call', message })
    return { tag: 'open', view }
  }
  const searched = { traces: found.value, view }
  if (await proveIn(context, open, searched)) return { tag: 'moved' }
  // Its own transaction may have used the nonce, and is still followed.
  const isFollowed = context.ports.journal.state.transactions.has(directId(call))
  if (final === undefined || !named.isComplete || isFollowed) return { tag: 'open', view }
  // A nonce that is used only at the newest block may become unused again.
  const isUnused = final.nestedNonce !== undefined && final.nestedNonce <= call.nonce
  if (isUnused && delegationRefusal(context.aggregator, view) === undefined)
    return { tag: 'open', view }
  await recordDeath(context, open, { attempt: call.attempt, view: final, how: 'cancelled' })
  return { tag: 'moved' }
}

/** Searches for transactions that contain the signed call, from its record to its deadline. */
export function searchCalls(
  { aggregator: { chain, settings } }: CallContext,
  call: TrustlessCall,
  search: { readonly atLeastBlock: bigint; readonly isThorough: boolean },
): ReturnType<CallChain['callsWith']> {
  return chain.callsWith({
    contract: settings.contracts.multicall,
    mark: callMark(call),
    fromBlock: searchStart(call),
    untilSeconds: call.deadlineSeconds,
    ...search,
  })
}

export async function proveIn(
  context: CallContext,
  open: OpenCall,
  { traces, view }: { readonly traces: readonly CallTrace[]; readonly view: AccountView },
): Promise<boolean> {
  const { call, intent } = open
  if (call === undefined) return false
  const isOurs = carries(context, { open, call })
  const trace = traces.find((each) => each.success && isOurs(each))
  if (trace === undefined) return false
  const via = trace.from === call.account ? 'direct' : 'aggregated'
  const orderId = open.orderId as Hex | undefined
  const costs = await costsOf(context, { call, trace, via, orderId })
  await context.ports.journal.append(
    callProven({
      intentId: intent.id,
      attempt: call.attempt,
      execution: {
        txHash: trace.hash,
        blockNumber: trace.blockNumber,
        ...(isWatched(context.aggregator.finality) ? { blockHash: trace.blockHash } : {}),
        via,
        costs,
      },
      blockTimeSeconds: view.blockTimeSeconds,
      executedBySeconds: executedBy(view, trace, LAG_SECONDS),
    }),
  )
  if (open.ended !== undefined && via === 'aggregated') {
    const detail = `the service said ${open.ended.status}, and the chain shows it executed in ${trace.hash}`
    const claim = { service: 'aggregator', what: 'ended', detail, moneyWaits: false } as const
    reportConflict(context, open, claim)
  }
  return true
}

/**
 * Recognizes transactions that contain our call. A trustless call has a unique nonce, deadline and gas limit for our
 * account. A trusted call is not unique, because every slot makes the same one. It is recognized by a hash that we signed,
 * or in a later batch of the service's contract that names account, target and calldata and proves no other call.
 */
export function carries(
  context: CallContext,
  { open, call }: { readonly open: OpenCall; readonly call: CallRecord },
): (trace: CallTrace) => boolean {
  const { claimedTransfers, directCalls } = context.ports.journal.state
  const parts = [call.account, call.target, call.calldata]
  const marks = parts.map((each) => each.slice(2).toLowerCase())
  if (call.trust === 'trustless') {
    const mark = callMark(call).slice(2)
    return ({ from, to, input }) => {
      const isOwn = from === call.account || to === call.account
      const held = isOwn ? marks.slice(1) : marks
      const text = input.toLowerCase()
      return text.includes(mark) && held.every((each) => text.includes(each))
    }
  }
  const own = new Set(directCalls.get(call.clientOrderId))
  if (open.envelopeHash !== undefined) own.add(open.envelopeHash)
  return ({ hash, to, blockNumber, input }) => {
    if (own.has(hash)) return true
    // It contained the call before its block was replaced.
    if (hash === open.executedIn) return !claimedTransfers.has(callClaim(call.account, hash))
    if (to !== context.aggregator.settings.contracts.multicall || blockNumber <= call.fromBlock)
      return false
    if (claimedTransfers.has(callClaim(call.account, hash))) return false
    return marks.every((mark) => input.toLowerCase().includes(mark))
  }
}
