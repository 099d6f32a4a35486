import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { IntentId } from '../../../src/domain/order/intent.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { sideFileOf } from '../../../src/store/file/segments.ts'
import { listFiles } from '../../../src/store/file/state-files.ts'
import { type BuildOptions, buildIndex, removeUnfit } from '../../../src/store/index/build-index.ts'
import { JournalIndex } from '../../../src/store/index/journal-index.ts'
import { backUp } from '../../../src/store/maintenance/backup.ts'
import { rebuildSnapshot } from '../../../src/store/maintenance/rebuild.ts'
import { restoreState } from '../../../src/store/maintenance/restore.ts'
import { isSound, proveState } from '../../../src/store/maintenance/state-proof.ts'
import { answersOf, answersOfRecords } from '../../support/state/index-answers.ts'
import {
  BOUND,
  bytes32,
  filledSlot,
  intentOf,
  STRATEGY,
  scheduled,
} from '../../support/state/journal-events.ts'
import { PLAIN_KEY } from '../../support/state/plain-journal-key.ts'
import { openForTest, segmentOf, temporaryDirectory } from '../../support/state/state-directory.ts'

const { token } = intentOf(1).sell
const OWN = { ...BOUND, mode: 'live' } as const
const MADE = { madeBy: '1', valueToken: token, rest: async () => undefined }
const FIRST_SLOT = 2_000
const SLOTS = 20

let dir = ''

/** Twenty filled slots in files of about two. */
beforeEach(async () => {
  dir = join(temporaryDirectory(), 'state')
  const { close } = await tradeOn(dir, FIRST_SLOT, SLOTS)
  await close()
})

async function tradeOn(state: string, from: number, count: number, more = {}) {
  const opened = await openForTest(state, { key: PLAIN_KEY, segmentBytes: 6_000, ...more })
  const { journal } = opened
  if (opened.firstStart) await journal.append(OWN, scheduled())
  for (let slot = from; slot < from + count; slot += 1) {
    for (const event of filledSlot(slot)) await journal.append(event)
    await journal.append({
      type: 'fills-final',
      orders: [...journal.state.unfinal.keys()],
      blockNumber: 13_000n,
    })
  }
  return opened
}

async function make(more: Partial<BuildOptions> = {}): Promise<number> {
  const { beside, close } = await openForTest(dir, { key: PLAIN_KEY })
  const made = await beside((files) => buildIndex({ ...files, ...MADE, ...more }))
  await close()
  return made
}

/** The same event of an order that sells what the others buy. */
function sale(event: JournalEvent): JournalEvent {
  if (event.type !== 'slot-opened') return event
  const intents = event.intents.map((intent) =>
    intent.venue === 'gasless' ? { ...intent, sell: intent.buy, buy: intent.sell } : intent,
  )
  return { ...event, intents }
}

const namesIn = (place: string): string[] => readdirSync(join(place, 'journal')).sort()
const segments = (): string[] => namesIn(dir).filter((name) => name.endsWith('.jsonl'))
const sideFiles = (): string[] => namesIn(dir).filter((name) => name.endsWith('.index'))
const pathOf = (name = ''): string => join(dir, 'journal', name)

/** With the key, as a daemon reads it. */
async function openIndex(madeBy = MADE.madeBy, key = PLAIN_KEY): Promise<JournalIndex> {
  const { beside, close } = await openForTest(dir, { key: PLAIN_KEY })
  const index = await beside((files) => JournalIndex.open({ ...files, key, madeBy }))
  await close()
  return index
}

