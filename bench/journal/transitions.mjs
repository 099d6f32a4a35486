// Fills a journal to a number of records, then times single durable transitions: each waits for the previous one.
import { mkdirSync, rmSync } from 'node:fs'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { openJournal } from '../../src/store/file/journal-file.ts'
import { appendsOf, bound, scheduled } from '../filled-order.mjs'
import { quantile } from '../statistics.mjs'

const { dir, records, transitions } = JSON.parse(process.argv[2])
const STRATEGY = 'bench'
const DAY_MS = 86_400_000
const RECORDS_OF_ORDER = 6
const APPENDS_AT_ONCE = 200

rmSync(dir, { recursive: true, force: true })
mkdirSync(dir, { recursive: true })
/**
 * Orders are spread over a month, about a thousand records a day, so that state with a retention of days stays
 * realistic.
 */
let nowMs = Date.UTC(2026, 0, 1)
const stepMs = (30 * DAY_MS) / (100_000 / RECORDS_OF_ORDER)
const onFatal = (error) => {
  throw error
}
const key = deriveJournalKey(new Uint8Array(32).fill(7))
const { journal, close } = await openJournal({ dir, key, clock: { now: () => nowMs }, onFatal })

await journal.append(bound())
await journal.append(scheduled(STRATEGY))
/** Appends of one order in turn. */
const next = () => appendsOf(order, { strategy: STRATEGY, slotSeconds: order, nowMs })

let order = 0
const pending = []
for (let written = 2; written < records; written += RECORDS_OF_ORDER) {
  order += 1
  nowMs += stepMs
  for (const events of next()) pending.push(journal.append(...events))
  if (pending.length >= APPENDS_AT_ONCE) await Promise.all(pending.splice(0))
}
await Promise.all(pending)
// The snapshot under way belongs to the filling.
await new Promise((resolve) => setTimeout(resolve, 1_000))

const times = []
while (times.length < transitions) {
  order += 1
  nowMs += stepMs
  for (const events of next()) {
    const startedAt = performance.now()
    await journal.append(...events)
    times.push(performance.now() - startedAt)
  }
}
await close()
// The check: the records read back from the disk equal those appended.
const again = await openJournal({ dir, key, clock: { now: () => nowMs }, onFatal })
const { fills } = again.journal.state.strategies.get(STRATEGY)
let onDisk = 0
for await (const _record of again.journal.records()) onDisk += 1
await again.close()
if (fills !== order || onDisk !== 2 + order * RECORDS_OF_ORDER)
  throw new Error(`${order} orders were appended; the disk has ${fills} fills in ${onDisk} records`)
rmSync(dir, { recursive: true, force: true })
const meanMs = times.reduce((sum, each) => sum + each, 0) / times.length
const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((at) => quantile(times, at))
process.stdout.write(`${JSON.stringify({ records, p50Ms, meanMs, p99Ms, maxMs })}\n`)
