import { etherWords } from '../../domain/book/costs.ts'
import type { EventOf } from '../../domain/book/journal.ts'
import { delegateOf } from '../../domain/call.ts'
import type { Reply } from '../../domain/quote.ts'
import type { AggregatorSettings } from '../../domain/settings.ts'
import type { Address, Hex } from '../../domain/units.ts'
import type { AccountView, AggregatorFault, ChainFault, Clock } from '../../ports.ts'
import { NO_DELEGATE, nameOfDelegate } from '../authority/delegation.ts'
import { chargeTold } from '../call/costs.ts'
import { PRIORITY_FEE_WEI } from '../call/envelope.ts'
import type { AggregatorContext } from '../context.ts'
import { availableOf } from './deposit.ts'

/** One authorization, and setting the code for the first time, cost about 50,000. */
const DELEGATION_GAS = 100_000n
const DONE_WITHIN_MS = 5 * 60_000
/** Between two looks at the account: soon at first. */
const POLL_MS = { min: 100, max: 1_000 } as const
const SEND_AGAIN_MS = 10_000
const TELL_EVERY_MS = 15_000
/** How long what the service charged is asked for once the chain shows the code. */
const CHARGED_WITHIN_MS = 5_000
/** Sights in a row of a used nonce without the code before that counts: nodes may answer from different blocks. */
const SPENT_SIGHTS = 5

/** Who puts the authorization on the chain: the aggregation service, or the account itself by an ordinary transaction. */
export type DelegationRoute = 'service' | 'direct'

const PRESENT = 0
const NEXT = 1

/**
 * What the authorization is signed for, as steps ahead of the account's nonce, in the order in which they are tried.
 *
 * A sender's nonce has moved on by the time the list is read, so that an authorization in a transaction of our own is
 * for the next one. The interface does not say whether the service puts the authorization into a transaction of its own, as
 * sponsors do (then the account's nonce is the right one), or broadcasts the one it was given. A form that did not work is
 * followed by the other, both around one transaction nonce.
 *
 * A left-over for the present nonce is void as soon as anything else of the account is executed. One for the next is not: a
 * change for the present nonce, made later through the service, is just what makes it valid, and whoever holds it may
 * undo that change. So it is never made for code that guards nothing, the TrustedProposer's, but by the account itself; of
 * any other that may be out the message tells, with what uses it up.
 */
function stepsAhead({ route, delegate, aggregator }: DelegationChange): readonly number[] {
  if (route === 'direct') return [NEXT]
  const isTrusted = nameOfDelegate(delegate, aggregator.settings) === 'trusted'
  return isTrusted ? [PRESENT] : [PRESENT, NEXT]
}

export type DelegationChange = {
  readonly aggregator: AggregatorContext
  /** One of the config's proposers, or `NO_DELEGATE`. */
  readonly delegate: Address
  readonly route: DelegationRoute
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly stop: AbortSignal
  readonly tell: (progress: string) => void
  /**
   * Puts what is to be signed on disk, where the signer takes it from. Whoever holds the signature may apply it much later, and
   * a daemon has to know whose doing that was (rule T4).
   */
  readonly record: (event: EventOf<'delegation-signed'>) => Promise<void>
}

export type DelegationOutcome = {
  readonly tag: 'unchanged' | 'changed' | 'failed'
  readonly message: string
  /** Wei that the service charged the deposit for it; undefined where it does not say, or nothing was charged. */
  readonly charged?: bigint | undefined
}

/** Gives the account the code and waits until the chain shows it. Does nothing when it has it. */
export async function changeDelegation(change: DelegationChange): Promise<DelegationOutcome> {
  if (!isAllowed(change)) throw new Error(`${change.delegate} is no proposer of the config`)
  const untilMs = change.clock.now() + DONE_WITHIN_MS
  const forms: Forms = { untilMs, nextGiven: undefined, taken: undefined }
  const before = change.route === 'service' ? await availableNow(change) : undefined
  let why = ''
  for (const ahead of stepsAhead(change)) {
    const end = await tryOnce(change, ahead, forms)
    if (!('retry' in end) && end.tag === 'failed') return withLeftOver(change, forms, end)
    if (!('retry' in end)) return withCharge(change, { end, before, taken: forms.taken })
    why = end.retry
    change.tell(`${describe(ahead)} did not work: ${why}`)
  }
  const message = `the account's code is unchanged: ${why}`
  // What is not given to the service may be what it needs.
  if (!stepsAhead(change).includes(NEXT))
    return failed(`${message}. ${directly(change)} does it without the service`)
  return withLeftOver(change, forms, failed(message))
}

