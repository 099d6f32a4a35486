import { type GasLimits, type GasOffer, gasRefusal, unfitGas } from '../domain/money/gas.ts'
import type { PricePath } from '../domain/money/price.ts'
import type { Token } from '../domain/money/token.ts'
import { type Address, baseUnits, type Hex } from '../domain/money/units.ts'
import type { CallRecord, DelegationDraft } from '../domain/order/call.ts'
import type { TrustedCode } from '../domain/order/contract.ts'
import type { IntentId } from '../domain/order/intent.ts'
import { hasLiveAuthorization } from '../domain/order/order.ts'
import type { Permit, PermitRecord } from '../domain/order/permit.ts'
import type { BarReason } from '../domain/order/reason.ts'
import type { AccountLimits, AggregatorSettings, GaslessSettings } from '../domain/settings.ts'
import { delegationName } from '../journal/events/state/wallets.ts'
import { limitHit, limitText } from '../journal/projections/limits.ts'
import { gasInDay } from '../journal/projections/transactions.ts'
import type { OpenCall, OpenIntent, OpenSwap } from '../journal/state/daemon-state.ts'
import type { Clock, Guard, Journal, Key, Modules } from '../ports.ts'
import { assetsOf, makesCalls, type Strategy } from '../strategies/registry.ts'
import { callOf } from '../venues/call/call-projection.ts'
import { projectionOf } from '../venues/projections.ts'
import { liveNonces, swapOf } from '../venues/swap/swap-projection.ts'
import { callContracts, codeBar, permitContracts } from './contract-code-policy.ts'
import { NO_DELEGATE, nameOfDelegate } from './delegation-policy.ts'
import type { HeardPrices } from './heard-prices.ts'
import { CHANGED_TERMS, isByTerms } from './terms.ts'

/** The parts of the current operator files that signatures are checked against. */
export type Files = {
  readonly chainId: number
  readonly gasless: Pick<
    GaslessSettings,
    'permit2' | 'spenders' | 'maxQuoteLifetimeMs' | 'approval'
  >
  readonly account: AccountLimits
  readonly strategies: ReadonlyMap<string, Strategy>
  readonly versionOf: Modules['versionOf']
  readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
  readonly trusted: TrustedCode
  readonly gas: ReadonlyMap<number, GasLimits>
  readonly aggregator:
    | { readonly settings: AggregatorSettings; readonly chainId: number }
    | undefined
}

export type SignerParts = {
  readonly key: Key
  readonly hashPermit: (permit: Permit) => Hex
  readonly journal: Pick<Journal, 'state' | 'isOnDisk'>
  readonly guard: Guard
  readonly clock: Pick<Clock, 'now'>
  readonly files: Files
  /** Required for permits. */
  readonly prices?: HeardPrices
}

export class SignatureRefused extends Error {
  readonly reason: BarReason
  constructor(reason: BarReason, detail: string) {
    super(detail)
    this.reason = reason
  }
}

/** `detail` may be a function, because most conditions hold and it is costly to build. */
export function check(
  condition: boolean,
  reason: BarReason,
  detail: string | (() => string),
): asserts condition {
  if (!condition) throw new SignatureRefused(reason, typeof detail === 'string' ? detail : detail())
}

export function checkHalt({ journal, guard }: SignerParts): void {
  const detail = journal.state.halted?.detail ?? guard.blocked()
  check(detail === undefined, 'halted', detail ?? '')
}

/** Requires the intent's strategy file: without it an intent has no caps. */
export function strategyOf({ strategies }: Files, name: string): Strategy {
  const strategy = strategies.get(name)
  check(strategy !== undefined, 'strategy-removed', 'its strategy file is gone or disabled')
  return strategy
}

/** Checks every signature of an intent: no halt, the strategy exists, and the slot is not too late. */
export function checkMoment(parts: SignerParts, { intent }: OpenIntent): void {
  checkHalt(parts)
  strategyOf(parts.files, intent.strategy)
  const isLate = parts.clock.now() > intent.startBeforeMs
  check(!isLate, 'too-late', "the slot's maxLateness has passed")
}

/**
 * Requires for a first signature that the strategy's file still has the terms of the decision. Earlier signatures may be in
 * use: refusing the same bytes again would not revoke them, only delay their outcome (rule G7). The same holds for a
 * fallback, which competes for the same nonce. Tokens, target, caps and time are checked every time.
 */
export function checkTerms({ files }: SignerParts, { intent }: OpenIntent): void {
  const strategy = strategyOf(files, intent.strategy)
  const isSaid = isByTerms(intent, strategy, files.versionOf)
  check(isSaid, 'strategy-changed', CHANGED_TERMS)
}

