import { callClaim, isOutrun } from '../../domain/book/calls.ts'
import type { OpenCall } from '../../domain/book/state.ts'
import type { CallRecord, TrustlessCall } from '../../domain/call.ts'
import { CHAIN_LAG_MS_MAX } from '../../domain/policy.ts'
import type { Hex } from '../../domain/units.ts'
import type { AccountView, CallChain, CallTrace, Sight } from '../../ports.ts'
import { delegationRefusal } from '../authority/delegation.ts'
import { executedBy, type Resolution, recordDeath } from '../authorization.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { tellDoubt } from '../doubt.ts'
import { askFinal, isOver, isWatched } from '../finality.ts'
import { costsOf } from './costs.ts'
import { callMark } from './data.ts'
import { directId } from './submit.ts'

/** A used nonce without a transaction that can be found counts as cancelled only this long after the deadline. */
const CANCELLED_AFTER_SECONDS = 120
/** No service's clock confirms the machine's when a call is signed: it may be ahead of the chain by as much. */
const LAG_SECONDS = CHAIN_LAG_MS_MAX / 1000
/** A reorganisation may put an execution into a block below the head that its call was recorded at. */
const REORG_BLOCKS = 64n

/** Whether a call on record was made with the wallet and on the chain that the config names now. */
export function isOwnCall({ wallet }: AggregatorContext, call: CallRecord): boolean {
  return call.chainId === wallet.chainId && call.account === wallet.signer.address
}

/**
 * Asks the chain what became of the current call and journals what is certain. `hint` is a transaction that the
 * service named; it counts only if our call is inside it (rule A3).
 */
export async function resolveCall(
  context: OrderContext,
  open: OpenCall,
  hint?: Hex,
): Promise<Resolution<AccountView>> {
  const { aggregator } = context
  const { call } = open
  if (aggregator === undefined || call === undefined || !isOwnCall(aggregator, call))
    return { tag: 'unknown' }
  const { gasTank } = aggregator.settings.contracts
  const reply = await aggregator.chain.account({ account: call.account, gasTank })
  if (!reply.ok) {
    const { message } = reply.fault
    context.ports.observe({ type: 'chain-trouble', doing: 'resolving a call', message })
    return { tag: 'unknown' }
  }
  const view = reply.value
  if (call.trust === 'trusted') {
    const orderId = open.orderId as Hex | undefined
    const { traces, isComplete } = await known(context, aggregator, { open, call, orderId, hint })
    if (await proveIn(context, aggregator, open, { traces, view })) return { tag: 'moved' }
    return isComplete ? { tag: 'open', view } : { tag: 'unknown' }
  }
  // Our own call at its nonce is what the nonce was used for: there is nothing to search.
  if (isOutrun(context.ports.journal.state, call)) {
    await recordDeath(context, open, { attempt: call.attempt, view, how: 'expired' })
    return { tag: 'moved' }
  }
  // Only the proposer's own answer counts: other code may say anything of a nonce that is used up behind it.
  const isProposer = delegationRefusal(aggregator, view) === undefined
  if (isProposer && view.nestedNonce === undefined) return { tag: 'unknown' }
  const isUnused = isProposer && view.nestedNonce !== undefined && view.nestedNonce <= call.nonce
  if (!isUnused) return findExecution(context, aggregator, open, { view, hint })
  return expire(context, aggregator, open, { call, view })
}

/** An unused nonce at a final block past the deadline can never be used any more (rules A1, T6). */
async function expire(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  { call, view }: { readonly call: TrustlessCall; readonly view: AccountView },
): Promise<Resolution<AccountView>> {
  if (view.blockTimeSeconds <= call.deadlineSeconds) return { tag: 'open', view }
  const final = await finalAccount(context, aggregator, call)
  const isDead = final?.nestedNonce !== undefined && final.nestedNonce <= call.nonce
  if (!isDead) return { tag: 'open', view }
  await recordDeath(context, open, { attempt: call.attempt, view: final, how: 'expired' })
  return { tag: 'moved' }
}

/** The account at a final block past the call's deadline; undefined where there is none yet. */
async function finalAccount(
  context: OrderContext,
  { chain }: AggregatorContext,
  { account, deadlineSeconds }: TrustlessCall,
): Promise<(Sight & { readonly nestedNonce: bigint | undefined }) | undefined> {
  const final = await askFinal(context, 'finding a call dead', (query) =>
    chain.finalAccount({ ...query, account }),
  )
  if (final === undefined) return undefined
  return isOver(context, deadlineSeconds, { ...final, serviceOffsetMs: undefined })
    ? final
    : undefined
}

type Known = {
  readonly traces: readonly CallTrace[]
  /** False when one could not be read although it may be the one that is looked for. */
  readonly isComplete: boolean
}

/**
 * What can be named without a search: the service's hint, our direct transactions, the one that executed the call before a
 * reorganisation, and the transaction that the service was given, which it may have broadcast as it is.
 */
export async function known(
  context: OrderContext,
  aggregator: AggregatorContext,
  {
    open,
    call,
    orderId,
    hint,
  }: {
    readonly open: OpenCall
    readonly call: CallRecord
    readonly orderId: Hex | undefined
    readonly hint: Hex | undefined
  },
): Promise<Known> {
  const { directCalls, endedTransactions } = context.ports.journal.state
  const hashes = new Set(directCalls.get(call.clientOrderId))
  for (const named of [open.envelopeHash, open.executedIn, hint, orderId])
    if (named !== undefined) hashes.add(named)
  const replies = await Promise.all([...hashes].map((hash) => aggregator.chain.trace(hash)))
  const traces = replies.flatMap((reply) => (reply.ok ? (reply.value ?? []) : []))
  const isMined = endedTransactions.get(directId(call)) === 'mined'
  const isSeen = !isMined || traces.some(({ from }) => from === call.account)
  return { traces, isComplete: isSeen && replies.every(({ ok }) => ok) }
}

