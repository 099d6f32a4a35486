import { formatAmount } from '../../domain/units.ts'
import { closedLabels } from './metrics.ts'
import { type Observed, type Observers, seconds } from './observers.ts'

const REPEAT_AFTER_MS = 60_000
const TROUBLES_MAX = 100

/** What outlives one event: the closed label sets, and the troubles that were told lately. */
export type Memory = {
  readonly labels: Readonly<Record<'route' | 'status' | 'cause', (value: string) => string>>
  readonly isNews: (trouble: string) => boolean
}

/** Make one for each observer. */
export function createMemory(): Memory {
  return {
    labels: { route: closedLabels(), status: closedLabels(), cause: closedLabels() },
    isNews: rememberTroubles(),
  }
}

/** One request and its answer: a debug line, as there are many. */
export function request(
  event: Observed<'request'>,
  { log, metrics }: Observers,
  { labels }: Memory,
): void {
  const { service, durationMs } = event
  const route = labels.route(event.route)
  const status = labels.status(event.status)
  if (log.enabled('debug'))
    log.debug(`${service} ${route}: ${status} in ${durationMs.toFixed(1)} ms`, {
      event: event.type,
      service,
      route: event.route,
      status: event.status,
      durationMs,
    })
  metrics.requests.inc({ service, route, status })
  metrics.requestDuration.observe({ service, route }, seconds(durationMs))
}

/** A request is sent again. */
export function retry(
  event: Observed<'retry'>,
  { log, metrics }: Observers,
  { labels }: Memory,
): void {
  const { service, route, cause } = event
  log.debug(`retrying ${service} ${route}: ${cause}`, { event: event.type, service, route, cause })
  metrics.retries.inc({ service, route: labels.route(route), cause: labels.cause(cause) })
}

/** A call to the service got its turn. */
export function queueWait(event: Observed<'queue-wait'>, { metrics }: Observers): void {
  metrics.queueWait.observe({ route: event.route }, seconds(event.waitMs))
}

/** Calls that wait for their turn. */
export function queueDepth(event: Observed<'queue-depth'>, { metrics }: Observers): void {
  metrics.queueDepth.set({ route: event.route }, event.depth)
}

/** What the service said about its limit. */
export function rateLimit(event: Observed<'rate-limit'>, { metrics }: Observers): void {
  metrics.rateLimitRemaining.set({ service: 'gasless', route: event.route }, event.remaining)
}

/** A group of records is on disk. */
export function journalAppended(event: Observed<'journal-appended'>, { metrics }: Observers): void {
  metrics.journalAppendDuration.observe(seconds(event.durationMs))
  metrics.journalRecords.inc(event.records)
}

/** A balance as read at a tick. */
export function walletBalance(event: Observed<'wallet-balance'>, { metrics }: Observers): void {
  const { wallet, token, amount, decimals } = event
  metrics.walletBalance.set({ wallet, token }, Number(formatAmount(amount, decimals)))
}

/** What is under way. */
export function openOrders(event: Observed<'open-orders'>, { metrics }: Observers): void {
  metrics.openPermits.set(event.openPermits)
  metrics.unresolvedIntents.set(event.unresolvedIntents)
}

/** The chain could not be asked. */
export function chainTrouble(
  event: Observed<'chain-trouble'>,
  { log }: Observers,
  memory: Memory,
): void {
  const { doing, message } = event
  const level = memory.isNews(`chain ${doing}`) ? 'warn' : 'debug'
  log[level](`chain trouble while ${doing}: ${message}`, { event: event.type, doing })
}

/** The clock jumped or is off. */
export function clockTrouble(
  event: Observed<'clock-trouble'>,
  { log }: Observers,
  memory: Memory,
): void {
  const level = memory.isNews('clock') ? 'warn' : 'debug'
  log[level](`clock trouble: ${event.detail}`, { event: event.type })
}

/** A node that is down for hours is one line a minute, not one a tick. */
function rememberTroubles(): (trouble: string) => boolean {
  const toldAt = new Map<string, number>()
  return (trouble) => {
    const nowMs = performance.now()
    const lastMs = toldAt.get(trouble)
    if (lastMs !== undefined && nowMs - lastMs < REPEAT_AFTER_MS) return false
    if (toldAt.size >= TROUBLES_MAX) toldAt.clear()
    toldAt.set(trouble, nowMs)
    return true
  }
}
