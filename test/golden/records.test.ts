import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  type JournalEvent,
  type JournalRecord,
  reduceRecorded,
} from '../../src/journal/events/registry.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import {
  decodeRecord,
  encodeRecords,
  GENESIS,
  type JournalHead,
} from '../../src/store/file/journal-codec.ts'
import { allPrintedBy, folderWith } from './folder.ts'
import { observed, type Seen } from './observers.ts'

/**
 * Guards two journals that hold every record type: they decode and encode again byte for byte and lead to the same state. Also guards
 * the context, log line and message of each record, the digest, `history` and `why`.
 *
 * `live.jsonl` and `dry-run.jsonl` are inputs, written by an earlier version: nothing rewrites them. Append a new record type with
 * `encodeRecords`. To change a text on purpose: run `npx vitest run test/golden -u` and read the diff.
 */

const KEY = deriveJournalKey(new Uint8Array(32).fill(0x42))
const MORE = ',"more":true,"prev":"'
const TYPES: Readonly<Record<JournalEvent['type'], true>> = {
  bound: true,
  'state-named': true,
  anchored: true,
  'begun-anew': true,
  'loss-accepted': true,
  'wallet-compared': true,
  'delegation-signed': true,
  'delegation-charged': true,
  'strategy-scheduled': true,
  'slot-opened': true,
  'slot-closed': true,
  'strategy-paused': true,
  'strategy-resumed': true,
  'strategy-held': true,
  'hold-lifted': true,
  halted: true,
  'halt-lifted': true,
  'slots-missed': true,
  'program-ended': true,
  'permit-recorded': true,
  'call-recorded': true,
  'call-signed': true,
  'authorization-withdrawn': true,
  'order-accepted': true,
  'order-ended': true,
  'fill-proven': true,
  'paper-filled': true,
  'call-proven': true,
  'fills-final': true,
  'fill-reopened': true,
  'authorization-dead': true,
  'order-settled': true,
  'intent-closed': true,
  'transaction-recorded': true,
  'transaction-signed': true,
  'transaction-ended': true,
  'transaction-reopened': true,
  'transactions-final': true,
  'deposit-indexed': true,
  'contract-code': true,
}

const JOURNALS = [
  ['live', KEY],
  ['dry-run', undefined],
] as const

test('every type of record is in a journal here', () => {
  const types = JOURNALS.flatMap(([mode]) => recordsOf(mode).map(({ event }) => event.type))
  expect([...new Set(types)].toSorted()).toEqual(Object.keys(TYPES).toSorted())
})

describe.each(JOURNALS)('the journal of %s', (mode, key) => {
  test('decodes and encodes again byte for byte', () => {
    let head: JournalHead = GENESIS
    let batch: JournalEvent[] = []
    let text = ''
    for (const line of linesOf(mode)) {
      const { event, atMs } = decodeRecord(line)
      batch.push(event)
      if (line.includes(MORE)) continue
      const encoded = encodeRecords(head, batch, atMs, key)
      head = encoded.head
      text += encoded.text
      batch = []
    }
    expect(text).toBe(fileOf(mode))
  })

  test('leads to the same state, `history` and `why`', async () => {
    const dir = folderWith(mode)
    const slots = new Set(
      recordsOf(mode).flatMap(({ event }) =>
        'slotSeconds' in event && event.type !== 'program-ended'
          ? [`${event.strategy}:${event.slotSeconds}`]
          : [],
      ),
    )
    const timeline = await allPrintedBy(dir, [
      'state rebuild',
      'history',
      ...[...slots].map((slot) => `why ${slot}`),
      'why slices',
      'why ladder --json',
    ])
    await expect(timeline).toMatchFileSnapshot(`data/${mode}.timeline.txt`)
    const state = readFileSync(join(dir, 'state/state.json'), 'utf8')
    await expect(state).toMatchFileSnapshot(`data/${mode}.state.txt`)
  })

  test('gives the same context, log line and message for each record', async () => {
    const state = emptyState()
    const records = recordsOf(mode)
    const entries = records.map(({ event, atMs, seq }) =>
      reduceRecorded(state, event, { seq, atMs }),
    )
    const seen = entries.map((event): Seen => {
      const { atMs } = event.record
      return { atMs, nowMs: atMs, event }
    })
    const { json, people, messages } = await observed(
      seen,
      { records, state, strategies: [] },
      'debug',
    )
    const contexts = entries.map(({ context }) => `${textOf(context)}\n`).join('')
    await expect(contexts).toMatchFileSnapshot(`data/${mode}.contexts.jsonl`)
    await expect(json).toMatchFileSnapshot(`data/${mode}.log.jsonl`)
    await expect(people).toMatchFileSnapshot(`data/${mode}.log.txt`)
    await expect(messages).toMatchFileSnapshot(`data/${mode}.messages.txt`)
  })
})

function fileOf(mode: string): string {
  return readFileSync(`test/golden/data/${mode}.jsonl`, 'utf8')
}

function linesOf(mode: string): readonly string[] {
  return fileOf(mode).trimEnd().split('\n')
}

function recordsOf(mode: string): readonly JournalRecord[] {
  return linesOf(mode).map(decodeRecord)
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? `${each}n` : each))
}
