import { isOutrun } from '../../domain/book/calls.ts'
import type { OpenCall } from '../../domain/book/state.ts'
import { heldBy } from '../../domain/book/venues.ts'
import {
  type CallRecord,
  delegateOf,
  type TrustedCall,
  type TrustlessCall,
} from '../../domain/call.ts'
import { InvariantError } from '../../domain/errors.ts'
import { formatInstant } from '../../domain/schedule/civil-date.ts'
import type { Hex } from '../../domain/units.ts'
import type { AccountView, CallTrace, ChainReply, Sight } from '../../ports.ts'
import { delegationRefusal } from '../authority/delegation.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { askFinal, isOver } from '../finality.ts'
import {
  type Fate,
  type Found,
  type Looked,
  NO_FINAL_BLOCK,
  type Signed,
  unseen,
} from '../settle/findings.ts'
import { carries, isOwnCall, known, proveIn, searchCalls } from './resolve.ts'
import { directId } from './submit.ts'

/** `Venue.look` for a call: the account now and at a final block, and what carries the call. */
export async function lookAtCall(
  context: OrderContext,
  open: OpenCall,
  named: Hex | undefined,
): Promise<Looked> {
  const { aggregator } = context
  const { call } = open
  if (call === undefined) throw new InvariantError(`${open.intent.id}: nothing is signed of it`)
  const signed = signedBy(open, call)
  if (aggregator === undefined || !isOwnCall(aggregator, call))
    return unseen(signed, strangerTo(context, signed))
  const { gasTank } = aggregator.settings.contracts
  const { account } = call
  const [reply, final] = await Promise.all([
    aggregator.chain.account({ account, gasTank }),
    askFinal(context, 'looking at a call', (query) =>
      aggregator.chain.finalAccount({ ...query, account }),
    ),
  ])
  if (!reply.ok) return unseen(signed, { tag: 'unknown', why: reply.fault.message })
  const seen: Seen = { context, aggregator, open, call, view: reply.value, final }
  return call.trust === 'trustless'
    ? lookAtTrustless({ ...seen, call }, signed, named)
    : lookAtTrusted({ ...seen, call }, signed, named)
}

type FinalAccount = Sight & Pick<AccountView, 'code' | 'nestedNonce'>

/** An account and one of its calls. */
type Seen<Call extends CallRecord = CallRecord> = {
  readonly context: OrderContext
  readonly aggregator: AggregatorContext
  readonly open: OpenCall
  readonly call: Call
  readonly view: AccountView
  readonly final: FinalAccount | undefined
}

function signedBy(open: OpenCall, call: CallRecord): Signed {
  const { token, amount: most } = heldBy(open)
  const { target: recipient } = call
  const asked = { token, most, spender: undefined, recipient }
  if (call.trust === 'trusted')
    return { ...asked, kind: 'trusted call', nonce: undefined, deadlineSeconds: undefined }
  const { nonce, deadlineSeconds } = call
  return { ...asked, kind: 'call', nonce, deadlineSeconds }
}

/** Without the wallet and chain that it was made with nothing can be learned of a call, now or later. */
function strangerTo({ ports }: OrderContext, { deadlineSeconds }: Signed): Fate {
  const why = 'the config no longer names the wallet and chain of this call, and nobody can ask'
  const isPast = deadlineSeconds === undefined || ports.clock.now() > deadlineSeconds * 1000
  return { tag: 'untold', why, isOver: isPast }
}

async function lookAtTrustless(
  seen: Seen<TrustlessCall>,
  signed: Signed,
  named: Hex | undefined,
): Promise<Looked> {
  const { context, aggregator, call, view, final } = seen
  const clocks = { serviceOffsetMs: undefined }
  const isPast = final && isOver(context, call.deadlineSeconds, { ...final, ...clocks })
  const head = { ...view, isUsed: isUsedAt(seen, view) }
  const sight = final && { ...final, isUsed: isUsedAt(seen, final) }
  const fate = fateOf(seen, { isUsed: head.isUsed, isUsedForGood: sight?.isUsed, isPast })
  const isSearched = fate.tag === 'used' || fate.tag === 'untold'
  const searched = isSearched
    ? await searchCalls(aggregator, call, { atLeastBlock: view.blockNumber, isThorough: false })
    : undefined
  const traces = await tracesOf(seen, named, searched)
  return lookedAt(seen, traces, { signed, head, final: sight, isPast, fate })
}

/** Only the proposer's own answer counts: other code may say anything of a nonce that is used up behind it. */
function isUsedAt(
  { aggregator, call }: Seen<TrustlessCall>,
  { code, nestedNonce }: Pick<AccountView, 'code' | 'nestedNonce'>,
): boolean | undefined {
  const isProposer = delegationRefusal(aggregator, { code }) === undefined
  return isProposer && nestedNonce !== undefined ? nestedNonce > call.nonce : undefined
}

