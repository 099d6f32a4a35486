import { expect, test } from 'vitest'
import { emptyState } from '../../src/journal/state/state-image.ts'
import { NOTIFIED, SILENT } from '../support/notify/observations.ts'
import { isHappened, onRecord } from '../support/state/happened.ts'
import { goldenDay } from './day.ts'
import { observed } from './observers.ts'
import { OCCURRENCES } from './occurrences.ts'

/**
 * Guards the output of a daemon's observers over simulated days and over examples of every runtime event: both log formats,
 * messages and digests, and metrics. Also guards the records of such a day as the journal holds them on disk.
 *
 * To change a text on purpose: run `npx vitest run test/golden -u` and read the diff. Records, counts and line order stay.
 */

test('a day of failures gives the same log, messages, metrics and journal', async () => {
  const day = await goldenDay(4, 8)
  const { json, people, messages, metrics } = await observed(day.seen, day, 'info')
  await expect(day.journal).toMatchFileSnapshot('data/day-4.journal.jsonl')
  await expect(json).toMatchFileSnapshot('data/day-4.log.jsonl')
  await expect(people).toMatchFileSnapshot('data/day-4.log.txt')
  await expect(messages).toMatchFileSnapshot('data/day-4.messages.txt')
  await expect(metrics).toMatchFileSnapshot('data/day-4.metrics.txt')
})

test('half a day of halts and refusals gives the same log and messages', async () => {
  const day = await goldenDay(3, 4)
  const { people, messages } = await observed(day.seen, day, 'info')
  await expect(people).toMatchFileSnapshot('data/day-3.log.txt')
  await expect(messages).toMatchFileSnapshot('data/day-3.messages.txt')
})

test('each runtime event gives the same log lines, messages and metrics', async () => {
  const events = [...OCCURRENCES, ...Object.values(NOTIFIED), ...SILENT]
  // Twenty minutes apart, so that nothing is left out as a repeat.
  const seen = events.map((what, index) => {
    const atMs = Date.UTC(2027, 0, 14) + index * 1_200_000
    const event = isHappened(what) ? onRecord(what, { seq: index, atMs }) : what
    return { atMs, nowMs: atMs, event }
  })
  const nothing = { records: [], state: emptyState(), strategies: [] }
  const { json, people, messages, metrics } = await observed(seen, nothing, 'debug')
  await expect(json).toMatchFileSnapshot('data/events.log.jsonl')
  await expect(people).toMatchFileSnapshot('data/events.log.txt')
  await expect(messages).toMatchFileSnapshot('data/events.messages.txt')
  await expect(metrics).toMatchFileSnapshot('data/events.metrics.txt')
})
