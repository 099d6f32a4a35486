import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { JournalEvent, JournalRecord } from '../../../src/journal/events/registry.ts'
import {
  type JournalOptions,
  type OpenedJournal,
  openJournal,
} from '../../../src/store/file/journal-file.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { segmentFile } from '../../../src/store/file/segments.ts'

/** The journal's file that begins with a record. */
export function segmentOf(dir: string, firstSeq = 1): string {
  return segmentFile(join(dir, 'journal'), firstSeq)
}

/** A directory that is removed after the test. */
export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'tranched-state-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Opens a journal that is closed after the test; a disk fault fails the test unless `onFatal` is given. */
export async function openForTest(
  dir: string,
  options: Partial<JournalOptions> = {},
): Promise<OpenedJournal> {
  const opened = await openJournal({
    dir,
    clock: { now: () => 1_800_000_000_000 },
    onFatal: (error) => {
      throw error
    },
    ...options,
  })
  onTestFinished(() => opened.close())
  return opened
}

/** The events of a journal, oldest first. */
export async function eventsOf(journal: {
  records(): AsyncIterable<JournalRecord>
}): Promise<readonly JournalEvent[]> {
  return (await collect(journal.records())).map(({ event }) => event)
}

/** The events in a state directory, whose daemon may be running. */
export async function eventsIn(stateDir: string): Promise<readonly JournalEvent[]> {
  return eventsOf(await readJournal(stateDir))
}

export async function collect(
  records: AsyncIterable<JournalRecord>,
): Promise<readonly JournalRecord[]> {
  const all: JournalRecord[] = []
  for await (const record of records) all.push(record)
  return all
}
