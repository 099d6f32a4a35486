import type { Address } from '../domain/money/units.ts'
import { type FailureReason, isFailureReason, isPassing } from '../domain/order/reason.ts'
import { backoffMs } from '../domain/policy.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import type { Chain, ChainFault } from '../ports.ts'
import { codeBar } from '../signing/contract-code-policy.ts'
import { askChainOnce, trustedNow } from './chain-requests.ts'
import { blockedBy, type Closing, mayNotStart, type Refusal, refusal } from './close.ts'
import type { OrderContext } from './context.ts'

export type RetryLater = {
  readonly tag: 'retryLater'
  readonly reason: FailureReason
  readonly detail: string
  /** Minimum wait, if the service named one. */
  readonly pauseMs?: number
  readonly again?: {
    readonly service: 'gasless' | 'rpc'
    readonly route: string
    readonly cause: string
  }
}

export type Step =
  | { readonly tag: 'sent' | 'stopped' }
  | Closing
  | RetryLater
  /** Something changed: retry at once, up to a limit, then use `otherwise`. */
  | { readonly tag: 'again'; readonly otherwise: Closing | RetryLater }
  /** A block ended it before its turn. */
  | { readonly tag: 'blocked' }

export function retryLater(
  reason: FailureReason,
  detail: string,
  more: Pick<RetryLater, 'pauseMs' | 'again'> = {},
): RetryLater {
  return { tag: 'retryLater', reason, detail, ...more }
}

/** Retries after a node failed to answer a request of this route. */
export function retryChain(route: string, { tag: cause, message }: ChainFault): RetryLater {
  return retryLater('chain-unavailable', message, { again: { service: 'rpc', route, cause } })
}

/** Handles a signer's refusal: temporary reasons are retried. */
export function unsigned({ reason, detail }: Refusal): Closing | RetryLater {
  return isFailureReason(reason) && isPassing(reason)
    ? retryLater(reason, detail)
    : blockedBy({ ok: false, reason, detail })
}

type Tries = {
  /** Ends the intent before a try. */
  readonly blocked: () => Closing | undefined
  readonly tryOnce: () => Promise<Step>
  /** Compares the other clocks of its venue; see `clockConflict`. */
  readonly clocks: () => Promise<RetryLater | undefined>
  readonly atOnceMax: number
}

/**
 * Retries until something is signed or the intent ends. Nothing signed is at risk, so failures of service, chain or clocks
 * are retried with backoff for as long as the slot may be late. Reports the first failure and the recovery. Returns the end;
 * undefined if it was sent or the daemon drains.
 */
export async function retryUntilEnd(
  context: OrderContext,
  open: OpenIntent,
  tries: Tries,
): Promise<Closing | undefined> {
  const { blocked, tryOnce, atOnceMax } = tries
  const wait = createWait(context, open)
  let atOnce = 0
  while (!context.closing.aborted) {
    const step = await believed(tries, blocked() ?? (await tryOnce()))
    // A drain decides nothing.
    if (context.closing.aborted && step.tag !== 'sent') break
    atOnce = step.tag === 'again' ? atOnce + 1 : 0
    const came = step.tag === 'again' && atOnce >= atOnceMax ? step.otherwise : step
    if (isOver(came)) return wait.over(came)
    await wait.after(came)
  }
  return undefined
}

/** Ends that a wrong clock can also cause: they count only while clocks agree. */
const BY_CLOCK: ReadonlySet<Closing['reason']> = new Set(['too-late', 'deadline-too-far'])

async function believed({ blocked, clocks }: Tries, step: Step): Promise<Step> {
  if (step.tag !== 'closing' || !BY_CLOCK.has(step.reason)) return step
  const conflict = await clocks()
  if (conflict !== undefined) return conflict
  // The clock may have been corrected meanwhile.
  const isLate = step.reason === 'too-late'
  return isLate && blocked()?.reason !== step.reason ? { tag: 'again', otherwise: step } : step
}

/**
 * Conflict of the machine's clock with the newest block or the service's clock, or an unreadable block. Undefined if none.
 */
export async function clockConflict(
  context: OrderContext,
  chain: Pick<Chain, 'identity'>,
  serviceOffsetMs?: number,
): Promise<RetryLater | undefined> {
  const read = await askChainOnce(context, 'comparing clocks', () => chain.identity())
  if (!read.ok) return retryChain('identity', read.fault)
  const { blockTimeSeconds } = read.value
  const time = trustedNow(context, { blockTimeSeconds, serviceOffsetMs })
  if (time.ok) return undefined
  context.ports.observe({ type: 'clock-trouble', detail: time.detail })
  return retryLater(time.reason, time.detail)
}

type Over = Extract<Step, { readonly tag: 'closing' | 'sent' | 'stopped' }>

function isOver(step: Step): step is Over {
  return step.tag === 'closing' || step.tag === 'sent' || step.tag === 'stopped'
}

function createWait(context: OrderContext, open: OpenIntent) {
  const { ports, policy, closing } = context
  const { strategy, id: intentId, startBeforeMs } = open.intent
  let last: RetryLater | undefined
  let sinceMs = 0
  let tries = 0
  let isCrowded = false
  return {
    /** Waits after a failure, and reports the first one. */
    async after(step: Step): Promise<void> {
      isCrowded ||= step.tag === 'blocked'
      if (step.tag !== 'retryLater') return
      if (last === undefined) {
        sinceMs = ports.clock.now()
        const { reason, detail } = step
        ports.observe({ type: 'order-waits', strategy, intentId, reason, detail, startBeforeMs })
      }
      last = step
      tries += 1
      const backoff = backoffMs(policy, tries, ports.random.jitter())
      await restFor(context, open, Math.max(step.pauseMs ?? 0, backoff))
      if (closing.aborted) return
      if (step.again !== undefined) ports.observe({ type: 'retry', ...step.again })
    },
    /** Reports the recovery after a failure. If waiting took too long, the end names the cause. */
    over(step: Over): Closing | undefined {
      const end = step.tag === 'closing' ? step : undefined
      const isLate = end?.reason === 'too-late'
      if (last === undefined)
        return isLate && isCrowded
          ? { ...end, detail: `${end.detail}; its turn had not come` }
          : end
      const waitedMs = Math.max(0, ports.clock.now() - sinceMs)
      const { reason, detail } = last
      ports.observe({ type: 'order-waited', strategy, intentId, reason, waitedMs })
      const cause = `the last failure: ${reason}, ${detail}`
      return isLate ? { ...end, detail: `${end.detail}; ${cause}` } : end
    },
  }
}

/** Sleeps, and ends early if the blocking reason changes (checked every `pollMsMin`). */
async function restFor(context: OrderContext, open: OpenIntent, ms: number): Promise<void> {
  const { clock } = context.ports
  const checkMs = context.policy.pollMsMin
  const before = mayNotStart(context, open)?.reason
  for (let leftMs = ms; leftMs > 0; leftMs -= checkMs) {
    await clock.sleep(Math.min(leftMs, checkMs), context.closing)
    if (context.closing.aborted || mayNotStart(context, open)?.reason !== before) return
  }
}

/** A changed contract ends an order; an uncertain reading is retried. */
export function codeStep(
  { ports, trusted }: Pick<OrderContext, 'ports' | 'trusted'>,
  query: { readonly chainId: number; readonly addresses: readonly Address[] },
): Closing | RetryLater | undefined {
  const bar = codeBar(ports.journal.state, trusted, query)
  if (bar === undefined) return undefined
  const { reason, detail } = bar
  return reason === 'code-changed' ? refusal(reason, detail) : retryLater(reason, detail)
}
