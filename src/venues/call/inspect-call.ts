import { InvariantError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import {
  type CallRecord,
  delegateOf,
  type TrustedCall,
  type TrustlessCall,
} from '../../domain/order/call.ts'
import type { OpenCall } from '../../journal/state/daemon-state.ts'
import type { AccountView, CallTrace, ChainReply, SeenBlock } from '../../ports.ts'
import { delegationRefusal } from '../close.ts'
import { type CallContext, hasAggregator, type OrderContext } from '../context.ts'
import { askFinal, isOver } from '../finality.ts'
import {
  type ExecutionOutcome,
  type Found,
  type Inspection,
  NO_FINAL_BLOCK,
  type Signed,
  unseen,
  unusedOutcome,
} from '../manual/findings.ts'
import { heldBy } from '../projections.ts'
import { isOutrun } from './call-projection.ts'
import { carries, isOwnCall, known, proveIn, searchCalls } from './resolve.ts'
import { directId } from './submit.ts'

/** `Venue.inspect` for a call: the account now and at a final block, and transactions that contain the call. */
export async function inspectCall(
  context: OrderContext,
  open: OpenCall,
  named: Hex | undefined,
): Promise<Inspection> {
  const { call } = open
  if (call === undefined) throw new InvariantError(`${open.intent.id}: nothing is signed of it`)
  const signed = signedBy(open, call)
  if (!hasAggregator(context) || !isOwnCall(context, call))
    return unseen(signed, strangerTo(context, signed))
  const { chain, settings } = context.aggregator
  const { gasTank } = settings.contracts
  const { account } = call
  const [reply, final] = await Promise.all([
    chain.account({ account, gasTank }),
    askFinal(context, 'looking at a call', (query) => chain.finalAccount({ ...query, account })),
  ])
  if (!reply.ok) return unseen(signed, { tag: 'unknown', why: reply.fault.message })
  const seen: Seen = { context, open, call, view: reply.value, final }
  return call.trust === 'trustless'
    ? inspectTrustless({ ...seen, call }, signed, named)
    : inspectTrusted({ ...seen, call }, signed, named)
}

type FinalAccount = SeenBlock & Pick<AccountView, 'code' | 'nestedNonce'>

type Seen<Call extends CallRecord = CallRecord> = {
  readonly context: CallContext
  readonly open: OpenCall
  readonly call: Call
  readonly view: AccountView
  readonly final: FinalAccount | undefined
}

function signedBy(open: OpenCall, call: CallRecord): Signed {
  const { token, amount: most } = heldBy(open)
  const shared = { token, most, spender: undefined, recipient: call.target }
  if (call.trust === 'trusted')
    return { ...shared, kind: 'trusted call', nonce: undefined, deadlineSeconds: undefined }
  const { nonce, deadlineSeconds } = call
  return { ...shared, kind: 'call', nonce, deadlineSeconds }
}

/** Without its wallet and chain, the call's outcome is unknowable. */
function strangerTo({ ports }: OrderContext, { deadlineSeconds }: Signed): ExecutionOutcome {
  const why = 'the config no longer names the wallet and chain of this call'
  const isPast = deadlineSeconds === undefined || ports.clock.now() > deadlineSeconds * 1000
  return { tag: 'indeterminate', why, isOver: isPast }
}

async function inspectTrustless(
  seen: Seen<TrustlessCall>,
  signed: Signed,
  named: Hex | undefined,
): Promise<Inspection> {
  const { context, call, view, final } = seen
  const isPast = final && isOver(context, call.deadlineSeconds, final, undefined)
  const head = { ...view, isUsed: isUsedAt(seen, view) }
  const snapshot = final && { ...final, isUsed: isUsedAt(seen, final) }
  const outcome = outcomeOf(seen, { isUsed: head.isUsed, isUsedForGood: snapshot?.isUsed, isPast })
  const isSearched = outcome.tag === 'used' || outcome.tag === 'indeterminate'
  const searched = isSearched
    ? await searchCalls(context, call, { atLeastBlock: view.blockNumber, isThorough: false })
    : undefined
  const traces = await tracesOf(seen, named, searched)
  return inspected(seen, traces, { signed, head, final: snapshot, isPast, outcome })
}

/** Only the proposer's own answer counts: other code may misreport a used nonce. */
function isUsedAt(
  { context, call }: Seen<TrustlessCall>,
  { code, nestedNonce }: Pick<AccountView, 'code' | 'nestedNonce'>,
): boolean | undefined {
  const isProposer = delegationRefusal(context.aggregator, { code }) === undefined
  return isProposer && nestedNonce !== undefined ? nestedNonce > call.nonce : undefined
}

function outcomeOf(
  { context, call, final }: Seen<TrustlessCall>,
  at: {
    readonly isUsed: boolean | undefined
    readonly isUsedForGood: boolean | undefined
    readonly isPast: boolean | undefined
  },
): ExecutionOutcome {
  const { isUsed, isUsedForGood, isPast } = at
  if (isOutrun(context.ports.journal.state, call))
    return { tag: 'over', why: 'another call of ours used its nonce for good' }
  if (isUsed === true || isUsedForGood === true)
    return { tag: 'used', isFinal: isUsedForGood === true }
  if (final === undefined) return { tag: 'unknown', why: NO_FINAL_BLOCK }
  if (isUsed === undefined || isUsedForGood === undefined)
    return {
      tag: 'indeterminate',
      why: "the code of the account differs from the config's proposer, so whether its nonce is used is unknown",
      isOver: isPast === true,
    }
  return unusedOutcome(call.deadlineSeconds, isPast)
}

async function inspectTrusted(
  seen: Seen<TrustedCall>,
  signed: Signed,
  named: Hex | undefined,
): Promise<Inspection> {
  const outcome = await trustedOutcome(seen)
  const traces = await tracesOf(seen, named, undefined)
  const head = { ...seen.view, isUsed: undefined }
  const final = seen.final && { ...seen.final, isUsed: undefined }
  return inspected(seen, traces, { signed, head, final, isPast: undefined, outcome })
}

const UNGUARDED =
  'the service may make the account do it for as long as the TrustedProposer stands behind the account, or its transaction may be mined. `tranched delegation clear --direct`, without a daemon, ends both; then ask again once that is final'

/** Over if the call was never signed, or if the account has other code for good and another transaction used its nonce. */
async function trustedOutcome(seen: Seen<TrustedCall>): Promise<ExecutionOutcome> {
  const { context, open, call, view, final } = seen
  const { aggregator } = context
  const { directCalls, transactions } = context.ports.journal.state
  const direct = directCalls.get(call.clientOrderId) ?? []
  if (open.state === 'exposed' && open.envelopeHash === undefined && direct.length === 0)
    return { tag: 'over', why: 'by the journal nothing of it was ever signed' }
  const { trustedProposer } = aggregator.settings.contracts
  const isBehind = ({ code }: Pick<AccountView, 'code'>): boolean =>
    delegateOf(code) === trustedProposer
  const isDirect = transactions.has(directId(call))
  if (isDirect || isBehind(view) || final === undefined || isBehind(final))
    return { tag: 'unguarded', why: UNGUARDED }
  const hashes = [...direct, ...(open.envelopeHash === undefined ? [] : [open.envelopeHash])]
  const outcome = await askFinal(context, 'looking at a call', (query) =>
    aggregator.chain.nonceOutcome({
      ...query,
      from: call.account,
      nonce: call.envelope.nonce,
      hashes,
    }),
  )
  return outcome === 'lost'
    ? {
        tag: 'over',
        why: 'other code stands behind the account, and something else used the nonce of its transaction',
      }
    : { tag: 'unguarded', why: UNGUARDED }
}

type Traces = {
  readonly all: readonly CallTrace[]
  /** Undefined if no transaction was named, or it could not be read. */
  readonly named: CallTrace | 'absent' | undefined
  readonly fault: string | undefined
}

async function tracesOf(
  { context, open, call }: Seen,
  named: Hex | undefined,
  searched: ChainReply<readonly CallTrace[]> | undefined,
): Promise<Traces> {
  const [own, namedReply] = await Promise.all([
    known(context, { open, call, hint: undefined }),
    named === undefined ? undefined : context.aggregator.chain.trace(named),
  ])
  const trace = namedReply?.ok === true ? (namedReply.value ?? 'absent') : undefined
  const found = searched?.ok === true ? searched.value : []
  const all = [...own.traces, ...found]
  if (trace !== undefined && trace !== 'absent') all.push(trace)
  const unread = own.isComplete ? undefined : 'not every transaction of the call could be read'
  return {
    all: [...new Map(all.map((each) => [each.hash, each])).values()],
    named: trace,
    fault: searched?.ok === false ? searched.fault.message : unread,
  }
}

function inspected(
  { context, open, call, view }: Seen,
  { all, named, fault: searchFault }: Traces,
  findings: Omit<Inspection['findings'], 'found' | 'named' | 'searchFault'>,
): Inspection {
  const isOurs = carries(context, { open, call })
  const seenAs = (trace: CallTrace): Found => {
    const { hash: txHash, blockNumber, success } = trace
    const mention = success ? 'proof' : 'mention'
    return { txHash, blockNumber, success, shows: isOurs(trace) ? mention : 'nothing' }
  }
  return {
    findings: {
      ...findings,
      searchFault,
      found: all.map(seenAs),
      named: named === undefined || named === 'absent' ? named : seenAs(named),
    },
    prove: () => proveIn(context, open, { traces: all, view }),
  }
}