/** True if a call was signed, by either route. The journal records that before the signature leaves the process. */
export function isOut(
  { journal }: SignerParts,
  { envelopeHash }: OpenCall,
  call: CallRecord,
): boolean {
  return envelopeHash !== undefined || journal.state.directCalls.has(call.clientOrderId)
}

function openIntent({ journal }: SignerParts, id: IntentId): OpenIntent {
  const open = journal.state.intents.get(id)
  check(open !== undefined, 'not-on-record', `intent ${id} is not open`)
  return open
}

export function recordedPermit(
  parts: SignerParts,
  id: IntentId,
): { readonly open: OpenSwap; readonly permit: PermitRecord } {
  const open = swapOf(openIntent(parts, id))
  const isRecorded = open?.state === 'exposed'
  const permit = isRecorded ? open.permit : undefined
  const isOnDisk = permit !== undefined && parts.journal.isOnDisk(permit.clientOrderId)
  check(isRecorded && isOnDisk, 'not-on-record', `no permit of ${id} is on record and on disk`)
  return { open, permit }
}

export function recordedCall(
  parts: SignerParts,
  id: IntentId,
): { readonly open: OpenCall; readonly call: CallRecord } {
  const open = callOf(openIntent(parts, id))
  const isRecorded = open !== undefined && hasLiveAuthorization(open.state)
  const call = isRecorded ? open.call : undefined
  const isOnDisk = call !== undefined && parts.journal.isOnDisk(call.clientOrderId)
  check(isRecorded && isOnDisk, 'not-on-record', `no call of ${id} is on record and on disk`)
  return { open, call }
}

export function checkPermit(
  { key, files, journal, clock }: SignerParts,
  open: OpenSwap,
  permit: Permit,
): void {
  const { intent } = open
  const { gasless, chainId } = files
  check(permit.owner === key.address, 'owner-mismatch', `the permit is of ${permit.owner}`)
  check(permit.recipient === key.address, 'recipient-mismatch', `it pays ${permit.recipient}`)
  const isPermit2 = permit.permit2 === gasless.permit2 && permit.chainId === chainId
  check(isPermit2, 'permit2-mismatch', `it is for ${permit.permit2} on chain ${permit.chainId}`)
  const { spender } = permit
  check(
    gasless.spenders.includes(spender),
    'spender-not-allowed',
    `${spender} is not in gasless.spenders`,
  )
  const traded = assetsOfIntent(files, intent.strategy)
  const sells = permit.token === intent.sell.token.address && traded.has(permit.token)
  check(sells, 'sell-token-mismatch', `the strategy does not trade ${permit.token}`)
  const buys = permit.tokenOut === intent.buy.token.address && traded.has(permit.tokenOut)
  check(buys, 'buy-token-mismatch', `the strategy does not trade ${permit.tokenOut}`)
  check(permit.amount <= intent.maxSell, 'amount-above-limit', `it takes ${permit.amount}`)
  check(permit.minAmountOut > 0n, 'minimum-output-too-low', 'it guarantees nothing')
  const leftMs = permit.deadlineSeconds * 1000 - clock.now()
  check(leftMs > 0, 'too-late', 'its deadline has passed')
  check(
    leftMs <= gasless.maxQuoteLifetimeMs,
    'deadline-too-far',
    'it lives longer than maxQuoteLifetime',
  )
  const isTaken = liveNonces(journal.state, intent).has(permit.nonce)
  check(!isTaken, 'nonce-live', 'another live permit of this wallet carries the same nonce')
  const path = files.pricePath(intent.sell.token, intent.buy.token)
  const used = { sell: permit.token, buy: permit.tokenOut, path, spender }
  checkCode({ files, journal }, chainId, permitContracts(gasless, used))
}

/** Requires contracts to have their recorded code, or code that an operator accepted since (rule T13). */
export function checkCode(
  { files, journal }: Pick<SignerParts, 'files' | 'journal'>,
  chainId: number,
  addresses: readonly Address[],
): void {
  const bar = codeBar(journal.state, files.trusted, { chainId, addresses })
  check(bar === undefined, bar?.reason ?? 'code-changed', bar?.detail ?? '')
}

export function assetsOfIntent({ strategies }: Files, name: string): ReadonlySet<Address> {
  const strategy = strategies.get(name)
  const assets = strategy === undefined ? [] : assetsOf(strategy)
  return new Set(assets.map(({ token }) => token.address))
}

