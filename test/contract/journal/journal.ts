import { afterEach, describe, expect, test } from 'vitest'
import { InvariantError } from '../../../src/domain/errors.ts'
import { type JournalRecord, type Recorded, reduce } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Clock, Journal } from '../../../src/ports.ts'
import { copyOf } from '../../support/state/copy-of.ts'
import {
  BOUND,
  exposed,
  filledSlot,
  intentOf,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'

export type JournalUnderTest = {
  readonly journal: Journal
  /** Makes every later write to the disk fail. */
  failDisk(): void
  dispose(): Promise<void>
}

/** Dependencies of a journal: its clock, and the handler of each record. */
export type JournalParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly recorded: (entry: Recorded) => void
}

/** The contract of every Journal. `makeJournal` returns an empty journal that takes its times from `clock`. */
export function journalContract(
  name: string,
  makeJournal: (from: JournalParts) => Promise<JournalUnderTest> | JournalUnderTest,
): void {
  describe(`${name} as a Journal`, () => {
    const made: JournalUnderTest[] = []
    let published: Recorded[] = []
    let nowMs = 1_800_000_000_000

    async function make(): Promise<JournalUnderTest> {
      const recorded = (entry: Recorded): void => void published.push(entry)
      const underTest = await makeJournal({ clock: { now: () => nowMs }, recorded })
      made.push(underTest)
      return underTest
    }

    async function empty(): Promise<Journal> {
      return (await make()).journal
    }

    afterEach(async () => {
      nowMs = 1_800_000_000_000
      published = []
      for (const underTest of made.splice(0)) await underTest.dispose()
    })

    test('begins with the empty state and no records', async () => {
      const journal = await empty()
      expect(journal.state).toEqual(emptyState())
      expect(await all(journal)).toEqual([])
    })

    test('shows an event in the state before it is on disk', async () => {
      const journal = await empty()
      const written = journal.append(scheduled())
      expect(journal.state.strategies.size).toBe(1)
      await written
    })

    test('publishes each event once, in order, after it is on disk and before the append resolves', async () => {
      const journal = await empty()
      const written = journal.append(BOUND, scheduled())
      expect(published).toEqual([])
      await written
      await journal.append(opened(intentOf(2_000)))
      expect(published.map(({ event }) => event.type)).toEqual([
        'bound',
        'strategy-scheduled',
        'slot-opened',
      ])
    })

    test('publishes no refused event and no event that the disk failed to write', async () => {
      const { journal, failDisk } = await make()
      const slot = opened(intentOf(2_000))
      expect(() => journal.append(scheduled(), slot, slot)).toThrow(InvariantError)
      await journal.append(scheduled())
      failDisk()
      await expect(journal.append(slot)).rejects.toThrow()
      expect(published.map(({ event }) => event.type)).toEqual(['strategy-scheduled'])
    })

    test('keeps the same state object for its lifetime', async () => {
      const journal = await empty()
      const { state } = journal
      await journal.append(scheduled())
      expect(() => journal.append(scheduled('other'), BOUND, BOUND)).toThrow(InvariantError)
      expect(journal.state).toBe(state)
      expect(journal.state.strategies).toBe(state.strategies)
    })

    test('reduces each event like the reducer, at the time of its append', async () => {
      const journal = await empty()
      const expected = emptyState()
      for (const event of [scheduled(), ...filledSlot(2_000), ...filledSlot(3_000)]) {
        nowMs += 1_000
        await journal.append(event)
        reduce(expected, event, nowMs)
      }
      expect(journal.state).toEqual(expected)
    })

    test('returns records in order, numbered from 1, with their times and exact values', async () => {
      const journal = await empty()
      const events = [BOUND, scheduled(), ...filledSlot(2_000)]
      for (const event of events) {
        nowMs += 1
        await journal.append(event)
      }
      const records = await all(journal)
      expect(records.map((record) => record.event)).toEqual(events)
      expect(records.map((record) => record.seq)).toEqual(events.map((_, index) => index + 1))
      expect(records.map((record) => record.atMs)).toEqual(
        events.map((_, index) => 1_800_000_000_001 + index),
      )
    })

    test('links each record to its predecessor by hash', async () => {
      const journal = await empty()
      await journal.append(scheduled(), ...filledSlot(2_000))
      const records = await all(journal)
      expect(records.slice(1).map((record) => record.prev)).toEqual(
        records.slice(0, -1).map((record) => record.hash),
      )
      expect(new Set(records.map((record) => record.hash)).size).toBe(records.length)
    })

    test('includes a pending append in its records', async () => {
      const journal = await empty()
      const written = journal.append(scheduled())
      expect(await all(journal)).toHaveLength(1)
      await written
    })

    test('keeps the order of concurrent appends', async () => {
      const journal = await empty()
      const names = Array.from({ length: 50 }, (_, index) => `strategy-${index}`)
      await Promise.all(names.map((strategy) => journal.append(scheduled(strategy))))
      const records = await all(journal)
      expect(records.map(({ event }) => 'strategy' in event && event.strategy)).toEqual(names)
    })

    test('throws at once for an event that the state does not allow, and changes nothing', async () => {
      const journal = await empty()
      await journal.append(scheduled())
      const before = copyOf(journal.state)
      expect(() => journal.append(exposed(intentOf(2_000)))).toThrow(InvariantError)
      expect(journal.state).toEqual(before)
      expect(await all(journal)).toHaveLength(1)
    })

    test('appends no event of a batch whose last event is not allowed', async () => {
      const journal = await empty()
      await journal.append(scheduled(), ...filledSlot(2_000))
      const before = copyOf(journal.state)
      const intent = intentOf(3_000)
      expect(() =>
        journal.append(opened(intent), exposed(intent), scheduled('other'), exposed(intent)),
      ).toThrow(InvariantError)
      expect(journal.state).toEqual(before)
      expect(await all(journal)).toHaveLength(7)
    })

    test('continues after a refused event as if it had never been appended', async () => {
      const journal = await empty()
      await journal.append(scheduled())
      expect(() => journal.append(BOUND, BOUND)).toThrow(InvariantError)
      await journal.append(BOUND)
      const records = await all(journal)
      expect(records.map((record) => record.event)).toEqual([scheduled(), BOUND])
      expect(records[1]?.prev).toBe(records[0]?.hash)
    })

    test('rejects when the disk fails, and accepts no later append', async () => {
      const { journal, failDisk } = await make()
      await journal.append(scheduled())
      failDisk()
      await expect(journal.append(BOUND)).rejects.toThrow('no space left')
      const before = copyOf(journal.state)
      await expect(journal.append(scheduled('other'))).rejects.toThrow('no space left')
      expect(journal.state).toEqual(before)
    })

    test('writes no record for an empty append', async () => {
      const journal = await empty()
      await journal.append()
      expect(await all(journal)).toEqual([])
    })

    test('resolves or rejects an empty append together with the appends before it', async () => {
      const { journal, failDisk } = await make()
      const intent = intentOf(3_000)
      const first = journal.append(scheduled(), opened(intent), exposed(intent))
      expect(published).toEqual([])
      await journal.append()
      expect(published).not.toEqual([])
      await first
      failDisk()
      const failed = journal.append(BOUND)
      const after = journal.append()
      await expect(failed).rejects.toThrow('no space left')
      await expect(after).rejects.toThrow('no space left')
      await expect(journal.append()).rejects.toThrow('no space left')
    })
  })
}

async function all(journal: Journal): Promise<readonly JournalRecord[]> {
  const records: JournalRecord[] = []
  for await (const record of journal.records()) records.push(record)
  return records
}
