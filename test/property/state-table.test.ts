import { copyFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvariantError } from '../../src/domain/errors.ts'
import { type JournalEvent, reduce } from '../../src/journal/events/registry.ts'
import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import {
  emptyState,
  imageOf,
  restoreState,
  STATE_FIELDS,
  type StateImage,
} from '../../src/journal/state/state-image.ts'
import { exactParse, exactStringify } from '../../src/store/file/exact-json.ts'
import { encodeRecords, GENESIS } from '../../src/store/file/journal-codec.ts'
import { openJournal } from '../../src/store/file/journal-file.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { copyOf } from '../support/state/copy-of.ts'
import { legalEvents } from '../support/state/state-moves.ts'

type Step = { readonly choice: number; readonly hours: number }
const steps = (size: { minLength: number; maxLength: number }) =>
  fc.array(fc.record({ choice: fc.nat(), hours: fc.nat(72) }), size)

/** Runs a random daemon: each step applies one of the events that its state allows, some hours after the last. */
function runDaemon(life: readonly Step[]): {
  state: DaemonState
  timeline: readonly [JournalEvent, number][]
} {
  const state = emptyState()
  const timeline: [JournalEvent, number][] = []
  let atMs = 1_800_000_000_000
  for (const [index, { choice, hours }] of life.entries()) {
    const moves = legalEvents(state, 2_000 + index)
    const event = moves[choice % moves.length]
    if (event === undefined) throw new Error('a state without a move')
    atMs += hours * 3_600_000
    reduce(state, event, atMs)
    timeline.push([event, atMs])
  }
  return { state, timeline }
}

async function inDirectory(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'tranched-reducer-'))
  try {
    await work(dir)
  } finally {
    await rm(dir, { recursive: true })
  }
}

const onFatal = (error: Error) => {
  throw error
}

/** Every kind of event. A new kind is a compile error here until it is listed and random daemons emit it. */
const EVENTS: Record<JournalEvent['type'], true> = {
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
  'slots-missed': true,
  'strategy-paused': true,
  'program-ended': true,
  'strategy-resumed': true,
  'strategy-held': true,
  'hold-lifted': true,
  halted: true,
  'halt-lifted': true,
  'permit-recorded': true,
  'call-recorded': true,
  'authorization-withdrawn': true,
  'authorization-dead': true,
  'order-settled': true,
  'order-accepted': true,
  'order-ended': true,
  'fill-proven': true,
  'paper-filled': true,
  'call-proven': true,
  'fills-final': true,
  'fill-reopened': true,
  'intent-closed': true,
  'transaction-recorded': true,
  'transaction-ended': true,
  'transaction-reopened': true,
  'transactions-final': true,
  'deposit-indexed': true,
  'contract-code': true,
  'call-signed': true,
  'transaction-signed': true,
}

describe('the fields of the state', () => {
  const sampled = fc
    .sample(steps({ minLength: 60, maxLength: 60 }), { numRuns: 220, seed: 7 })
    .map(runDaemon)
  const lives = sampled.map(({ state }) => state)

  test.each(Object.keys(EVENTS))('%s is emitted by random daemons', (type) => {
    expect(sampled.some(({ timeline }) => timeline.some(([event]) => event.type === type))).toBe(
      true,
    )
  })

  test.each(STATE_FIELDS)('%s is changed by random daemons', (field) => {
    const empty = imageOf(emptyState())[field]
    expect(lives.some((state) => !isDeepStrictEqual(imageOf(state)[field], empty))).toBe(true)
  })

  test('are all in an image, which restores them into another state', () => {
    for (const [index, state] of lives.entries()) {
      const other = lives[(index + 1) % lives.length] ?? emptyState()
      const restored = copyOf(other)
      restoreState(restored, exactParse(exactStringify(imageOf(state))) as StateImage)
      for (const field of STATE_FIELDS) expect(restored[field], field).toEqual(state[field])
    }
  })
})

