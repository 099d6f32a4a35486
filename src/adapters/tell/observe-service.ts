import { formatAmount } from '../../domain/units.ts'
import { seconds, type Tellers } from './observers.ts'
import {
  codeSentence,
  disbelievedSentence,
  fundsUnknownSentence,
  gasTankLowSentence,
  topUpBarredSentence,
  topUpCappedSentence,
} from './sentences.ts'

const ETHER_DECIMALS = 18
/** What lasts for days is not told every minute. */
const TOLD_AGAIN_MS = 3_600_000

/** What is asked of services, chains and the disk, and what they say of funds. */
export const SERVICES = {
  /** One request and its answer: a debug line, as there are many. */
  request(event, { log, metrics }, { labels }) {
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
  },

  /** A request is sent again. */
  retry({ type, service, route, cause }, { log, metrics }, { labels }) {
    log.debug(`retrying ${service} ${route}: ${cause}`, { event: type, service, route, cause })
    metrics.retries.inc({ service, route: labels.route(route), cause: labels.cause(cause) })
  },

  /** A request got its turn. */
  'queue-wait'({ route, waitMs }, { metrics }) {
    metrics.queueWait.observe({ route }, seconds(waitMs))
  },

  /** Requests that wait for their turn. */
  'queue-depth'({ route, depth }, { metrics }) {
    metrics.queueDepth.set({ route }, depth)
  },

  /** What the service said about its limit. */
  'rate-limit'({ service, route, remaining }, { metrics }) {
    metrics.rateLimitRemaining.set({ service, route }, remaining)
  },

  /** A group of records is on disk. */
  'journal-appended'({ durationMs, records }, { metrics }) {
    metrics.journalAppendDuration.observe(seconds(durationMs))
    metrics.journalRecords.inc(records)
  },

  'journal-archived'({ type, files, dir }, { log }) {
    const many = files === 1 ? '1 file' : `${files} files`
    log.info(`moved ${many} of the journal to ${dir}`, { event: type, files, dir })
  },

  /** The journal grows on: told now and then. */
  'archive-trouble'({ type, dir, message }, { log }, { isNews }) {
    const level = isNews('archive', TOLD_AGAIN_MS) ? 'warn' : 'debug'
    log[level](`finished files of the journal could not be moved to ${dir}: ${message}`, {
      ...{ event: type, dir },
    })
  },

  /** A balance as read at a tick. One that was not read is none: what was shown last would only seem to hold still. */
  'wallet-balance'({ wallet, token, amount, decimals }, { metrics }) {
    const { walletBalance } = metrics
    if (amount === undefined) walletBalance.remove({ wallet, token })
    else walletBalance.set({ wallet, token }, Number(formatAmount(amount, decimals)))
  },

  /** What the operator's own feeds said at the last look. One that did not answer ages on. */
  'feed-read'({ pair, updatedAtSeconds, maxAgeSeconds }, { metrics }) {
    metrics.feedAgeMax.set({ pair }, maxAgeSeconds)
    if (updatedAtSeconds !== undefined) metrics.feedUpdated.set(pair, updatedAtSeconds)
  },

  profit({ valueToken: { decimals }, held, realised, unrealised }, { metrics }) {
    metrics.costBasis.reset()
    for (const { token, cost } of held)
      metrics.costBasis.set({ token: token.symbol }, Number(formatAmount(cost, decimals)))
    metrics.profit.set({ kind: 'realised' }, Number(formatAmount(realised, decimals)))
    if (unrealised === undefined) metrics.profit.remove({ kind: 'unrealised' })
    else metrics.profit.set({ kind: 'unrealised' }, Number(formatAmount(unrealised, decimals)))
  },
  portfolio({ valueToken, holdings }, { metrics: { portfolioValue } }) {
    for (const { token, value } of holdings)
      if (value === undefined || valueToken === undefined) portfolioValue.remove({ token })
      else portfolioValue.set({ token }, Number(formatAmount(value, valueToken.decimals)))
  },

  'wallet-needed'({ wallet, token, amount, decimals }, { metrics: { walletNeeded } }) {
    if (amount === undefined) walletNeeded.remove({ wallet, token })
    else walletNeeded.set({ wallet, token }, Number(formatAmount(amount, decimals)))
  },

  'clock-offset'({ source, offsetMs }, { metrics }) {
    metrics.clockOffset.set({ source }, offsetMs / 1_000)
  },

  /** What is under way. */
  'open-orders'({ openPermits, unresolvedIntents }, { metrics }) {
    metrics.openPermits.set(openPermits)
    metrics.unresolvedIntents.set(unresolvedIntents)
  },

  /** A service has a way of its own. */
  'service-note'({ type, service, note }, { log }) {
    const who = service === 'rpc' ? '' : `the ${service} service `
    log.info(`${who}${note}`, { event: type, service })
  },

  /** What a service said or left unsaid. Each is counted, the first of a minute told. */
  disbelieved(event, { log, metrics }, { isNews }) {
    const { type, service, what, strategy, intentId } = event
    metrics.disbelieved.inc({ service, what })
    const level = isNews(`${service} ${what} ${intentId}`) ? 'warn' : 'debug'
    log[level](disbelievedSentence(event).text, {
      ...{ event: type, service, what, strategy, intentId },
    })
  },

  /** The chain could not be asked. */
  'chain-trouble'({ type, doing, message }, { log }, { isNews }) {
    const level = isNews(`chain ${doing}`) ? 'warn' : 'debug'
    log[level](`chain trouble while ${doing}: ${message}`, { event: type, doing })
  },

  /** Nothing is concluded before they say the same. */
  'nodes-disagree'({ type, doing, message }, { log, metrics }, { isNews }) {
    metrics.disbelieved.inc({ service: 'rpc', what: 'nodes-disagree' })
    const level = isNews(`disagreement ${doing}`) ? 'warn' : 'debug'
    log[level](`nodes disagree while ${doing}: ${message}`, { event: type, doing })
  },

  /** How far finality lies behind. */
  finality({ chain, lagBlocks }, { metrics }) {
    metrics.finalityLag.set({ chain }, lagBlocks)
  },

  /** The clock jumped or is off. */
  'clock-trouble'({ type, detail }, { log }, { isNews }) {
    log[isNews('clock') ? 'warn' : 'debug'](`clock trouble: ${detail}`, { event: type })
  },

  /** The account's deposit as the service counts it. Exact amounts are in the log. */
  'gas-tank'({ account, balance, outstanding, runwaySeconds, alertBelow }, { metrics }) {
    if (alertBelow !== undefined) metrics.gasTankAlertBelow.set({ account }, ether(alertBelow))
    metrics.gasTankBalance.set({ account }, ether(balance))
    metrics.gasTankOutstanding.set({ account }, ether(outstanding))
    metrics.gasTankAvailable.set({ account }, ether(balance - outstanding))
    if (runwaySeconds === undefined) metrics.runway.remove({ resource: 'gastank' })
    else metrics.runway.set({ resource: 'gastank' }, runwaySeconds)
  },

  /** What was shown last would only seem to hold still: a figure that nobody knows is none. */
  'gas-tank-unknown'(event, { log, metrics }, { isNews }) {
    const { type, account, isLogin } = event
    for (const gauge of [
      metrics.gasTankBalance,
      metrics.gasTankOutstanding,
      metrics.gasTankAvailable,
    ])
      gauge.remove({ account })
    metrics.runway.remove({ resource: 'gastank' })
    const level = isNews(`funds of ${account}`) ? 'warn' : 'debug'
    log[level](fundsUnknownSentence(event).text, { event: type, account })
    if (isLogin) metrics.disbelieved.inc({ service: 'aggregator', what: 'login' })
  },

  /** The deposit has fallen below the operator's threshold. */
  'gas-tank-low'(event, { log }) {
    const { text, details } = gasTankLowSentence(event)
    log.warn(text, { event: event.type, ...details })
  },

  /** A top-up that the daily cap does not allow. */
  'top-up-capped'(event, { log }) {
    const { text, details } = topUpCappedSentence(event)
    log.warn(text, { event: event.type, ...details })
  },

  /** A top-up that is not made for a reason that somebody has to look at. */
  'top-up-barred'(event, { log }) {
    const { text, details } = topUpBarredSentence(event)
    log.warn(text, { event: event.type, ...details })
  },

  /** A deposit has arrived in the service's own figure. */
  'deposit-indexed'({ type, amount }, { log }) {
    const deposited = formatAmount(amount, ETHER_DECIMALS)
    log.info(`the service has the deposit of ${deposited} ETH`, { event: type, amount: deposited })
  },

  /** The code of a contract that signatures depend on. */
  'contract-code'(event, { log }) {
    const { text, details } = codeSentence(event)
    log[event.status === 'changed' ? 'error' : 'info'](text, { event: event.type, ...details })
  },
} satisfies Partial<Tellers>

function ether(wei: bigint): number {
  return Number(formatAmount(wei, ETHER_DECIMALS))
}
