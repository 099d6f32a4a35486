import { intentClosed } from '../journal/events/order/outcomes.ts'
import type { JournalEvent } from '../journal/events/registry.ts'
import { haltLifted, tradingHalted } from '../journal/events/strategy/stops.ts'
import {
  isNoAnswer,
  lastAnswerText,
  type RuntimeEvent,
  waitsText,
} from '../journal/runtime-event.ts'
import type { Clock } from '../ports.ts'
import type { Probe } from './http/http-server.ts'

/** The loop turns every second, unless it waits for a silent node and all its retries. */
const TICK_AGE_MS_MAX = 120_000
const WAITS_MAX = 1_000

export type FundsSeen =
  | {
      readonly tag: 'known'
      /** Wei. */
      readonly available: bigint
      readonly runwaySeconds: number | undefined
      readonly isLow: boolean
    }
  | { readonly tag: 'unknown'; readonly why: string }

/** State of the probes and of remote status, from runtime events. Ages use `monotonicMs`: the wall clock may be changed. */
export function createWatch(clock: Pick<Clock, 'now'>, monotonicMs: () => number) {
  const failing = new Map<string, string>()
  const waits = new Map<string, string>()
  let funds: FundsSeen | undefined
  let delegation: Extract<RuntimeEvent, { type: 'account-delegation' }> | undefined
  let tickedMs = monotonicMs()
  let isReady = false
  let isHalted = false
  let refused: { readonly files: number; readonly detail: string } | undefined
  let draining = false

  const health = (): Probe => {
    const ageMs = Math.round(monotonicMs() - tickedMs)
    const reasons = ageMs > TICK_AGE_MS_MAX ? [`the loop has not turned for ${ageMs} ms`] : []
    return { ok: reasons.length === 0, reasons, details: { lastTurnAgeMs: ageMs } }
  }
  const failingReasons = (): string[] =>
    [...failing].map(([service, status]) => `${service} ${lastAnswerText(status)}`)
  const ready = (): Probe => {
    const reasons = [...health().reasons, ...failingReasons()]
    if (funds?.tag === 'unknown') reasons.push(funds.why)
    if (delegation?.isNeeded && delegation.refusal !== undefined)
      reasons.push(`account ${delegation.account} is ${delegation.refusal}`)
    if (!isReady) reasons.unshift('starting')
    if (draining) reasons.unshift('stopping')
    // A halted daemon is ready: it follows signed orders, and a restart would change nothing.
    // So is a daemon with refused files: it uses the older ones, and a restart would stop it.
    // Null without an aggregator, or if the account's code was not read last.
    const delegated = delegation && !delegation.isUnread ? delegation.refusal === undefined : null
    const details = { halted: isHalted, refusedFiles: refused ?? null, delegated }
    return { ok: reasons.length === 0, reasons, details }
  }
  const sawAccount = (event: RuntimeEvent): void => {
    if (event.type === 'account-delegation') delegation = event
    if (event.type === 'gas-tank') {
      const { balance, outstanding, runwaySeconds, isLow } = event
      funds = { tag: 'known', available: balance - outstanding, runwaySeconds, isLow }
    }
    if (event.type === 'gas-tank-unknown') {
      const why = event.isLogin
        ? `aggregator does not accept the login of wallet ${event.account}: its funds are unknown`
        : `aggregator reports no funds of wallet ${event.account}`
      funds = { tag: 'unknown', why }
    }
  }
  const sawWait = (event: RuntimeEvent): void => {
    if (event.type === 'order-waited') waits.delete(event.intentId)
    if (event.type !== 'order-waits') return
    if (waits.size >= WAITS_MAX) waits.clear()
    waits.set(event.intentId, waitsText(event))
  }
  const sawRequest = (event: Extract<RuntimeEvent, { type: 'request' }>): void => {
    const { service, chain, status } = event
    const node = chain === undefined ? 'a node' : `a node of chain ${chain}`
    const name = service === 'rpc' ? node : service
    if (isNoAnswer(status)) failing.set(name, status)
    else failing.delete(name)
  }
  return {
    probes: { health, ready },
    /** Services whose last request got no answer, each with its status. */
    failing: failingReasons,
    /** What unsigned orders wait for, in words, by intent. */
    waits: (): ReadonlyMap<string, string> => waits,
    /** Undefined before the first report. */
    gasTank: (): FundsSeen | undefined => funds,
    /** Epoch ms on the wall clock. */
    turnedAtMs: (): number => clock.now() - (monotonicMs() - tickedMs),
    ticked: (): void => {
      tickedMs = monotonicMs()
    },
    ready: (): void => {
      isReady = true
    },
    recorded(event: JournalEvent): void {
      if (tradingHalted.is(event)) isHalted = true
      if (haltLifted.is(event)) isHalted = false
      if (intentClosed.is(event)) waits.delete(event.intentId)
    },
    saw(event: RuntimeEvent): void {
      if (event.type === 'daemon-started') isHalted = event.halted !== undefined
      if (event.type === 'daemon-stopping') draining = true
      if (event.type === 'files-stale')
        refused = event.files === 0 ? undefined : { files: event.files, detail: event.detail }
      sawAccount(event)
      sawWait(event)
      if (event.type === 'request') sawRequest(event)
    },
  }
}
