// Response times of the page and the metrics of a daemon with a long past, and the longest stall of other work
// meanwhile. Each reading is repeated and the best counts, because other load on the machine only adds time.
import { mkdirSync, rmSync } from 'node:fs'
import { createMetrics } from '../../src/observe/metrics.ts'
import { strategyName, writeLargeJournal } from '../../test/support/page/large-journal.ts'
import { openLargePage, seqAfter, slotOfFill } from '../../test/support/page/large-page.ts'

const TRIES = 7
const { dir, strategies, fills } = JSON.parse(process.argv[2])
rmSync(dir, { recursive: true, force: true })
mkdirSync(dir, { recursive: true })
const large = writeLargeJournal(dir, { strategies, fills })

/** `{ tookMs, stallMs }` of a task. */
async function measure(task) {
  let stallMs = 0
  let lastMs = performance.now()
  let isOver = false
  const watch = () => {
    const nowMs = performance.now()
    stallMs = Math.max(stallMs, nowMs - lastMs)
    lastMs = nowMs
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  const startedMs = performance.now()
  const text = await task()
  isOver = true
  if (typeof text !== 'string' || text.length < 50) throw new Error(`it returned only ${text}`)
  return { tookMs: performance.now() - startedMs, stallMs }
}

const results = {}
async function measureBest(name, task) {
  const tries = []
  for (let attempt = 0; attempt < TRIES; attempt += 1) tries.push(await measure(() => task(attempt)))
  const leastOf = (field) => Math.min(...tries.map((each) => each[field]))
  results[name] = { tookMs: leastOf('tookMs'), stallMs: leastOf('stallMs') }
}

const fresh = Array.from({ length: TRIES }, () => openLargePage(dir, large, strategies))
await measureBest('first read', (attempt) => fresh[attempt].strategies())
const [page] = fresh
const fillsBefore = (before) => () => page.fills({ limit: 100, before, strategy: undefined })
await measureBest('overview', () => page.overview())
await measureBest('newest fills', fillsBefore(undefined))
await measureBest('fills in the middle', fillsBefore(seqAfter(Math.floor(fills / 2))))
await measureBest('oldest fills', fillsBefore(seqAfter(100)))
const middle = Math.floor(fills / 2)
const slot = { strategy: strategyName(middle % strategies), slotSeconds: slotOfFill(middle) }
await measureBest('why', () => page.why(slot))
const revision = await page.refresh()
let next = 1_900_000_000
const change = (count) => async () => {
  next += 1
  for (let index = 0; index < count; index += 1)
    page.observe({
      ...{ type: 'next-slot', strategy: strategyName(index), nextSlotSeconds: next },
      ...{ lastFillAtMs: undefined, paused: false },
    })
  await page.refresh()
  return page.changeSince(revision).text
}
await measureBest('change of one', change(1))
await measureBest('change of all', change(strategies))
const metrics = createMetrics({ version: '1' })
metrics.registerStrategies(
  Array.from({ length: strategies }, (_, index) => ({
    name: strategyName(index),
    venue: 'gasless',
    trades: ['WETH', 'USDC'],
  })),
)
await measureBest('/metrics', () => metrics.render())
rmSync(dir, { recursive: true, force: true })
console.log(JSON.stringify(results))
