import { DISBELIEVED } from '../../../domain/disbelief.ts'
import type { Route } from '../../../domain/observation.ts'
import { type Make, MS_TO_MINUTES } from './make.ts'

const ROUTES: Readonly<Record<Route, true>> = {
  tokens: true,
  quote: true,
  submit: true,
  poll: true,
  sendRawTransaction: true,
  sendBundle: true,
  getTransactionReceipt: true,
  getBatchedTransactionReceipt: true,
  accountInfo: true,
  transactionStatus: true,
}

/** Requests to services and nodes, and the queues before them. */
export function serviceMetrics(make: Make) {
  const queueDepth = make.gauge({
    name: 'tranched_queue_depth',
    help: 'Requests to a service that wait for their turn.',
    labelNames: ['route'],
  })
  // A queue that nobody ever waited in reports nothing: its depth is 0, not unknown.
  for (const route of Object.keys(ROUTES)) queueDepth.set({ route }, 0)
  const disbelieved = make.counter({
    name: 'tranched_disbelieved_total',
    help: 'Answers that nothing else bears out, that are missing, or that the chain took back.',
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
      help: 'Blocks between the newest block and the newest final one, at the last look.',
      labelNames: ['chain'],
    }),
    retries: make.counter({
      name: 'tranched_retries_total',
      help: 'Requests sent again, by cause.',
      labelNames: ['service', 'route', 'cause'],
    }),
    rateLimitRemaining: make.gauge({
      name: 'tranched_ratelimit_remaining',
      help: 'Requests left in the current window, as last told by the service.',
      labelNames: ['service', 'route'],
    }),
  }
}
