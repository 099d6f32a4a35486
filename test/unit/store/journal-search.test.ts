import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  BackwardSearch,
  ForwardSearch,
  type JournalPlace,
  type LineBatch,
} from '../../../src/store/file/journal-search.ts'
import { BOUND, filledSlot, scheduled } from '../../support/state/journal-events.ts'
import { openForTest, segmentOf, temporaryDirectory } from '../../support/state/state-directory.ts'

const SLOTS = 30
const START_MS = 1_800_000_000_000

let dir: string
let location: JournalPlace
/** First records of the journal's files. */
let files: readonly number[]

/** Thirty filled slots, a minute apart, in files of a few records. */
beforeEach(async () => {
  dir = temporaryDirectory()
  location = { dir: join(dir, 'journal'), archive: undefined }
  let nowMs = START_MS
  const { journal, close } = await openForTest(dir, {
    clock: { now: () => nowMs },
    segmentBytes: 8_000,
  })
  await journal.append(BOUND, scheduled())
  for (let slot = 1; slot <= SLOTS; slot += 1) {
    nowMs += 60_000
    for (const event of filledSlot(2_000 + slot)) await journal.append(event)
  }
  await close()
  const search = new BackwardSearch({ ...location, filesMax: 1_000 })
  files = [...new Set((await all(search)).map(({ firstSeq }) => firstSeq))].reverse()
})

async function all(search: { batches(): AsyncIterable<LineBatch> }): Promise<LineBatch[]> {
  const batches: LineBatch[] = []
  for await (const batch of search.batches()) batches.push(batch)
  return batches
}

async function seqs(search: { batches(): AsyncIterable<LineBatch> }): Promise<number[]> {
  return (await all(search)).flatMap(({ lines }) => lines.map(({ seq }) => seq))
}

const TOTAL = 2 + 6 * SLOTS
const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

describe('a backward search', () => {
  test('returns every record once, newest first, across all files', async () => {
    expect(files.length).toBeGreaterThan(5)
    const search = new BackwardSearch({ ...location, filesMax: 1_000 })
    expect(await seqs(search)).toEqual(upTo(TOTAL).reverse())
    expect(search).toMatchObject({ isWhole: true, reachedSeq: 1 })
  })

  test('gives the type of each record without parsing it', async () => {
    const [batch] = await all(new BackwardSearch({ ...location, filesMax: 1 }))
    const [newest] = batch?.lines ?? []
    expect(newest).toMatchObject({ seq: TOTAL, type: 'slot-closed' })
    expect(newest?.atMs).toBe(START_MS + SLOTS * 60_000)
  })

  test('starts with the file that holds the record before the given one', async () => {
    const [, , third = 0, fourth = 0] = files
    const before = await seqs(new BackwardSearch({ ...location, filesMax: 1, before: fourth }))
    expect(before).toEqual(upTo(fourth - 1, third).reverse())
    const search = new BackwardSearch({ ...location, filesMax: 1, before: fourth + 1 })
    expect((await seqs(search)).at(-1)).toBe(fourth)
    expect(search).toMatchObject({ isWhole: false, reachedSeq: fourth })
  })

  test('omits a partial append and lines that are not records', async () => {
    const last = segmentOf(dir, files.at(-1))
    appendFileSync(last, 'what is this\n{"seq":999,"atMs":1,"event":{"type":"bound"')
    expect((await seqs(new BackwardSearch({ ...location, filesMax: 1 })))[0]).toBe(TOTAL)
  })

  test('reads a line longer than its read buffer', async () => {
    const last = segmentOf(dir, files.at(-1))
    const text = `{"seq":${TOTAL + 1},"atMs":5,"event":{"type":"halted","detail":"${'x'.repeat(400_000)}"}}\n`
    appendFileSync(last, text)
    const search = new BackwardSearch({ ...location, filesMax: 1 })
    for await (const { lines } of search.batches()) {
      expect(lines[0]?.line.toString()).toBe(text.trimEnd())
      break
    }
  })

  test('finds nothing in an empty directory, and ends at a file without line breaks', async () => {
    const empty = { dir: join(dir, 'nowhere'), archive: undefined }
    const search = new BackwardSearch({ ...empty, filesMax: 5 })
    expect(await seqs(search)).toEqual([])
    expect(search.isWhole).toBe(true)
    writeFileSync(segmentOf(dir, files.at(-1)), 'x'.repeat(6 * 1024 * 1024))
    expect(await seqs(new BackwardSearch({ ...location, filesMax: 1 }))).toEqual([])
  })

  test('continues in the archive, and reports missing files', async () => {
    const archive = temporaryDirectory()
    for (const firstSeq of files.slice(0, 4))
      renameSync(
        segmentOf(dir, firstSeq),
        join(archive, `${String(firstSeq).padStart(12, '0')}.jsonl`),
      )
    const without = new BackwardSearch({ ...location, filesMax: 1_000 })
    expect((await seqs(without)).at(-1)).toBe(files[4])
    expect(without.isWhole).toBe(false)
    const search = new BackwardSearch({ ...location, archive, filesMax: 1_000 })
    expect(await seqs(search)).toEqual(upTo(TOTAL).reverse())
    expect(search.isWhole).toBe(true)
  })
})

