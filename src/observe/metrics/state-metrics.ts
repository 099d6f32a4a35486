import { createStrategySeries, DISK, type Make } from './family.ts'

export function stateMetrics(make: Make) {
  return {
    halted: make.gauge({
      name: 'tranched_halted',
      help: '1 while nothing new is signed, until it is resumed.',
    }),
    strategiesStale: make.gauge({
      name: 'tranched_strategies_stale',
      help: 'Files that were refused at the last reload; the earlier ones stay in force.',
    }),
    openPermits: make.gauge({
      name: 'tranched_open_permits',
      help: 'Signed permits that are neither used nor proven dead.',
    }),
    unresolvedIntents: make.gauge({
      name: 'tranched_unresolved_intents',
      help: 'Intents without a recorded outcome.',
    }),
    journalAppendDuration: make.histogram({
      name: 'tranched_journal_append_duration_seconds',
      help: 'Time until a group of journal records was on disk.',
      buckets: DISK,
    }),
    journalRecords: make.counter({
      name: 'tranched_journal_records_total',
      help: 'Journal records written by this process.',
    }),
  }
}

export function strategyStates() {
  return {
    paused: createStrategySeries({
      type: 'gauge',
      name: 'tranched_paused',
      help: '1 while the strategy opens no slots, until it is resumed. Absent until it was paused.',
      labelNames: ['strategy'],
      beginsAbove0: true,
    }),
    held: createStrategySeries({
      type: 'gauge',
      name: 'tranched_held',
      help: '1 while the strategy waits for an approval and opens no slots. Absent until it was held.',
      labelNames: ['strategy'],
      beginsAbove0: true,
    }),
  }
}
