import type { Address, Hex } from '../../domain/money/units.ts'
import { delegateOf } from '../../domain/order/call.ts'
import type { Reply } from '../../domain/order/quote.ts'
import type { AggregatorSettings } from '../../domain/settings.ts'
import { type DelegationSigned, delegationSigned } from '../../journal/events/state/wallets.ts'
import { etherText } from '../../journal/wording/costs.ts'
import type { AccountView, AggregatorFault, ChainFault, Clock } from '../../ports.ts'
import { NO_DELEGATE, nameOfDelegate } from '../../signing/delegation-policy.ts'
import { costAt } from '../call/call-costs.ts'
import { PRIORITY_FEE_WEI } from '../call/envelope.ts'
import type { AggregatorContext } from '../context.ts'
import { availableOf } from './deposit.ts'

/** Gas limit. One authorization that sets code for the first time costs about 50,000. */
const DELEGATION_GAS = 100_000n
const DONE_WITHIN_MS = 5 * 60_000
/** Interval between reads of the account; short at first. */
const POLL_MS = { min: 100, max: 1_000 } as const
const SEND_AGAIN_MS = 10_000
const REPORT_EVERY_MS = 15_000
/** How long the service's charge is read after the chain shows the code. */
const CHARGED_WITHIN_MS = 5_000
/** Consecutive reads that must show the nonce used without the code, because nodes may answer from different blocks. */
const SPENT_READS = 5

/** Submission of the authorization: by the aggregation service, or by an ordinary transaction of the account. */
export type DelegationRoute = 'service' | 'direct'

const PRESENT = 0
const NEXT = 1

/**
 * Nonces to sign the authorization for, as offsets from the account's nonce, in order of trial.
 *
 * The chain reads the list after the sender's nonce advanced, so an authorization in our own transaction needs the next
 * nonce. The interface does not say whether the service uses a transaction of its own, as sponsors do (the current nonce is
 * then right), or broadcasts the given one. If one form fails, the other is tried under the same transaction nonce.
 *
 * A leftover authorization for the current nonce becomes void with the account's next transaction. One for the next nonce
 * becomes valid by a later change through the service, and its holder may undo that change. So it is never made for
 * unguarded code (TrustedProposer) except by the account itself. For other code, the message reports a leftover and how to
 * void it.
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
  readonly report: (progress: string) => void
  /** Journals the delegation before it is signed, so that a late application is recognized as ours (rule T4). */
  readonly record: (event: DelegationSigned) => Promise<void>
}

type DelegationOutcome = {
  readonly tag: 'unchanged' | 'changed' | 'failed'
  readonly message: string
  /** Wei charged to the deposit; undefined if unknown or nothing was charged. */
  readonly charged?: bigint | undefined
}

/** Sets the account's code and waits until the chain shows it. Does nothing if it is set already. */
export async function changeDelegation(change: DelegationChange): Promise<DelegationOutcome> {
  const { delegate, aggregator } = change
  // Only code that the operator's config names (rule A4).
  if (delegate !== NO_DELEGATE && nameOfDelegate(delegate, aggregator.settings) === undefined)
    throw new Error(`${delegate} is no proposer of the config`)
  const untilMs = change.clock.now() + DONE_WITHIN_MS
  const forms: Forms = { untilMs, nextGiven: undefined, taken: undefined }
  const before = change.route === 'service' ? await availableNow(change) : undefined
  let why = ''
  for (const ahead of stepsAhead(change)) {
    const end = await tryOnce(change, ahead, forms)
    if (end.tag === 'failed') return withLeftOver(change, forms, end)
    if (end.tag !== 'retry') return withCharge(change, end, before, forms)
    why = end.message
    const nonce = ahead === PRESENT ? 'present' : 'next'
    change.report(`an authorization for the ${nonce} nonce did not work: ${why}`)
  }
  const message = `the account's code is unchanged: ${why}`
  // The service may need the next-nonce form, which it never gets for TrustedProposer.
  if (!stepsAhead(change).includes(NEXT))
    return failed(`${message}. ${directly(change)} does it without the service`)
  return withLeftOver(change, forms, failed(message))
}

/** `retry`: it certainly failed, and another form may work. */
type Step = DelegationOutcome | { readonly tag: 'retry'; readonly message: string }

type Forms = {
  readonly untilMs: number
  /** Nonce of a submitted next-nonce authorization, which may be applied later. */
  nextGiven: number | undefined
  /** The service's id of the last accepted transaction. */
  taken: Hex | undefined
}

