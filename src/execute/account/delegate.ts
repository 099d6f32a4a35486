import { delegateOf } from '../../domain/call.ts'
import type { AggregatorSettings } from '../../domain/settings.ts'
import { type Address, type Hex, ZERO_ADDRESS } from '../../domain/units.ts'
import type { AccountSigner, AccountView, AggregatorFault, Clock } from '../../ports.ts'
import type { AggregatorContext } from '../context.ts'

/** Authorizing this address takes the code away. */
export const NO_DELEGATE = ZERO_ADDRESS

/** Two authorizations, and setting the code for the first time, cost about 90,000. */
const DELEGATION_GAS = 150_000n
const PRIORITY_FEE_WEI = 1_000_000_000n
const DONE_WITHIN_MS = 5 * 60_000
const POLL_MS = 1_000
const SEND_AGAIN_MS = 10_000
const TELL_EVERY_MS = 15_000
/** Sights in a row of a used nonce without the code before that counts: nodes may answer from different blocks. */
const SPENT_SIGHTS = 5

/**
 * What the authorizations are signed for, as steps ahead of the account's nonce, in the order in which they are tried.
 *
 * The interface does not say whether the service puts the authorization into a transaction of its own (then the
 * account's nonce is the right one) or broadcasts the one it was given (whose sender's nonce has moved on by the time
 * the list is read, so that it is the next one). With both in the list one is valid either way. That is safe: both
 * name the same code on the same chain, so that applying both is applying one; each is good for one nonce only; and
 * whatever changes the delegation later uses up that nonce, so that a left-over can never undo the change.
 *
 * A service that takes exactly one authorization refuses the pair; then each is tried alone. All are signed around one
 * transaction nonce, so that at most one of these transactions is ever executed.
 */
const NONCES_AHEAD: readonly (readonly number[])[] = [[0, 1], [0], [1]]

export type DelegationChange = {
  readonly aggregator: AggregatorContext
  /** Of the account. */
  readonly signer: AccountSigner
  /** One of the config's proposers, or `NO_DELEGATE`. */
  readonly delegate: Address
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly stop: AbortSignal
  readonly tell: (progress: string) => void
}

export type DelegationOutcome = {
  readonly tag: 'unchanged' | 'changed' | 'failed'
  readonly message: string
}

/** Gives the account the code, through the service, and waits until the chain shows it. Does nothing when it has it. */
export async function changeDelegation(change: DelegationChange): Promise<DelegationOutcome> {
  if (!isAllowed(change)) throw new Error(`${change.delegate} is no proposer of the config`)
  const untilMs = change.clock.now() + DONE_WITHIN_MS
  let why = ''
  for (const ahead of NONCES_AHEAD) {
    const end = await tryOnce(change, ahead, untilMs)
    if (!('retry' in end)) return end
    why = end.retry
    change.tell(`${describe(ahead)} did not work: ${why}`)
  }
  return failed(`the account's code is unchanged: ${why}`)
}

/** One transaction and what came of it; `retry` when it is certain that nothing did and another form may do better. */
async function tryOnce(
  change: DelegationChange,
  ahead: readonly number[],
  untilMs: number,
): Promise<DelegationOutcome | { readonly retry: string }> {
  const { aggregator, delegate, tell } = change
  const view = await accountOf(change)
  if (!view.ok) return failed(view.fault.message)
  const { code, transactionCount: before } = view.value
  if (isForeign(code, aggregator.settings)) return failed(foreign(code))
  if (isSet(code, delegate)) return { tag: 'unchanged', message: 'it was already' }
  const raw = signedFor(change, view.value, ahead)
  const sent = await aggregator.service.sendRawTransaction(raw)
  if (!sent.ok && sent.fault.tag === 'rejected') return { retry: sent.fault.message }
  if (!sent.ok && !UNKNOWN.has(sent.fault.tag)) return failed(remedyOf(sent.fault))
  tell(sent.ok ? `the service took it as ${sent.value}` : 'no answer; watching the chain')
  return watch(change, { raw, before, taken: sent.ok, untilMs })
}

/** Answers after which the service may have taken it all the same. */
const UNKNOWN: ReadonlySet<AggregatorFault['tag']> = new Set(['unavailable', 'rateLimited'])

/** Never anything that the operator's file does not name (rule A4). */
function isAllowed({ delegate, aggregator }: DelegationChange): boolean {
  return delegate === NO_DELEGATE || nameOfDelegate(delegate, aggregator.settings) !== undefined
}

/** Which of the config's proposers it is. */
export function nameOfDelegate(
  delegate: Address,
  { contracts }: AggregatorSettings,
): 'trustless' | 'trusted' | undefined {
  if (delegate === contracts.trustlessProposer) return 'trustless'
  return delegate === contracts.trustedProposer ? 'trusted' : undefined
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

function signedFor(change: DelegationChange, view: AccountView, ahead: readonly number[]): Hex {
  const { signer, delegate, aggregator } = change
  return signer.signDelegation({
    chainId: aggregator.wallet.chainId,
    delegate,
    authorizationNonces: ahead.map((steps) => view.transactionCount + steps),
    nonce: view.transactionCount,
    gas: DELEGATION_GAS,
    maxFeePerGas: view.baseFeePerGas * 2n + PRIORITY_FEE_WEI,
    maxPriorityFeePerGas: PRIORITY_FEE_WEI,
  }).raw
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
  for (let spent = 0; ; ) {
    const view = await accountOf(change)
    if (view.ok && isSet(view.value.code, delegate))
      return { tag: 'changed', message: 'the chain shows it' }
    spent = view.ok && view.value.transactionCount > sent.before ? spent + 1 : 0
    if (spent >= SPENT_SIGHTS) return { retry: 'executed, and the code is what it was' }
    if (clock.now() >= sent.untilMs || stop.aborted)
      return failed('the chain does not show it yet. Look again with `tranched delegation status`')
    await keepAt(view.ok ? 'the chain does not show it yet' : view.fault.message)
    await clock.sleep(POLL_MS, stop)
  }
}

/** Between two looks: tells of the wait now and then, and sends again what may never have arrived. */
function attendant(
  { clock, tell, aggregator }: DelegationChange,
  { raw, taken }: Sent,
): (progress: string) => Promise<void> {
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
    isTaken = (await aggregator.service.sendRawTransaction(raw)).ok
    sentMs = nowMs
  }
}

function accountOf({ aggregator, signer }: DelegationChange) {
  const { gasTank } = aggregator.settings.contracts
  return aggregator.chain.account({ account: signer.address, gasTank })
}

function describe(ahead: readonly number[]): string {
  if (ahead.length > 1) return 'two authorizations in one transaction'
  return ahead[0] === 0
    ? 'an authorization for the present nonce'
    : 'an authorization for the next nonce'
}

function remedyOf({ tag, message }: AggregatorFault): string {
  const isUnfunded = tag === 'accountNotFound' || tag === 'insufficientBalance'
  return isUnfunded ? `${message} (first: tranched gastank deposit AMOUNT)` : message
}

function failed(message: string): DelegationOutcome {
  return { tag: 'failed', message }
}