describe('the reducer', () => {
  test('gives the same state live, from the journal alone, and from a snapshot with the journal tail', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps({ minLength: 2, maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        async (life, snapshotEvery) => {
          const { state, timeline } = runDaemon(life)
          await inDirectory(async (dir) => {
            let nowMs = 0
            const open = () =>
              openJournal({ dir, clock: { now: () => nowMs }, onFatal, snapshotEvery })
            const first = await open()
            // The snapshot of record 0, for a replay of every record.
            copyFileSync(join(dir, 'state.json'), join(dir, 'empty'))
            const written = timeline.map(([event, atMs]) => {
              nowMs = atMs
              return first.journal.append(event)
            })
            await Promise.all(written)
            // As after a kill: the latest snapshot, if any, and the whole journal.
            const fromTail = await readJournal(dir)
            await first.close()
            const fromSnapshot = await readJournal(dir)
            copyFileSync(join(dir, 'empty'), join(dir, 'state.json'))
            const fromJournal = await readJournal(dir)
            for (const view of [first.journal, fromTail, fromSnapshot, fromJournal])
              expect(imageOf(view.state)).toEqual(imageOf(state))
          })
        },
      ),
      { numRuns: 40 },
    )
  })

  test('refuses events that the state does not allow and leaves the state unchanged', () => {
    fc.assert(
      fc.property(
        steps({ minLength: 0, maxLength: 25 }),
        steps({ minLength: 1, maxLength: 25 }),
        (life, otherLife) => {
          const { state } = runDaemon(life)
          const before = copyOf(state)
          const foreign = runDaemon(otherLife).timeline.map(([event]) => event)
          const refused = foreign.filter((event) => isRefused(before, event))
          for (const event of refused) {
            expect(() => reduce(state, event, 1_900_000_000_000)).toThrow(InvariantError)
            expect(imageOf(state)).toEqual(imageOf(before))
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  test('keeps no event of a batch with one refused event', async () => {
    let refusals = 0
    await fc.assert(
      fc.asyncProperty(
        steps({ minLength: 0, maxLength: 20 }),
        steps({ minLength: 1, maxLength: 8 }),
        async (life, otherLife) => {
          const { timeline } = runDaemon(life)
          const batch = runDaemon(otherLife).timeline.map(([event]) => event)
          await inDirectory(async (dir) => {
            const clock = { now: () => 1_800_000_000_000 }
            const { journal, close } = await openJournal({ dir, clock, onFatal, snapshotEvery: 12 })
            for (const [event] of timeline) await journal.append(event)
            const before = imageOf(journal.state)
            const refused = await refusalOf(() => journal.append(...batch))
            if (refused) {
              expect(imageOf(journal.state)).toEqual(before)
              expect(() => journal.append(...batch)).toThrow(InvariantError)
              expect(imageOf(journal.state)).toEqual(before)
            }
            const left = imageOf(journal.state)
            await close()
            expect(imageOf((await readJournal(dir)).state)).toEqual(left)
            refusals += refused ? 1 : 0
          })
        },
      ),
      { numRuns: 60 },
    )
    expect(refusals).toBeGreaterThan(0)
  })

  test('always makes the same journal from the same events', () => {
    fc.assert(
      fc.property(steps({ minLength: 1, maxLength: 20 }), (life) => {
        const encode = () =>
          encodeRecords(
            GENESIS,
            runDaemon(life).timeline.map(([event]) => event),
            1,
          )
        expect(encode()).toEqual(encode())
      }),
      { numRuns: 20 },
    )
  })
})

function isRefused(state: DaemonState, event: JournalEvent): boolean {
  try {
    reduce(copyOf(state), event, 1_900_000_000_000)
    return false
  } catch {
    return true
  }
}

async function refusalOf(append: () => Promise<void>): Promise<boolean> {
  try {
    await append()
    return false
  } catch (error) {
    expect(error).toBeInstanceOf(InvariantError)
    return true
  }
}