describe('a forward search', () => {
  test('starts with the file that was written at a given time', async () => {
    for (const slot of [1, 7, 15, SLOTS]) {
      const fromMs = START_MS + slot * 60_000
      const search = new ForwardSearch({ ...location, fromMs, filesMax: 1_000 })
      const batches = await all(search)
      const lines = batches.flatMap((batch) => batch.lines)
      const early = lines.filter(({ atMs }) => atMs < fromMs).map(({ seq }) => seq)
      // No record after that time is omitted, and at most the rest of one file before it is read.
      expect(files.filter((firstSeq) => early.includes(firstSeq)).length).toBeLessThanOrEqual(1)
      expect(lines.map(({ seq }) => seq)).toEqual(upTo(TOTAL, lines[0]?.seq))
      expect(lines[0]?.atMs).toBeLessThanOrEqual(fromMs)
      expect(search.isWhole).toBe(true)
    }
  })

  test('starts with the newest file for a future time', async () => {
    const search = new ForwardSearch({ ...location, fromMs: START_MS * 2, filesMax: 5 })
    expect((await seqs(search))[0]).toBe(files.at(-1))
  })

  test('ends after its maximum number of files', async () => {
    const search = new ForwardSearch({ ...location, fromMs: START_MS, filesMax: 2 })
    expect((await seqs(search)).at(-1)).toBe((files[2] ?? 0) - 1)
    expect(search.isWhole).toBe(false)
  })

  test('skips a file that disappeared or was not yet written', async () => {
    writeFileSync(segmentOf(dir, TOTAL + 1), '')
    const gone = files[2] ?? 0
    const found = new ForwardSearch({ ...location, fromMs: START_MS, filesMax: 1_000 })
    const seen: number[] = []
    for await (const { firstSeq, lines } of found.batches()) {
      if (firstSeq === 1) rmSync(segmentOf(dir, gone), { force: true })
      seen.push(...lines.map(({ seq }) => seq))
    }
    expect(seen).not.toContain(gone)
    expect(seen.at(-1)).toBe(TOTAL)
    expect(readFileSync(segmentOf(dir, TOTAL + 1), 'utf8')).toBe('')
  })
})

test('over a file of many blocks returns its exact content in both directions', async () => {
  const own = temporaryDirectory()
  const { journal, close } = await openForTest(own)
  await journal.append(BOUND, scheduled())
  for (let slot = 2_001; slot <= 2_300; slot += 1) await journal.append(...filledSlot(slot))
  await close()
  const text = readFileSync(segmentOf(own), 'utf8')
  expect(text.length).toBeGreaterThan(600_000)
  const options = { dir: join(own, 'journal'), archive: undefined, filesMax: 1 }
  const linesOf = async (search: BackwardSearch | ForwardSearch): Promise<string[]> => {
    const lines: string[] = []
    for await (const batch of search.batches())
      lines.push(...batch.lines.map(({ line }) => `${line}\n`))
    return lines
  }
  expect((await linesOf(new BackwardSearch(options))).reverse().join('')).toBe(text)
  expect((await linesOf(new ForwardSearch({ ...options, fromMs: 0 }))).join('')).toBe(text)
})