/** What the forms that are tried have in common. */
type Forms = {
  readonly untilMs: number
  /** The nonce of an authorization for the next one that was given away: somebody may apply it later. */
  nextGiven: number | undefined
  /** What the service calls the last transaction that it took. */
  taken: Hex | undefined
}

/**
 * A change with what the service charged for it: in its own words, or what the funds fell by. Nothing else of the account is
 * under way. A service that tells no funds is asked nothing.
 */
async function withCharge(
  change: DelegationChange,
  done: {
    readonly end: DelegationOutcome
    readonly before: bigint | undefined
    readonly taken: Hex | undefined
  },
): Promise<DelegationOutcome> {
  const { end, before, taken } = done
  if (end.tag !== 'changed' || before === undefined) return end
  const { clock, stop } = change
  const untilMs = clock.now() + CHARGED_WITHIN_MS
  for (;;) {
    const charged = await chargedFor(change, before, taken)
    if (charged !== undefined) {
      const message = `${end.message}. The service charged ${etherWords(charged)} for it`
      return { ...end, charged, message }
    }
    if (clock.now() >= untilMs || stop.aborted) return end
    await clock.sleep(POLL_MS.max, stop)
  }
}

async function chargedFor(
  change: DelegationChange,
  before: bigint,
  taken: Hex | undefined,
): Promise<bigint | undefined> {
  const { service, settings } = change.aggregator
  const status = taken === undefined ? undefined : await service.transactionStatus(taken)
  const told = status?.ok === true ? chargeTold(status.value, settings.wire.status) : undefined
  if (told !== undefined) return told
  const after = await availableNow(change)
  return after !== undefined && after < before ? before - after : undefined
}

async function availableNow({ aggregator }: DelegationChange): Promise<bigint | undefined> {
  const { service } = aggregator
  const info = await service.accountInfo()
  return info.ok ? availableOf(info.value) : undefined
}

/** A failure with what is left of it, if somebody may still apply that. */
async function withLeftOver(
  change: DelegationChange,
  { nextGiven }: Forms,
  failure: DelegationOutcome,
): Promise<DelegationOutcome> {
  if (nextGiven === undefined) return failure
  const view = await accountOf(change)
  if (view.ok && view.value.transactionCount > nextGiven) return failure
  return failed(
    `${failure.message}. An authorization for the account's next nonce (${nextGiven}) is out and may still be applied: ${directly(change)} uses it up`,
  )
}

/** The command that makes the same change without the service. */
function directly({ delegate, aggregator }: DelegationChange): string {
  if (delegate === NO_DELEGATE) return '`tranched delegation clear --direct`'
  const isTrusted = nameOfDelegate(delegate, aggregator.settings) === 'trusted'
  return `\`tranched delegation set ${isTrusted ? '--trusted ' : ''}--direct\``
}

/** One transaction and what came of it; `retry` when it is certain that nothing did and another form may do better. */
async function tryOnce(
  change: DelegationChange,
  ahead: number,
  forms: Forms,
): Promise<DelegationOutcome | { readonly retry: string }> {
  const { aggregator, delegate, route, tell } = change
  const view = await accountOf(change)
  if (!view.ok) return failed(view.fault.message)
  const { code, transactionCount: before } = view.value
  if (isForeign(code, aggregator.settings)) return failed(foreign(code))
  if (isSet(code, delegate)) return { tag: 'unchanged', message: 'it was already' }
  await change.record(recordOf(change, view.value, ahead))
  const signed = aggregator.wallet.signer.delegation()
  if (!signed.ok) return failed(`nothing was signed: ${signed.detail}`)
  const { raw } = signed.value
  const sent = await send(change, raw)
  if (sent.ok) forms.taken = sent.value
  const isOut = sent.ok || UNKNOWN.has(sent.fault.tag) || route === 'service'
  if (ahead === NEXT && isOut) forms.nextGiven = before + NEXT
  if (!sent.ok && sent.fault.tag === 'rejected') return { retry: sent.fault.message }
  if (!sent.ok && !UNKNOWN.has(sent.fault.tag)) return failed(remedyOf(sent.fault))
  const taker = route === 'service' ? 'the service' : 'the node'
  tell(sent.ok ? `${taker} took it as ${sent.value}` : 'no answer; watching the chain')
  return watch(change, { raw, before, taken: sent.ok, untilMs: forms.untilMs })
}

type SendFault = AggregatorFault | ChainFault

function send({ aggregator, route }: DelegationChange, raw: Hex): Promise<Reply<Hex, SendFault>> {
  return route === 'service'
    ? aggregator.service.sendRawTransaction(raw)
    : aggregator.chain.broadcast(raw)
}

