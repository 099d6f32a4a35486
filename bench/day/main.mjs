// `node bench/day/main.mjs --speed 20`: a day of trading, an order a second, that many times as fast as the clock: what the daemon
// holds in memory and on disk hour by hour, and how long its page and its metrics take. The first full hour is the peer of the
// last. Needs libfaketime and `npm run build`.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createFastTime } from '../../scripts/day/fast-time.mjs'
import { createWorld } from '../../scripts/day/world.mjs'

const HOUR_MS = 3_600_000
const LOOK_MS = 60_000
const PORT = 19_465
const PATHS = ['/metrics', '/', '/api/overview', '/api/fills?limit=100']

const STRATEGIES = {
  'every-second': {
    kind: 'dca',
    schedule: { cron: '* * * * * *', missed: 'latest', maxLateness: '30s' },
    ...{ sell: 'USDC', buy: 'WETH', amount: '5' },
    limits: { perDay: '1000000' },
  },
  call: {
    kind: 'call',
    schedule: { cron: '0 * * * * *', missed: 'latest', maxLateness: '30s' },
    ...{ to: 'demo', function: 'record(bytes32)', gasLimit: 150_000 },
    args: [`0x${'74'.repeat(32)}`],
  },
}

const { values } = parseArgs({
  options: {
    speed: { type: 'string', default: '20' },
    hours: { type: 'string', default: '24' },
    json: { type: 'boolean', default: false },
  },
})
const hours = Number(values.hours)
const dir = mkdtempSync(join(tmpdir(), 'tranched-day-'))
const time = createFastTime({ speed: Number(values.speed), startMs: Date.now(), dir })
let world
try {
  world = await createWorld({
    ...{ time, dir, port: PORT, strategies: STRATEGIES, onNotification: () => undefined },
    adjust: (settings) => {
      settings.limits = { maxDeviationBps: 200 }
      settings.gasless.requestsPerSecond = 50
      settings.aggregator.gasTank = {
        topUp: { below: '0.02', amount: '0.05', maxPerDay: '1' },
      }
    },
  })
  const startMs = time.now()
  const rows = []
  for (let hour = 1; hour <= hours; hour += 1) {
    const tookMs = new Map(PATHS.map((path) => [path, []]))
    let metrics = ''
    while (time.now() < startMs + hour * HOUR_MS) {
      for (const path of PATHS) {
        const began = performance.now()
        const response = await fetch(`http://127.0.0.1:${PORT}${path}`)
        const text = await response.text()
        tookMs.get(path).push(performance.now() - began)
        if (path === '/metrics') metrics = text
      }
      await time.sleep(LOOK_MS)
    }
    const row = {
      hour,
      fills: sum(metrics, 'tranched_fills_total'),
      rssMiB: mib(sum(metrics, 'process_resident_memory_bytes')),
      heapMiB: mib(sum(metrics, 'nodejs_heap_size_used_bytes')),
      stateMiB: mib(sizeOf(join(dir, 'state'))),
      archiveMiB: mib(sizeOf(join(dir, 'archive'))),
      ...Object.fromEntries(
        [...tookMs].map(([path, all]) => [path, { p50Ms: at(all, 0.5), p99Ms: at(all, 0.99) }]),
      ),
    }
    rows.push(row)
    console.error(JSON.stringify(row))
  }
  const [first] = rows
  const last = rows.at(-1)
  console.log(
    values.json
      ? JSON.stringify(rows)
      : `memory in hour ${last.hour} over hour 1: ${(last.rssMiB / first.rssMiB).toFixed(2)}; state directory ${last.stateMiB} MiB, archive ${last.archiveMiB} MiB, ${last.fills} fills`,
  )
} finally {
  await world?.close()
  rmSync(dir, { recursive: true, force: true })
}

function sum(metrics, name) {
  let total = 0
  for (const line of metrics.split('\n'))
    if (line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      total += Number(line.slice(line.lastIndexOf(' ')))
  return total
}

function sizeOf(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isDirectory()) return found.size
  return readdirSync(path).reduce((total, name) => total + sizeOf(join(path, name)), 0)
}

function mib(bytes) {
  return Math.round(bytes / 1024 / 102.4) / 10
}

function at(all, share) {
  const sorted = [...all].sort((a, b) => a - b)
  return Math.round((sorted[Math.floor((sorted.length - 1) * share)] ?? 0) * 10) / 10
}
