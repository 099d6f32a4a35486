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
      about: 'To services and nodes together.',
      expr: `sum(${rateOf('tranched_requests_total')})`,
      unit: 'reqps',
      course: true,
    }),
    stat({
      title: 'Waiting for their turn',
      about: 'Requests that our own pace holds back now.',
      expr: `sum(${of('tranched_queue_depth')})`,
      unit: 'none',
      steps: [
        [null, 'green'],
        [50, 'yellow'],
        [500, 'red'],
      ],
    }),
    stat({
      title: 'Sent again',
      about: 'Requests that were made again, for whatever cause, in the time that is shown.',
      expr: `sum(${increaseInAll('tranched_retries_total')}) or vector(0)`,
      unit: 'none',
      decimals: 0,
    }),
    stat({
      title: 'Not believed',
      about: 'Answers that nothing else bears out, or that are missing, in the time that is shown.',
      expr: `sum(${increaseInAll('tranched_disbelieved_total')})`,
      unit: 'none',
      decimals: 0,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Oldest feed',
      about:
        'Age of the price feed that is nearest to its maxAge, of that. From 1 on no price of it is used.',
      expr: `max(${of('tranched_feed_age_seconds')} / ${of('tranched_feed_age_max_seconds')})`,
      unit: 'percentunit',
      steps: [
        [null, 'green'],
        [0.8, 'yellow'],
        [1, 'red'],
      ],
    }),
    stat({
      title: 'Clocks apart',
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
          title: 'Without an answer, and turned away',
          about:
            'Share of requests that timed out, met an error of the service or no connection; and that a limit turned away.',
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
          title: 'Waiting for their turn',
          about: 'Requests in our own queue, by what they ask.',
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
          title: 'Left of the limit',
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
          title: 'Sent again by cause',
          about: 'A line at 0 where nothing ever was.',
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
          title: 'Not believed',
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
            'Of what maxAge allows. From 1 on no price of it is used, and slots that need it are skipped.',
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
            'Blocks between the newest and the newest final one. What is not final is watched.',
          unit: 'short',
          min: 0,
          queries: [{ expr: of('tranched_finality_lag_blocks'), legend: '{{chain}}' }],
        }),
      ],
    },
  ],
}