/** The nonce is used, or nobody can tell any more: by what can be named, or by what has to be searched for. */
async function findExecution(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  { view, hint }: { readonly view: AccountView; readonly hint: Hex | undefined },
): Promise<Resolution<AccountView>> {
  const { call } = open
  if (call?.trust !== 'trustless') return { tag: 'open', view }
  const isLate = view.blockTimeSeconds > call.deadlineSeconds + CANCELLED_AFTER_SECONDS
  const final = isLate ? await finalAccount(context, aggregator, call) : undefined
  const orderId = open.orderId as Hex | undefined
  const named = await known(context, aggregator, { open, call, orderId, hint })
  const { traces } = named
  if (await proveIn(context, aggregator, open, { traces, view })) return { tag: 'moved' }
  const atLeastBlock = final?.blockNumber ?? view.blockNumber
  const isThorough = final !== undefined
  const found = await searchCalls(aggregator, call, { atLeastBlock, isThorough })
  if (!found.ok) {
    const { message } = found.fault
    context.ports.observe({ type: 'chain-trouble', doing: 'searching a call', message })
    return { tag: 'open', view }
  }
  const searched = { traces: found.value, view }
  if (await proveIn(context, aggregator, open, searched)) return { tag: 'moved' }
  // Its own transaction may be what used the nonce, as long as it is followed.
  const isFollowed = context.ports.journal.state.transactions.has(directId(call))
  if (final === undefined || !named.isComplete || isFollowed) return { tag: 'open', view }
  // Used at the newest block alone it may still be unused for good.
  const isUnused = final.nestedNonce !== undefined && final.nestedNonce <= call.nonce
  if (isUnused && delegationRefusal(aggregator, view) === undefined) return { tag: 'open', view }
  await recordDeath(context, open, { attempt: call.attempt, view: final, how: 'cancelled' })
  return { tag: 'moved' }
}

/** Transactions that carry what was signed of a call, since it was recorded and until its deadline. */
export function searchCalls(
  { chain, settings }: AggregatorContext,
  call: TrustlessCall,
  search: { readonly atLeastBlock: bigint; readonly isThorough: boolean },
): ReturnType<CallChain['callsWith']> {
  return chain.callsWith({
    contract: settings.contracts.multicall,
    mark: callMark(call),
    fromBlock: call.fromBlock > REORG_BLOCKS ? call.fromBlock - REORG_BLOCKS : 0n,
    untilSeconds: call.deadlineSeconds,
    ...search,
  })
}

/** Journals the first transaction that carries our call. */
export async function proveIn(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  { traces, view }: { readonly traces: readonly CallTrace[]; readonly view: AccountView },
): Promise<boolean> {
  const { call, intent } = open
  if (call === undefined) return false
  const isOurs = carries(context, aggregator, { open, call })
  const trace = traces.find((each) => each.success && isOurs(each))
  if (trace === undefined) return false
  const via = trace.from === call.account ? 'direct' : 'aggregated'
  const orderId = open.orderId as Hex | undefined
  const costs = await costsOf(context, aggregator, { call, trace, via, orderId })
  await context.ports.journal.append({
    type: 'call-proven',
    intentId: intent.id,
    attempt: call.attempt,
    execution: {
      txHash: trace.hash,
      blockNumber: trace.blockNumber,
      ...(isWatched(aggregator.finality) ? { blockHash: trace.blockHash } : {}),
      via,
      costs,
    },
    blockTimeSeconds: view.blockTimeSeconds,
    executedBySeconds: executedBy(view, trace, LAG_SECONDS),
  })
  if (open.ended !== undefined && via === 'aggregated') {
    const detail = `the service said ${open.ended.status}, and the chain shows it executed in ${trace.hash}`
    tellDoubt(context, open, { service: 'aggregator', what: 'ended', detail, moneyWaits: false })
  }
  return true
}

/**
 * Tells transactions that have our call inside. A trustless one carries the nonce, deadline and gas limit of what was signed,
 * for our account: no two calls have the same. A trusted one has nothing of its own, as the same call is made in every
 * slot: it counts under a hash that we signed, or in a later batch of the service's contract that names account, target and
 * calldata and proves no other call.
 */
export function carries(
  context: OrderContext,
  aggregator: AggregatorContext,
  { open, call }: { readonly open: OpenCall; readonly call: CallRecord },
): (trace: CallTrace) => boolean {
  const { claimedTransfers, directCalls } = context.ports.journal.state
  const marks = [call.account, call.target, call.calldata].map((each) =>
    each.slice(2).toLowerCase(),
  )
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
    // It held the call before its block was replaced, and lies in whatever block it is now.
    if (hash === open.executedIn) return !claimedTransfers.has(callClaim(call.account, hash))
    if (to !== aggregator.settings.contracts.multicall || blockNumber <= call.fromBlock)
      return false
    if (claimedTransfers.has(callClaim(call.account, hash))) return false
    return marks.every((mark) => input.toLowerCase().includes(mark))
  }
}
