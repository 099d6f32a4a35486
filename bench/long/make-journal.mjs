// Writes a journal of a given number of records over a year, as a daemon leaves it that is killed at the end of it: with
// MACs, snapshots and archived files. Nothing is synced.
import { open } from 'node:fs/promises'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { openJournal } from '../../src/store/file/journal-file.ts'
import { appendsOf, bound, compared, hex, scheduled } from '../filled-order.mjs'

const { dir, archive, keepFiles, privateKey, records, untilMs } = JSON.parse(process.argv[2])
const YEAR_MS = 365 * 86_400_000
/** Two only buy, so their purchases stay on the books; the others sell what they bought. One trades once a week. */
const STRATEGIES = ['dca-0', 'dca-1', ...[0, 1, 2, 3, 4, 5].map((at) => `grid-${at}`)]
const RARE = 'weekly'
const SKIP_EVERY = 50
const FINAL_EVERY = 10
/** About an hour. */
const COMPARED_EVERY = 20
const APPENDS_AT_ONCE = 600

/** A file without a sync. */
async function openLog(file) {
  const handle = await open(file, 'a')
  const { dev, ino } = await handle.stat({ bigint: true })
  return {
    inode: { dev, ino },
    write: async (data, offset) => (await handle.write(data, offset)).bytesWritten,
    datasync: async () => {},
    close: () => handle.close(),
  }
}

let nowMs = untilMs - YEAR_MS
const startMs = nowMs
const key = deriveJournalKey(Buffer.from(privateKey.slice(2), 'hex'))
const { journal } = await openJournal({
  ...{ dir, key, openLog, clock: { now: () => nowMs } },
  archive: { dir: archive, keepFiles },
  onFatal: (error) => {
    throw error
  },
})
let written = 0
let pending = []
async function append(...events) {
  written += events.length
  pending.push(journal.append(...events))
  if (pending.length < APPENDS_AT_ONCE) return
  await Promise.all(pending)
  pending = []
}

await append(bound())
for (const strategy of [...STRATEGIES, RARE]) await append(scheduled(strategy))
/** Six records an order, and a little more for skipped slots and finality. */
const stepMs = YEAR_MS / (records / 6.16)
const slots = []
let unfinal = []
let week = -1
for (let order = 0; written < records; order += 1) {
  nowMs = startMs + Math.round(order * stepMs)
  const slotSeconds = Math.floor(nowMs / 1000)
  const isWeekly = Math.floor((nowMs - startMs) / (7 * 86_400_000)) > week
  if (isWeekly) week += 1
  const strategy = isWeekly ? RARE : STRATEGIES[order % STRATEGIES.length]
  const isSale = strategy.startsWith('grid') && Math.floor(order / STRATEGIES.length) % 2 === 1
  if (order % SKIP_EVERY === SKIP_EVERY - 1)
    await append({
      ...{ type: 'slot-closed', strategy, slotSeconds: slotSeconds - 1, outcome: 'skipped' },
      ...{ reason: 'price-outside-bounds', detail: 'the price is 2600, the bounds end at 2500' },
    })
  for (const events of appendsOf(order, { strategy, slotSeconds, nowMs, isSale, blockHash: hex(order) }))
    await append(...events)
  slots.push(`${strategy}:${slotSeconds}`)
  unfinal.push(`${strategy}:${slotSeconds}:0:1`)
  if (unfinal.length < FINAL_EVERY) continue
  await append({ type: 'fills-final', orders: unfinal, blockNumber: BigInt(order) })
  unfinal = []
  if (order % COMPARED_EVERY === COMPARED_EVERY - 1) await append(compared(order))
}
await Promise.all(pending)
// Snapshot and archiving under way are a daemon's, too. Then the process ends without closing anything.
await new Promise((resolve) => setTimeout(resolve, 2_000))
process.stdout.write(`${JSON.stringify({ records: written, orders: slots.length, middle: slots[slots.length >> 1] })}\n`, () =>
  process.exit(0),
)
