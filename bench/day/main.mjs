// `node bench/day/main.mjs --speed 20`: a day of trading with an order a second, that many times as fast as the clock.
// It measures the daemon's memory and disk use by the hour, and the response times of its page and metrics. The first
// full hour is compared with the last. The service is the lean one: a real chain copies more with every fill. Needs
// libfaketime and `npm run build`.
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createFastTime } from '../../scripts/day/fast-time.mjs'
import { cacheDir } from '../bundle.mjs'
import { layOutLive } from '../live-config.mjs'

const TRANCHED = fileURLToPath(new URL('../../dist/tranched.js', import.meta.url))
const LEAN_SERVICE = fileURLToPath(new URL('../orders/lean-service.mjs', import.meta.url))
const HOUR_MS = 3_600_000
const POLL_MS = 60_000
const PORT = 19_465
/** An idle connection would close within moments, sometimes just as the next request uses it. */
const CLOSING = { connection: 'close' }
const PATHS = ['/metrics', '/', '/api/overview', '/api/fills?limit=100']

/** Due each second, with a fill of 5 USDC each time. */
const STRATEGY = [
  'name: every-second',
  'kind: dca',
  'schedule: { cron: "* * * * * *", missed: latest, maxLateness: 30s }',
  'sell: USDC',
  'buy: WETH',
  'amount: "5"',
  'limits: { perDay: "1000000" }',
]

const { values } = parseArgs({
  options: {
    speed: { type: 'string', default: '20' },
    hours: { type: 'string', default: '24' },
    json: { type: 'boolean', default: false },
  },
})
const hours = Number(values.hours)
const dir = join(cacheDir, 'day')
rmSync(dir, { recursive: true, force: true })
mkdirSync(dir, { recursive: true })
const time = createFastTime({ speed: Number(values.speed), startMs: Date.now(), dir })
const service = time.start(process.execPath, [LEAN_SERVICE], { stdio: ['pipe', 'pipe', 'inherit'] })
let daemon
process.once('exit', () => {
  service.kill()
  daemon?.kill()
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const ready = JSON.parse((await once(createInterface({ input: service.stdout }), 'line'))[0])
const live = join(dir, 'live')
const config = layOutLive(ready, {
  dir: live,
  strategies: { 'every-second': STRATEGY },
  more: {
    http: { host: '127.0.0.1', port: PORT },
    journal: { archive: join(live, 'archive'), keepFiles: 8 },
    log: { level: 'warn', format: 'json' },
  },
})
daemon = time.start(process.execPath, [TRANCHED, 'run', '--config', config], {
  stdio: ['ignore', 'inherit', 'inherit'],
})
for (let tries = 0; !(await isReady()); tries += 1) {
  if (tries > 300) throw new Error('the daemon is not ready after half a minute')
  await new Promise((resolve) => setTimeout(resolve, 100))
}
const startMs = time.now()
const rows = []
for (let hour = 1; hour <= hours; hour += 1) {
  const tookMs = new Map(PATHS.map((path) => [path, []]))
  let metrics = ''
  let failed = 0
  while (time.now() < startMs + hour * HOUR_MS) {
    for (const path of PATHS) {
      const began = performance.now()
      const text = await textOf(path)
      if (text === undefined) failed += 1
      else tookMs.get(path).push(performance.now() - began)
      if (path === '/metrics') metrics = text ?? metrics
    }
    await time.sleep(POLL_MS)
  }
  const row = {
    hour,
    fills: sum(metrics, 'tranched_fills_total'),
    skips: sum(metrics, 'tranched_skips_total'),
    rssMiB: mib(sum(metrics, 'process_resident_memory_bytes')),
    heapMiB: mib(sum(metrics, 'nodejs_heap_size_used_bytes')),
    stateMiB: mib(sizeOf(join(live, 'state'))),
    archiveMiB: mib(sizeOf(join(live, 'archive'))),
    failed,
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
daemon.kill()
await once(daemon, 'close')
rmSync(dir, { recursive: true, force: true })
process.exit(0)

/**
 * Undefined if the daemon's timeouts, which run as fast as its clock, have closed the connection: happens on a busy
 * machine.
 */
async function textOf(path) {
  try {
    const response = await fetch(`http://127.0.0.1:${PORT}${path}`, { headers: CLOSING })
    return await response.text()
  } catch (error) {
    if (daemon.exitCode !== null) throw error
    return undefined
  }
}

async function isReady() {
  return fetch(`http://127.0.0.1:${PORT}/readyz`).then(
    async (response) => {
      await response.arrayBuffer()
      return response.ok
    },
    () => false,
  )
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