/** Answers after which it may have been taken all the same. */
const UNKNOWN: ReadonlySet<SendFault['tag']> = new Set(['unavailable', 'rateLimited'])

/** Never anything that the operator's file does not name (rule A4). */
function isAllowed({ delegate, aggregator }: DelegationChange): boolean {
  return delegate === NO_DELEGATE || nameOfDelegate(delegate, aggregator.settings) !== undefined
}

function isForeign(code: Hex, settings: AggregatorSettings): boolean {
  if (code === '0x') return false
  const delegate = delegateOf(code)
  return delegate === undefined || nameOfDelegate(delegate, settings) === undefined
}

function foreign(code: Hex): string {
  const delegate = delegateOf(code)
  const what = delegate === undefined ? 'code of its own' : `the code of ${delegate}`
  return `the account has ${what}, which the config does not name: it is not touched. Find out who set it, and use another account`
}

function isSet(code: Hex, delegate: Address): boolean {
  return delegate === NO_DELEGATE ? code === '0x' : delegateOf(code) === delegate
}

function recordOf(
  { delegate, aggregator }: DelegationChange,
  { transactionCount: nonce, baseFeePerGas }: AccountView,
  ahead: number,
): EventOf<'delegation-signed'> {
  const { chainId, signer } = aggregator.wallet
  const lastNonce = nonce + ahead
  return {
    ...{ type: 'delegation-signed', chainId, account: signer.address, delegate, lastNonce },
    draft: {
      authorizationNonce: lastNonce,
      nonce,
      gas: DELEGATION_GAS,
      maxFeePerGas: baseFeePerGas * 2n + PRIORITY_FEE_WEI,
      maxPriorityFeePerGas: PRIORITY_FEE_WEI,
    },
  }
}

type Sent = {
  readonly raw: Hex
  /** The account's nonce that it was signed for. */
  readonly before: number
  readonly taken: boolean
  readonly untilMs: number
}

/** Follows the account until its code is as wanted, or its nonce is used and the code is not. */
async function watch(
  change: DelegationChange,
  sent: Sent,
): Promise<DelegationOutcome | { readonly retry: string }> {
  const { clock, stop, delegate } = change
  const keepAt = attendant(change, sent)
  const startedMs = clock.now()
  for (let spent = 0; ; ) {
    const view = await accountOf(change)
    if (view.ok && isSet(view.value.code, delegate))
      return { tag: 'changed', message: 'the chain shows it' }
    spent = view.ok && view.value.transactionCount > sent.before ? spent + 1 : 0
    if (spent >= SPENT_SIGHTS) return { retry: 'executed, and the code is what it was' }
    if (clock.now() >= sent.untilMs || stop.aborted)
      return failed('the chain does not show it yet. Look again with `tranched delegation status`')
    await keepAt(view.ok ? 'the chain does not show it yet' : view.fault.message)
    const waitedMs = clock.now() - startedMs
    await clock.sleep(Math.min(POLL_MS.max, POLL_MS.min + waitedMs), stop)
  }
}

/** Between two looks: tells of the wait now and then, and sends again what may never have arrived. */
function attendant(
  change: DelegationChange,
  { raw, taken }: Sent,
): (progress: string) => Promise<void> {
  const { clock, tell } = change
  let isTaken = taken
  let toldMs = clock.now()
  let sentMs = clock.now()
  return async (progress) => {
    const nowMs = clock.now()
    if (nowMs - toldMs >= TELL_EVERY_MS) {
      tell(progress)
      toldMs = nowMs
    }
    if (isTaken || nowMs - sentMs < SEND_AGAIN_MS) return
    isTaken = (await send(change, raw)).ok
    sentMs = nowMs
  }
}

function accountOf({ aggregator }: DelegationChange) {
  const { gasTank } = aggregator.settings.contracts
  return aggregator.chain.account({ account: aggregator.wallet.signer.address, gasTank })
}

function describe(ahead: number): string {
  return ahead === PRESENT
    ? 'an authorization for the present nonce'
    : 'an authorization for the next nonce'
}

function remedyOf({ tag, message }: SendFault): string {
  if (tag === 'insufficientFunds') return `${message} (the wallet needs ether of its own for this)`
  const isUnfunded = tag === 'accountNotFound' || tag === 'insufficientBalance'
  return isUnfunded
    ? `${message} (first: tranched gastank deposit AMOUNT --yes; or --direct, at the wallet's own expense)`
    : message
}

function failed(message: string): DelegationOutcome {
  return { tag: 'failed', message }
}