describe('an index', () => {
  test('has a private side file for each finished journal file, made once', async () => {
    const made = await make()
    expect(made).toBe(segments().length - 1)
    expect(sideFiles()).toEqual(segments().slice(0, -1).map(sideFileOf))
    expect(statSync(pathOf(sideFiles()[0])).mode & 0o777).toBe(0o600)
    expect(await make()).toBe(0)
  })

  test('continues with files that are finished later, and replaces one that was removed or cut', async () => {
    const before = await make()
    await (await tradeOn(dir, FIRST_SLOT + SLOTS, 4)).close()
    expect(await make()).toBe(segments().length - 1 - before)
    const [, second, third] = sideFiles()
    rmSync(pathOf(second))
    truncateSync(pathOf(third), 100)
    expect((await openIndex()).sides).toHaveLength(1)
    expect(await make()).toBe(segments().length - 2)
    expect((await openIndex()).sides).toHaveLength(segments().length - 1)
  })

  test('does not use a side file of another key, another version or another journal', async () => {
    await make()
    const other = { ...PLAIN_KEY, macOf: () => 'f'.repeat(64) }
    expect((await openIndex(MADE.madeBy, other)).sides).toEqual([])
    expect((await openIndex('2')).sides).toEqual([])
    const [name = ''] = sideFiles()
    const foreign = readFileSync(pathOf(name))
    dir = join(temporaryDirectory(), 'state')
    await (await tradeOn(dir, FIRST_SLOT + 1, SLOTS)).close()
    writeFileSync(pathOf(name), foreign)
    expect((await openIndex()).sides).toEqual([])
  })

  test('reads only files that an answer shows', async () => {
    await make()
    const slot = { strategy: STRATEGY, firstSeconds: FIRST_SLOT, lastSeconds: FIRST_SLOT }
    const index = await (await readJournal(dir)).index({ archive: undefined, madeBy: '1' })
    // Damage in a file that neither answer shows.
    const middle = pathOf(segments()[Math.floor(segments().length / 2)])
    const data = readFileSync(middle)
    data[50] = (data[50] ?? 0) ^ 1
    writeFileSync(middle, data)
    const types: string[] = []
    for await (const { event } of index.records([slot])) types.push(event.type)
    expect(types).toEqual([...filledSlot(FIRST_SLOT).map(({ type }) => type), 'fills-final'])
    expect(await index.lastSlots(2)).toMatchObject([
      { firstSeconds: FIRST_SLOT + SLOTS - 2 },
      { firstSeconds: FIRST_SLOT + SLOTS - 1 },
    ])
    await expect(async () => {
      for await (const _ of index.records());
    }).rejects.toThrow(/was altered|is not a journal record|does not follow/)
  })

  test('gives the figures since any time, with costs of earlier purchases and fills that are not final', async () => {
    dir = join(temporaryDirectory(), 'state')
    const archive = ''
    let nowMs = 1_000_000
    const clock = { now: () => nowMs }
    const { journal, close } = await openForTest(dir, {
      key: PLAIN_KEY,
      segmentBytes: 6_000,
      clock,
    })
    await journal.append(OWN, scheduled())
    for (let slot = FIRST_SLOT; slot < FIRST_SLOT + SLOTS; slot += 1) {
      nowMs += 60_000
      for (const event of filledSlot(slot))
        await journal.append(slot % 3 === 0 ? sale(event) : event)
      // The newest five stay open to a reorganisation, which removes one of an earlier file.
      const orders = [...journal.state.unfinal.keys()].slice(0, -5)
      if (orders.length > 0)
        await journal.append({ type: 'fills-final', orders, blockNumber: 13_000n })
    }
    const [first = ''] = journal.state.unfinal.keys()
    const [strategy, slot] = first.split(':')
    const intentId = `${strategy}:${slot}:0` as IntentId
    const block = { blockNumber: 13_001n, blockHash: bytes32(4) }
    await journal.append({ type: 'fill-reopened', intentId, attempt: 1, ...block })
    await close()
    await make()
    const index = await (await readJournal(dir)).index({ archive: undefined, madeBy: '1' })
    expect(index.sides.filter(({ ledgerIn }) => ledgerIn === token.address).length).toBeGreaterThan(
      4,
    )
    for (let sinceMs = 1_000_000; sinceMs <= nowMs + 60_000; sinceMs += 30_000) {
      const slotName = { strategy: STRATEGY, slotSeconds: FIRST_SLOT + 3 }
      const question = { limit: 3, strategy: undefined, slot: slotName, sinceMs, valueToken: token }
      expect(await answersOf(index, question)).toEqual(
        await answersOfRecords(dir, archive, question),
      )
    }
  })

  test('stops before missing records', async () => {
    rmSync(segmentOf(dir))
    expect(await make()).toBe(0)
    expect(sideFiles()).toEqual([])
  })

  test('moves to the archive with its journal files, and is complete there', async () => {
    const archive = join(temporaryDirectory(), 'archive')
    await make()
    const rule = { archive: { dir: archive, keepFiles: 2 }, snapshotEvery: 5 }
    await (await tradeOn(dir, FIRST_SLOT + SLOTS, 4, rule)).close()
    const moved = readdirSync(archive).filter((name) => name.endsWith('.jsonl'))
    expect(moved.length).toBeGreaterThan(5)
    for (const name of moved.slice(0, 5))
      expect(existsSync(join(archive, sideFileOf(name)))).toBe(true)
    expect(sideFiles().every((name) => existsSync(pathOf(name.replace('.index', '.jsonl'))))).toBe(
      true,
    )
    const index = await (await readJournal(dir)).index({ archive, madeBy: '1' })
    expect(index.sides.length).toBeGreaterThanOrEqual(5)
  })
})

describe('maintenance', () => {
  test('verifies side files, and an altered one is no fault', async () => {
    await make()
    expect(await proveState(dir, { key: PLAIN_KEY })).toMatchObject({ unfitSideFiles: [] })
    const file = pathOf(sideFiles()[1])
    const data = readFileSync(file)
    data[data.length - 3] = (data[data.length - 3] ?? 0) ^ 1
    writeFileSync(file, data)
    const proof = await proveState(dir)
    expect(proof.unfitSideFiles).toEqual([file])
    expect(isSound(proof)).toBe(true)
  })

  test('removes only those that do not fit, so that they are made again', async () => {
    const made = await make()
    const file = pathOf(sideFiles()[1])
    truncateSync(file, statSync(file).size - 1)
    const { segments: files } = await listFiles(dir)
    await removeUnfit(files, PLAIN_KEY)
    expect(sideFiles()).toHaveLength(made - 1)
    await make()
    expect(await proveState(dir, { key: PLAIN_KEY })).toMatchObject({ unfitSideFiles: [] })
  })

  test('rebuilds them with state.json', async () => {
    await make()
    for (const name of sideFiles()) writeFileSync(pathOf(name), 'something else')
    const options = { key: PLAIN_KEY, nowMs: 1, madeBy: '1', valueToken: token }
    expect(await rebuildSnapshot(dir, options)).toMatchObject({ indexed: segments().length - 1 })
    expect(await proveState(dir, { key: PLAIN_KEY })).toMatchObject({ unfitSideFiles: [] })
    expect((await openIndex()).sides).toHaveLength(segments().length - 1)
  })

  test('leaves them out of a backup; those of the replaced journal go aside with it', async () => {
    await make()
    const backup = join(temporaryDirectory(), 'backup')
    await backUp(dir, backup, PLAIN_KEY)
    expect(namesIn(backup)).toEqual(segments())
    const { movedTo } = await restoreState(backup, dir, { key: PLAIN_KEY, replace: true, nowMs: 1 })
    expect(sideFiles()).toEqual([])
    expect(namesIn(movedTo ?? '').some((name) => name.endsWith('.index'))).toBe(true)
  })
})