function fateOf(
  { context, call, final }: Seen<TrustlessCall>,
  at: {
    readonly isUsed: boolean | undefined
    readonly isUsedForGood: boolean | undefined
    readonly isPast: boolean | undefined
  },
): Fate {
  const { isUsed, isUsedForGood, isPast } = at
  if (isOutrun(context.ports.journal.state, call))
    return { tag: 'over', why: 'another call of ours used its nonce for good' }
  if (isUsed === true || isUsedForGood === true)
    return { tag: 'used', isFinal: isUsedForGood === true }
  if (final === undefined) return { tag: 'unknown', why: NO_FINAL_BLOCK }
  if (isUsed === undefined || isUsedForGood === undefined)
    return {
      tag: 'untold',
      why: "the account has other code than the config's proposer, so that nobody can tell whether its nonce is used",
      isOver: isPast === true,
    }
  const until = formatInstant(call.deadlineSeconds)
  return isPast === true
    ? { tag: 'over', why: `its nonce is unused at a final block past its deadline, ${until}` }
    : {
        tag: 'live',
        why: `its signature may execute until that is past at a final block: ${until}`,
      }
}

async function lookAtTrusted(
  seen: Seen<TrustedCall>,
  signed: Signed,
  named: Hex | undefined,
): Promise<Looked> {
  const fate = await trustedFate(seen)
  const traces = await tracesOf(seen, named, undefined)
  const head = { ...seen.view, isUsed: undefined }
  const final = seen.final && { ...seen.final, isUsed: undefined }
  return lookedAt(seen, traces, { signed, head, final, isPast: undefined, fate })
}

const UNGUARDED =
  'the service may make the account do it for as long as the TrustedProposer stands behind the account, or its transaction may be mined. `tranched delegation clear --direct`, without a daemon, ends both; then ask again once that is final'

/**
 * A trusted call can come no more where nothing of it was ever signed; and where neither the service may make the account do
 * it, nor its very transaction may be mined: other code stands behind the account, for good, and its transaction nonce was used
 * by something else.
 */
async function trustedFate(seen: Seen<TrustedCall>): Promise<Fate> {
  const { context, aggregator, open, call, view, final } = seen
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
  const fate = await askFinal(context, 'looking at a call', (query) =>
    aggregator.chain.nonceFate({
      ...query,
      from: call.account,
      nonce: call.envelope.nonce,
      hashes,
    }),
  )
  return fate === 'lost'
    ? {
        tag: 'over',
        why: 'other code stands behind the account, and something else used the nonce of its transaction',
      }
    : { tag: 'unguarded', why: UNGUARDED }
}

type Traces = {
  readonly all: readonly CallTrace[]
  /** Undefined where none was named, or it could not be read. */
  readonly named: CallTrace | 'absent' | undefined
  readonly fault: string | undefined
}

/** What can be named without a search, and what one found. */
async function tracesOf(
  { context, aggregator, open, call }: Seen,
  named: Hex | undefined,
  searched: ChainReply<readonly CallTrace[]> | undefined,
): Promise<Traces> {
  const orderId = open.orderId as Hex | undefined
  const [own, asked] = await Promise.all([
    known(context, aggregator, { open, call, orderId, hint: undefined }),
    named === undefined ? undefined : aggregator.chain.trace(named),
  ])
  const trace = asked?.ok === true ? (asked.value ?? 'absent') : undefined
  const found = searched?.ok === true ? searched.value : []
  const all = [
    ...own.traces,
    ...found,
    ...(trace === undefined || trace === 'absent' ? [] : [trace]),
  ]
  const unread = own.isComplete ? undefined : 'not every transaction of the call could be read'
  return {
    all: [...new Map(all.map((each) => [each.hash, each])).values()],
    named: trace,
    fault: searched?.ok === false ? searched.fault.message : unread,
  }
}

function lookedAt(
  { context, aggregator, open, call, view }: Seen,
  { all, named, fault: searchFault }: Traces,
  findings: Omit<Looked['findings'], 'found' | 'named' | 'searchFault'>,
): Looked {
  const isOurs = carries(context, aggregator, { open, call })
  const seenAs = (trace: CallTrace): Found => {
    const { hash: txHash, blockNumber, success } = trace
    const shows = isOurs(trace) ? 'mention' : 'nothing'
    return { txHash, blockNumber, success, shows: shows === 'mention' && success ? 'proof' : shows }
  }
  return {
    findings: {
      ...findings,
      searchFault,
      found: all.map(seenAs),
      named: named === undefined || named === 'absent' ? named : seenAs(named),
    },
    prove: () => proveIn(context, aggregator, open, { traces: all, view }),
  }
}
