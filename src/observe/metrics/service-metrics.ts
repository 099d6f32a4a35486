import { DISBELIEVED } from '../../domain/order/conflict.ts'
import { REMOTE_OUTCOMES } from '../../domain/remote.ts'
import { PACED_ROUTES } from '../../journal/runtime-event.ts'
import { type Make, MS_TO_MINUTES } from './family.ts'

export function serviceMetrics(make: Make) {
  const queueDepth = make.gauge({
    name: 'tranched_queue_depth',
    help: 'Requests to a service that wait for their turn.',
    labelNames: ['route'],
  })
  // A queue without waits reports nothing: its depth is 0, not unknown.
  for (const route of PACED_ROUTES) queueDepth.set({ route }, 0)
  const disbelieved = make.counter({
    name: 'tranched_disbelieved_total',
    help: 'Answers that are unconfirmed or missing, or that the chain reverted.',
    labelNames: ['service', 'what'],
  })
  for (const [service, kinds] of Object.entries(DISBELIEVED))
    for (const what of kinds) disbelieved.inc({ service, what }, 0)
  return {
    queueDepth,
    disbelieved,
    queueWait: make.histogram({
      name: 'tranched_queue_wait_seconds',
      help: 'Time that a request to a service waited for its turn.',
      labelNames: ['route'],
      buckets: MS_TO_MINUTES,
    }),
    requests: make.counter({
      name: 'tranched_requests_total',
      help: 'Requests sent, by HTTP status or kind of failure.',
      labelNames: ['service', 'route', 'status'],
    }),
    requestDuration: make.histogram({
      name: 'tranched_request_duration_seconds',
      help: 'Time from sending a request to its whole answer.',
      labelNames: ['service', 'route'],
      buckets: MS_TO_MINUTES,
    }),
    clockOffset: make.gauge({
      name: 'tranched_clock_offset_seconds',
      help: 'Another clock less the clock of this machine. That of a chain is the time of its newest block.',
      labelNames: ['source'],
    }),
    finalityLag: make.gauge({
      name: 'tranched_finality_lag_blocks',
      help: 'Blocks between the newest block and the newest final one, at the last reading.',
      labelNames: ['chain'],
    }),
    retries: make.counter({
      name: 'tranched_retries_total',
      help: 'Requests sent again, by cause.',
      labelNames: ['service', 'route', 'cause'],
    }),
    rateLimitRemaining: make.gauge({
      name: 'tranched_ratelimit_remaining',
      help: 'Requests left in the current window, as the service last reported.',
      labelNames: ['service', 'route'],
    }),
  }
}

/** Remote control. Without it, the counts stay at 0 and the gauge is absent. */
export function remoteMetrics(make: Make) {
  const remoteMessages = make.counter({
    name: 'tranched_remote_messages_total',
    help: 'Messages to the remote control bot, by outcome.',
    labelNames: ['outcome'],
  })
  for (const outcome of REMOTE_OUTCOMES) remoteMessages.inc({ outcome }, 0)
  return {
    remoteMessages,
    remoteListening: make.gauge({
      name: 'tranched_remote_listening',
      help: '1 while Telegram answers and no other program listens for the bot.',
      labelNames: ['service'],
    }),
  }
}

const RESULTS = ['delivered', 'failed', 'expired']

/** `telegram-1` is a receiver's kind and its position in the config. */
export function notifyingMetrics(make: Make, channels: readonly string[]) {
  const notifications = make.counter({
    name: 'tranched_notifications_total',
    help: 'Messages that were delivered, that the receiver refused or that had no room, or that were given up after a day.',
    labelNames: ['channel', 'result'],
  })
  const waiting = make.gauge({
    name: 'tranched_notifications_waiting',
    help: 'Messages in the outbox that the receiver has not taken yet.',
    labelNames: ['channel'],
  })
  for (const channel of channels) {
    waiting.set({ channel }, 0)
    for (const result of RESULTS) notifications.inc({ channel, result }, 0)
  }
  return { notifications, notificationsWaiting: waiting }
}