/** Adds the service's charge: as reported, or the fall of the funds, because nothing else of the account is in flight. */
async function withCharge(
  change: DelegationChange,
  end: DelegationOutcome,
  before: bigint | undefined,
  { taken }: Forms,
): Promise<DelegationOutcome> {
  if (end.tag !== 'changed' || before === undefined) return end
  const { clock, stop } = change
  const untilMs = clock.now() + CHARGED_WITHIN_MS
  for (;;) {
    const charged = await chargedFor(change, before, taken)
    if (charged !== undefined) {
      const message = `${end.message}. The service charged ${etherText(charged)} for it`
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
  const reported =
    status?.ok === true ? costAt(status.value, settings.wire.status.charged) : undefined
  if (reported !== undefined) return reported
  const after = await availableNow(change)
  return after !== undefined && after < before ? before - after : undefined
}

async function availableNow({ aggregator }: DelegationChange): Promise<bigint | undefined> {
  const info = await aggregator.service.accountInfo()
  return info.ok ? availableOf(info.value) : undefined
}

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

function directly({ delegate, aggregator }: DelegationChange): string {
  if (delegate === NO_DELEGATE) return '`tranched delegation clear --direct`'
  const isTrusted = nameOfDelegate(delegate, aggregator.settings) === 'trusted'
  return `\`tranched delegation set ${isTrusted ? '--trusted ' : ''}--direct\``
}

/** One transaction and its result. */
async function tryOnce(change: DelegationChange, ahead: number, forms: Forms): Promise<Step> {
  const { aggregator, delegate, route, report } = change
  const view = await accountOf(change)
  if (!view.ok) return failed(view.fault.message)
  const { code, transactionCount: before } = view.value
  const foreign = foreignText(code, aggregator.settings)
  if (foreign !== undefined) return failed(foreign)
  if (isSet(code, delegate)) return { tag: 'unchanged', message: 'it was already' }
  await change.record(recordOf(change, view.value, ahead))
  const signed = aggregator.wallet.signer.delegation()
  if (!signed.ok) return failed(`nothing was signed: ${signed.detail}`)
  const { raw } = signed.value
  const sent = await send(change, raw)
  if (sent.ok) forms.taken = sent.value
  const isOut = sent.ok || UNKNOWN.has(sent.fault.tag) || route === 'service'
  if (ahead === NEXT && isOut) forms.nextGiven = before + NEXT
  if (!sent.ok && sent.fault.tag === 'rejected')
    return { tag: 'retry', message: sent.fault.message }
  if (!sent.ok && !UNKNOWN.has(sent.fault.tag)) return failed(remedyOf(sent.fault))
  const taker = route === 'service' ? 'the service' : 'the node'
  report(sent.ok ? `${taker} accepted it as ${sent.value}` : 'no answer; watching the chain')
  return watch(change, before, forms, createResender(change, raw, sent.ok))
}

type SendFault = AggregatorFault | ChainFault

function send({ aggregator, route }: DelegationChange, raw: Hex): Promise<Reply<Hex, SendFault>> {
  return route === 'service'
    ? aggregator.service.sendRawTransaction(raw)
    : aggregator.chain.broadcast(raw)
}

/** Answers after which it may have been accepted. */
const UNKNOWN: ReadonlySet<SendFault['tag']> = new Set(['unavailable', 'rateLimited'])

/** Why code that the config does not name is left unchanged; undefined for other code. */
function foreignText(code: Hex, settings: AggregatorSettings): string | undefined {
  const delegate = delegateOf(code)
  const isNamed = delegate !== undefined && nameOfDelegate(delegate, settings) !== undefined
  if (code === '0x' || isNamed) return undefined
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
): DelegationSigned {
  const { chainId, signer } = aggregator.wallet
  const lastNonce = nonce + ahead
  return delegationSigned({
    chainId,
    account: signer.address,
    delegate,
    lastNonce,
    draft: {
      authorizationNonce: lastNonce,
      nonce,
      gas: DELEGATION_GAS,
      maxFeePerGas: baseFeePerGas * 2n + PRIORITY_FEE_WEI,
      maxPriorityFeePerGas: PRIORITY_FEE_WEI,
    },
  })
}

/** Watches the account until it has the wanted code, or its nonce is used without it. */
async function watch(
  change: DelegationChange,
  before: number,
  { untilMs }: Forms,
  resend: ReturnType<typeof createResender>,
): Promise<Step> {
  const { clock, stop, delegate } = change
  const startedMs = clock.now()
  for (let spent = 0; ; ) {
    const view = await accountOf(change)
    if (view.ok && isSet(view.value.code, delegate))
      return { tag: 'changed', message: 'the chain shows it' }
    spent = view.ok && view.value.transactionCount > before ? spent + 1 : 0
    if (spent >= SPENT_READS)
      return { tag: 'retry', message: 'executed, and the code is what it was' }
    if (clock.now() >= untilMs || stop.aborted)
      return failed('the chain does not show it yet. Check again with `tranched delegation status`')
    await resend(view.ok ? 'the chain does not show it yet' : view.fault.message)
    const waitedMs = clock.now() - startedMs
    await clock.sleep(Math.min(POLL_MS.max, POLL_MS.min + waitedMs), stop)
  }
}

/** Between reads: reports the wait periodically, and resends a transaction that may not have arrived. */
function createResender(change: DelegationChange, raw: Hex, isTaken: boolean) {
  const { clock, report } = change
  let reportedMs = clock.now()
  let sentMs = clock.now()
  return async (progress: string): Promise<void> => {
    const nowMs = clock.now()
    if (nowMs - reportedMs >= REPORT_EVERY_MS) {
      report(progress)
      reportedMs = nowMs
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