/** Checks the current caps. The ledger already includes the record, so nothing is added. */
export function checkCaps(
  { files, journal, clock }: SignerParts,
  { intent }: OpenIntent,
  amount: bigint,
): void {
  const strategy = strategyOf(files, intent.strategy)
  const nowMs = clock.now()
  const hit = limitHit(journal.state, {
    strategy: intent.strategy,
    token: projectionOf(intent).mostOf(intent).token,
    amount: baseUnits(amount),
    together: baseUnits(0n),
    nowMs,
    limits: strategy.limits,
    account: files.account,
  })
  if (hit !== undefined) throw new SignatureRefused(hit.reason, limitText(hit, nowMs))
}

export function aggregatorOf({ files }: SignerParts): NonNullable<Files['aggregator']> {
  check(
    files.aggregator !== undefined,
    'aggregator-missing',
    'the config has no aggregator section',
  )
  return files.aggregator
}

export function checkCall(
  parts: SignerParts,
  open: OpenCall,
  call: CallRecord,
): AggregatorSettings {
  const { settings, chainId } = aggregatorOf(parts)
  const isOwn = call.account === parts.key.address && call.chainId === chainId
  check(isOwn, 'owner-mismatch', `it is of ${call.account} on chain ${call.chainId}`)
  check(call.trust === settings.proposer, 'proposer-mismatch', `it was made for \`${call.trust}\``)
  const strategy = strategyOf(parts.files, open.intent.strategy)
  const isTarget = [...settings.targets.values()].includes(call.target)
  check(isTarget, 'target-not-allowed', `${call.target} is not in aggregator.targets`)
  const isNamed = makesCalls(strategy) && strategy.target === call.target
  check(isNamed, 'target-not-allowed', `its strategy does not call ${call.target} any more`)
  if (call.trust === 'trustless') {
    const verifiers = [settings.contracts.trustlessProposer, call.account]
    const { verifyingContract } = call
    check(
      verifiers.includes(verifyingContract),
      'proposer-mismatch',
      `it names ${verifyingContract}`,
    )
    const isOver = parts.clock.now() > call.deadlineSeconds * 1000
    check(!isOver, 'too-late', 'its deadline has passed')
  }
  checkCode(parts, chainId, callContracts(settings, call.target))
  checkCaps(parts, open, call.value)
  return settings
}

/** The direct fallback may start `fallback.deadline` after the call's record, and so after `maxLateness`. */
export function checkFallback(parts: SignerParts): void {
  checkHalt(parts)
  const { fallback } = aggregatorOf(parts).settings
  check(fallback.mode !== 'off', 'target-not-allowed', 'aggregator.fallback is off')
}

/**
 * Checks gas and fees (rule T12), because nodes only suggest fees. `beside`: the nonce whose cost the day's total already
 * includes.
 */
export function checkGas(
  { files, journal, clock }: SignerParts,
  offer: GasOffer & { readonly chainId: number; readonly data: Hex },
  beside?: { readonly from: Address; readonly nonce: number },
): void {
  const { chainId, gas, data } = offer
  const limits = files.gas.get(chainId)
  check(limits !== undefined, 'owner-mismatch', `it is on chain ${chainId}`)
  const unfit = unfitGas(data, gas)
  check(unfit === undefined, 'gas-limit-too-low', unfit ?? '')
  const nowMs = clock.now()
  const query = { chainId, nowMs, ...(beside && { beside: { chainId, ...beside } }) }
  const refusal = gasRefusal(limits, offer, gasInDay(journal.state, query))
  check(refusal === undefined, 'gas-too-dear', refusal ?? '')
}

export function recordedDelegation(parts: SignerParts): DelegationDraft {
  const { journal, key } = parts
  const { delegation } = journal.state
  const isRecorded = delegation?.account === key.address
  const isOnDisk = isRecorded && journal.isOnDisk(delegationName(delegation))
  check(isOnDisk, 'not-on-record', `no delegation of ${key.address} is on record and on disk`)
  return delegation
}

/** Allows only code that the config names, or none (rule A4). A halt permits removing code. */
export function checkDelegation(parts: SignerParts, draft: DelegationDraft): void {
  const { settings, chainId } = aggregatorOf(parts)
  const { delegate } = draft
  check(draft.chainId === chainId, 'owner-mismatch', `it is on chain ${draft.chainId}`)
  const { nonce } = draft
  checkGas(parts, { ...draft, data: '0x' }, { from: parts.key.address, nonce })
  if (delegate === NO_DELEGATE) return
  checkHalt(parts)
  const isNamed = nameOfDelegate(delegate, settings) !== undefined
  check(isNamed, 'foreign-delegation', `${delegate} is no proposer of the config`)
  checkCode(parts, chainId, [delegate])
}
