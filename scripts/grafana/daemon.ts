import type { Sheet } from './frame.ts'
import { YES_IS_BAD } from './outcomes.ts'
import { bars, GOOD_AT_0, layers, lines, stat, table } from './panels.ts'
import { increaseOf, of, quantileOf, rateOf } from './selector.ts'

/** The process: its loop, journal, memory, disk and notifications. */
export const DAEMON: Sheet = {
  uid: 'tranched-daemon',
  title: 'tranched / Daemon',
  about: 'The process: its loop, its journal, memory and disk, and its notifications.',
  first: [
    stat({
      title: 'Started',
      about: 'Start of the process.',
      expr: `max(${of('process_start_time_seconds')}) * 1000`,
      unit: 'dateTimeFromNow',
    }),
    stat({
      title: 'Last turn of the loop',
      about:
        'Time since the last turn. The loop turns every second, unless it waits for a silent node.',
      expr: `max(time() - ${of('tranched_last_turn_timestamp_seconds')})`,
      unit: 's',
      decimals: 0,
      steps: [
        [null, 'green'],
        [30, 'yellow'],
        [120, 'red'],
      ],
    }),
    stat({
      title: 'Signatures blocked',
      about: 'Whether the lock, the anchor or the file HALT blocks all signatures.',
      expr: `max(${of('tranched_barred')})`,
      unit: 'none',
      labels: YES_IS_BAD,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Files refused',
      about:
        'Changed files that a reload refused; the previous files stay in force. `tranched validate` shows why.',
      expr: `sum(${of('tranched_strategies_stale')})`,
      unit: 'none',
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'State on disk',
      about: 'Total size of the state directory.',
      expr: `sum(${of('tranched_state_bytes')})`,
      unit: 'bytes',
      course: true,
    }),
    stat({
      title: 'Overdue',
      about:
        'Time by which the oldest open order has passed the deadline of its signature. 0 if none has.',
      expr: `max(${of('tranched_unresolved_overdue_seconds')})`,
      unit: 's',
      steps: [
        [null, 'green'],
        [600, 'yellow'],
        [1800, 'red'],
      ],
    }),
  ],
  sections: [
    {
      title: 'Loop and journal',
      panels: [
        lines({
          title: 'Lateness of slots',
          about: 'Time from a slot to its opening: median and 99th percentile.',
          unit: 's',
          min: 0,
          queries: [0.5, 0.99].map((quantile) => ({
            expr: quantileOf(quantile, 'tranched_slot_lateness_seconds', { by: [], over: '1h' }),
            legend: `${quantile * 100} %`,
          })),
        }),
        lines({
          title: 'Delay of the event loop',
          about:
            'Delay of the event loop. More than a second means that the machine is overloaded.',
          unit: 's',
          min: 0,
          queries: [
            { expr: of('nodejs_eventloop_lag_p50_seconds'), legend: '{{instance}}, half' },
            { expr: of('nodejs_eventloop_lag_p99_seconds'), legend: '{{instance}}, 99 %' },
          ],
        }),
        lines({
          title: 'Time until a record is on disk',
          about:
            'Time until a record is durable. Nothing is signed before, so a slow disk delays orders.',
          unit: 's',
          min: 0,
          queries: [0.5, 0.99].map((quantile) => ({
            expr: quantileOf(quantile, 'tranched_journal_append_duration_seconds', { by: [] }),
            legend: `${quantile * 100} %`,
          })),
        }),
        lines({
          title: 'Records written',
          about: 'Journal records per second.',
          unit: 'ops',
          min: 0,
          queries: [
            {
              expr: `sum by (instance) (${rateOf('tranched_journal_records_total')})`,
              legend: '{{instance}}',
            },
          ],
        }),
      ],
    },
    {
      title: 'Memory, processor and disk',
      panels: [
        lines({
          title: 'Memory',
          about:
            'resident: what the process takes of the machine. heap: what of it is in use. It stays flat over weeks.',
          unit: 'bytes',
          min: 0,
          queries: [
            { expr: of('process_resident_memory_bytes'), legend: '{{instance}} resident' },
            { expr: of('nodejs_heap_size_used_bytes'), legend: '{{instance}} heap' },
          ],
        }),
        lines({
          title: 'Processor',
          about: 'Share of one core.',
          unit: 'percentunit',
          min: 0,
          queries: [
            {
              expr: `sum by (instance) (${rateOf('process_cpu_seconds_total')})`,
              legend: '{{instance}}',
            },
          ],
        }),
        layers({
          title: 'State on disk',
          about:
            'journal: every record. snapshot: what is true now. other: whatever else lies there. Finished files of the journal may be archived.',
          unit: 'bytes',
          queries: [{ expr: `sum by (what) (${of('tranched_state_bytes')})`, legend: '{{what}}' }],
        }),
        lines({
          title: 'Open permits and orders',
          about:
            'Permits that are signed, and neither used nor proven void; and orders without a recorded outcome.',
          unit: 'short',
          min: 0,
          queries: [
            { expr: `sum(${of('tranched_open_permits')})`, legend: 'permits' },
            { expr: `sum(${of('tranched_unresolved_intents')})`, legend: 'orders' },
          ],
        }),
      ],
    },
    {
      title: 'Halts and notifications',
      panels: [
        lines({
          title: 'Why signatures are blocked',
          about:
            "lock: another daemon has the state. anchor: the wallet's anchor. halt-file: a file HALT. And causes of the halt in force.",
          unit: 'bool_yes_no',
          min: 0,
          max: 1,
          queries: [
            { expr: `max by (what) (${of('tranched_barred')})`, legend: '{{what}}' },
            {
              expr: `max by (cause) (${of('tranched_halt_cause')})`,
              legend: 'halted by {{cause}}',
            },
          ],
        }),
        bars({
          title: 'Notifications',
          about: 'By channel and result. A line at 0 without any channel.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (channel, result) (${increaseOf('tranched_notifications_total')}) or vector(0)`,
              legend: '{{channel}} {{result}}',
            },
          ],
        }),
        lines({
          title: 'Waiting notifications',
          about: 'While a receiver is down, its notifications are retried for about a day.',
          unit: 'short',
          min: 0,
          queries: [
            {
              expr: `sum by (channel) (${of('tranched_notifications_waiting')}) or vector(0)`,
              legend: '{{channel}}',
            },
          ],
        }),
        bars({
          title: 'Remote control messages',
          about:
            'Messages to the remote control bot, by outcome; and whether it listens: 1 if it does, 0 if it does not or none is set up.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (outcome) (${increaseOf('tranched_remote_messages_total')})`,
              legend: '{{outcome}}',
            },
            {
              expr: `min by (service) (${of('tranched_remote_listening')}) or vector(0)`,
              legend: '{{service}} listens',
            },
          ],
        }),
        table({
          title: 'Daemons',
          about: 'Daemons and their versions.',
          rows: { instance: 'Daemon', version: 'Version' },
          span: 12,
          height: 8,
          columns: [
            {
              name: 'Running',
              expr: `sum by (instance, version) (${of('tranched_build_info')})`,
              unit: 'bool_yes_no',
            },
            {
              name: 'Restarts',
              expr: `sum by (instance, version) (${of('tranched_build_info')} * on (job, instance) group_left () changes(${of('process_start_time_seconds')}[$__range]))`,
              unit: 'none',
              decimals: 0,
            },
          ],
        }),
      ],
    },
  ],
}
