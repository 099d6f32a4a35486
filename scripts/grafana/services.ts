import type { Sheet } from './frame.ts'
import { bars, GOOD_AT_0, lines, stat } from './panels.ts'
import {
  increaseInAll,
  increaseOf,
  LIMITED,
  NO_ANSWER,
  of,
  quantileOf,
  rateOf,
} from './selector.ts'

/** Share of requests whose status is none of these. */
function shareOf(statuses: string): string {
  const all = `sum by (service) (${rateOf('tranched_requests_total')})`
  const others = `sum by (service) (${rateOf('tranched_requests_total', `status!~"${statuses}"`)})`
  return `1 - ${others} / ${all}`
}

/** Requests to services and nodes, and their results. */
export const SERVICES: Sheet = {
  uid: 'tranched-services',
  title: 'tranched / Services and queues',
  about: 'Requests to services and nodes, their results, and the queues.',
  first: [
    stat({
      title: 'Requests a second',
      about: 'To all services and nodes.',
      expr: `sum(${rateOf('tranched_requests_total')})`,
      unit: 'reqps',
      course: true,
    }),
    stat({
      title: 'Queued requests',
      about: 'Requests that wait for our own rate limit.',
      expr: `sum(${of('tranched_queue_depth')})`,
      unit: 'none',
      steps: [
        [null, 'green'],
        [50, 'yellow'],
        [500, 'red'],
      ],
    }),
    stat({
      title: 'Retries',
      about: 'Retried requests, in the selected time.',
      expr: `sum(${increaseInAll('tranched_retries_total')}) or vector(0)`,
      unit: 'none',
      decimals: 0,
    }),
    stat({
      title: 'Rejected claims',
      about: 'Unconfirmed or missing answers, in the selected time.',
      expr: `sum(${increaseInAll('tranched_disbelieved_total')})`,
      unit: 'none',
      decimals: 0,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Oldest feed',
      about:
        'Age of the oldest price feed relative to its maxAge. From 1 on, its price is not used.',
      expr: `max(${of('tranched_feed_age_seconds')} / ${of('tranched_feed_age_max_seconds')})`,
      unit: 'percentunit',
      steps: [
        [null, 'green'],
        [0.8, 'yellow'],
        [1, 'red'],
      ],
    }),
    stat({
      title: 'Clock offset',
      about:
        "The largest distance of a clock from this machine's. A chain's is that of its newest block, which is a little behind.",
      expr: `max(abs(${of('tranched_clock_offset_seconds')}))`,
      unit: 's',
      decimals: 1,
      steps: [
        [null, 'green'],
        [5, 'yellow'],
        [120, 'red'],
      ],
    }),
  ],
  sections: [
    {
      title: 'Requests',
      panels: [
        lines({
          title: 'Requests by service',
          about: 'rpc: nodes of all chains.',
          unit: 'reqps',
          min: 0,
          queries: [
            {
              expr: `sum by (service) (${rateOf('tranched_requests_total')})`,
              legend: '{{service}}',
            },
          ],
        }),
        lines({
          title: 'Failed and rate-limited',
          about:
            'Share of requests with a timeout, a service error or no connection; and of rate-limited requests.',
          unit: 'percentunit',
          min: 0,
          max: 1,
          queries: [
            { expr: shareOf(NO_ANSWER), legend: '{{service}} without an answer' },
            { expr: shareOf(LIMITED), legend: '{{service}} turned away' },
          ],
        }),
        lines({
          title: 'Time to an answer',
          about: '95 of 100 requests took at most this long.',
          unit: 's',
          min: 0,
          queries: [
            {
              expr: quantileOf(0.95, 'tranched_request_duration_seconds', {
                by: ['service', 'route'],
              }),
              legend: '{{service}} {{route}}',
            },
          ],
        }),
        bars({
          title: 'Answers by status',
          about: 'HTTP status, or the kind of failure.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (service, status) (${increaseOf('tranched_requests_total')})`,
              legend: '{{service}} {{status}}',
            },
          ],
        }),
      ],
    },
    {
      title: 'Queues and limits',
      panels: [
        lines({
          title: 'Queued requests',
          about: 'Requests in our own queue, by purpose.',
          unit: 'short',
          min: 0,
          queries: [
            { expr: `sum by (route) (${of('tranched_queue_depth')})`, legend: '{{route}}' },
          ],
        }),
        lines({
          title: 'Time in the queue',
          about: '95 of 100 requests waited at most this long for their turn.',
          unit: 's',
          min: 0,
          queries: [
            {
              expr: quantileOf(0.95, 'tranched_queue_wait_seconds', { by: ['route'] }),
              legend: '{{route}}',
            },
          ],
        }),
        lines({
          title: 'Remaining limit',
          about: 'Requests that the service still allows in its current window, by its last reply.',
          unit: 'short',
          min: 0,
          queries: [
            {
              expr: `min by (service, route) (${of('tranched_ratelimit_remaining')})`,
              legend: '{{service}} {{route}}',
            },
          ],
        }),
        bars({
          title: 'Retries by cause',
          about: '0 if there were none.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (service, cause) (${increaseOf('tranched_retries_total')}) or vector(0)`,
              legend: '{{service}} {{cause}}',
            },
          ],
        }),
      ],
    },
    {
      title: 'Trust',
      panels: [
        bars({
          title: 'Rejected claims',
          about:
            'Claims that no other source confirms, by kind. docs/alerts.md explains the kinds.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (service, what) (${increaseOf('tranched_disbelieved_total')})`,
              legend: '{{service}} {{what}}',
            },
          ],
        }),
        lines({
          title: 'Age of price feeds',
          about:
            'Relative to maxAge. From 1 on, the price is not used, and slots that need it are skipped.',
          unit: 'percentunit',
          min: 0,
          steps: [
            [null, 'green'],
            [1, 'red'],
          ],
          queries: [
            {
              expr: `${of('tranched_feed_age_seconds')} / ${of('tranched_feed_age_max_seconds')}`,
              legend: '{{pair}}',
            },
          ],
        }),
        lines({
          title: 'Other clocks',
          about:
            "Ahead of this machine's above 0. More than 5 s ahead, or a service's 5 s behind, and nothing is signed.",
          unit: 's',
          queries: [{ expr: of('tranched_clock_offset_seconds'), legend: '{{source}}' }],
        }),
        lines({
          title: 'Finality',
          about:
            'Blocks between the newest block and the newest final block. Fills that are not final are monitored.',
          unit: 'short',
          min: 0,
          queries: [{ expr: of('tranched_finality_lag_blocks'), legend: '{{chain}}' }],
        }),
      ],
    },
  ],
}
