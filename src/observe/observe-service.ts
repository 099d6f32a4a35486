import { seconds } from '../journal/wording/log-values.ts'
import { notification } from '../journal/wording/notice.ts'
import { sentence } from '../journal/wording/text.ts'
import type { Handlers } from './observers.ts'

const LOGGED_AGAIN_MS = 3_600_000
const ARCHIVE_TOPIC = 'archive'

export const SERVICES = {
  request(event, { log, metrics }, { labels }) {
    const { type, durationMs, ...asked } = event
    const { service } = asked
    const route = labels.route(asked.route)
    const status = labels.status(asked.status)
    if (log.enabled('debug')) {
      const text = `${service} ${route}: ${status} in ${durationMs.toFixed(1)} ms`
      log.debug(text, { event: type, ...asked, durationMs })
    }
    metrics.requests.inc({ service, route, status })
    metrics.requestDuration.observe({ service, route }, seconds(durationMs))
  },

  retry({ type, service, route, cause }, { log, metrics }, { labels }) {
    log.debug(`retrying ${service} ${route}: ${cause}`, { event: type, service, route, cause })
    metrics.retries.inc({ service, route: labels.route(route), cause: labels.cause(cause) })
  },

  'queue-wait': ({ route, waitMs }, { metrics }) =>
    metrics.queueWait.observe({ route }, seconds(waitMs)),

  'queue-depth': ({ route, depth }, { metrics }) => metrics.queueDepth.set({ route }, depth),

  'rate-limit': ({ service, route, remaining }, { metrics }) =>
    metrics.rateLimitRemaining.set({ service, route }, remaining),

  'journal-appended'({ durationMs, records }, { metrics }) {
    metrics.journalAppendDuration.observe(seconds(durationMs))
    metrics.journalRecords.inc(records)
  },

  'journal-archived': {
    observe({ type, files, dir }, { log }) {
      const many = files === 1 ? '1 file' : `${files} files`
      log.info(`moved ${many} of the journal to ${dir}`, { event: type, files, dir })
    },
    ends: () => [ARCHIVE_TOPIC],
  },

  'archive-trouble': {
    observe({ type, dir, message }, { log }, { isNews }) {
      const level = isNews('archive', LOGGED_AGAIN_MS) ? 'warn' : 'debug'
      const text = `finished files of the journal could not be moved to ${dir}: ${message}`
      log[level](text, { event: type, dir })
    },
    notify({ dir, message }) {
      const lines = [
        ...sentence(message),
        'Nothing is lost: they stay in the state directory, which grows.',
        `Check that ${dir} exists, is writable and has room.`,
      ]
      const subject = 'Finished files of the journal cannot be moved to the archive'
      const over = 'The archive of the journal takes files again'
      return notification('trouble', subject, lines, { topic: ARCHIVE_TOPIC, over })
    },
  },

  /** A feed without an answer keeps ageing. */
  'feed-read'({ pair, updatedAtSeconds, maxAgeSeconds }, { metrics }) {
    metrics.feedAgeMax.set({ pair }, maxAgeSeconds)
    if (updatedAtSeconds !== undefined) metrics.feedUpdated.set(pair, updatedAtSeconds)
  },

  'clock-offset': ({ source, offsetMs }, { metrics }) =>
    metrics.clockOffset.set({ source }, offsetMs / 1_000),

  'open-orders'({ openPermits, unresolvedIntents }, { metrics }) {
    metrics.openPermits.set(openPermits)
    metrics.unresolvedIntents.set(unresolvedIntents)
  },

  'service-note'({ type, service, note }, { log }) {
    const who = service === 'rpc' ? '' : `the ${service} service `
    log.info(`${who}${note}`, { event: type, service })
  },

  'token-listing': {
    observe({ type, token, isListed, strategies }, { log }) {
      const says = isListed ? 'lists' : 'does not list'
      const level = isListed || strategies.length === 0 ? 'info' : 'warn'
      log[level](`the gasless service ${says} ${token}`, { event: type, token })
    },
    notify({ token, isListed, strategies }) {
      if (isListed || strategies.length === 0) return undefined
      const subject = `The service does not list ${token}`
      const lines = [
        `Skipping their slots: ${strategies.join(', ')}. They trade again when the service lists it.`,
        'Orders that are signed are followed to their end.',
      ]
      const over = `The service lists ${token} again`
      return notification('paused', subject, lines, { topic: unlistedTopic(token), over })
    },
    ends: ({ token, isListed }) => (isListed ? [unlistedTopic(token)] : []),
  },

  'chain-trouble'({ type, doing, message }, { log }, { isNews }) {
    const level = isNews(`chain ${doing}`) ? 'warn' : 'debug'
    log[level](`chain failure while ${doing}: ${message}`, { event: type, doing })
  },

  /** Decisions wait until they agree. */
  'nodes-disagree'({ type, doing, message }, { log, metrics }, { isNews }) {
    metrics.disbelieved.inc({ service: 'rpc', what: 'nodes-disagree' })
    const level = isNews(`disagreement ${doing}`) ? 'warn' : 'debug'
    log[level](`nodes disagree while ${doing}: ${message}`, { event: type, doing })
  },

  finality: ({ chain, lagBlocks }, { metrics }) => metrics.finalityLag.set({ chain }, lagBlocks),

  'clock-trouble': ({ type, detail }, { log }, { isNews }) =>
    log[isNews('clock') ? 'warn' : 'debug'](`clock failure: ${detail}`, { event: type }),
} satisfies Partial<Handlers>

function unlistedTopic(token: string): string {
  return `unlisted ${token}`
}
