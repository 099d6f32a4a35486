// `node bench/many/main.mjs [--rounds 3 --strategies 10000 --bursts 6 --every 5 --stall 5 --json]`: a live daemon with 10,000
// strategies that are all due in the same second, over as many tasks of plain node-cron: lateness of the decisions, slots
// lost by a stall of five seconds, size and time of `/metrics`, memory. `--program FILE` measures another build, `--profile`
// writes a CPU profile beside it. Needs `npm run build`, and Linux for /proc.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cacheDir } from '../bundle.mjs'
import { startService } from '../child.mjs'
import { layOutLive } from '../live-config.mjs'
import { machine } from '../machine.mjs'
import { median, quantile, short } from '../statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    strategies: { type: 'string', default: '10000' },
    bursts: { type: 'string', default: '6' },
    every: { type: 'string', default: '5' },
    stall: { type: 'string', default: '5' },
    profile: { type: 'boolean', default: false },
    program: { type: 'string', default: fileURLToPath(new URL('../../dist/tranched.js', import.meta.url)) },
    json: { type: 'boolean', default: false },
  },
})
const COUNT = Number(values.strategies)
const BURSTS = Number(values.bursts)
/** A divisor of 60, or the bursts were not evenly apart. */
const EVERY_SECONDS = Number(values.every)
const CRON = `*/${EVERY_SECONDS} * * * * *`
const TIMEZONE = 'Europe/Berlin'
const STALL_MS = Number(values.stall) * 1_000
/** Bursts for which both programs run on after the stall. */
const BURSTS_AFTER = 3
/** Phase of the interval in which a burst is over: `/metrics` is read then. */
const QUIET_MS = 700 * EVERY_SECONDS
const dir = join(cacheDir, 'many')

async function main() {
  const about = machine()
  const service = await startService(fileURLToPath(new URL('../orders/lean-service.mjs', import.meta.url)))
  const runs = { daemon: [], nodeCron: [] }
  try {
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const sides = Object.entries({ daemon: () => runDaemon(service.ready), nodeCron: runPeer })
      for (const [side, run] of round % 2 === 0 ? sides : sides.reverse()) {
        runs[side].push(await run())
        process.stderr.write(`round ${round + 1}, ${side}: ${JSON.stringify(runs[side].at(-1))}\n`)
      }
    }
  } finally {
    await service.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  report(about, runs)
}

/** Each decides at each slot, and skips it: the price is above its `price.max`. */
function writeFiles(service) {
  const lines = (name) => [
    `name: ${name}`,
    'kind: dca',
    `schedule: { cron: "${CRON}", timezone: ${TIMEZONE}, missed: all, maxLateness: 1h }`,
    'sell: USDC',
    'buy: WETH',
    'amount: "10"',
    'price: { max: "1" }',
    'limits: { perDay: "100" }',
  ]
  const named = Array.from({ length: COUNT }, (_, at) => `strategy-${at}`)
  return layOutLive(service, { dir, strategies: Object.fromEntries(named.map((name) => [name, lines(name)])) })
}

async function runDaemon(service) {
  const config = writeFiles(service)
  const logFile = join(dir, 'log')
  const log = openSync(logFile, 'w')
  const profiling = values.profile ? ['--cpu-prof', `--cpu-prof-dir=${cacheDir}`] : []
  const args = [...profiling, values.program, 'run', '--config', config]
  const child = spawn(process.execPath, args, { stdio: ['ignore', log, 'inherit'] })
  closeSync(log)
  const exited = once(child, 'exit')
  try {
    const address = await untilText(logFile, /metrics at (http:\S+?)[,"\s\\]/, child)
    await untilText(logFile, /"slot-closed"/, child)
    await burstsPass(1)
    const since = Date.now()
    await burstsPass(BURSTS)
    const scrapes = []
    for (let each = 0; each < BURSTS; each += 1) {
      await untilPhase(QUIET_MS)
      // A daemon that is busy for seconds closes the connection.
      scrapes.push(await scrape(new URL('/metrics', address)).catch(() => ({ ms: Infinity })))
    }
    const stalledAtMs = await stall(child)
    const memoryMiB = residentMemory(child)
    child.kill('SIGTERM')
    const [code] = await exited
    if (code !== 0) throw new Error(`the daemon ended with code ${code}`)
    return {
      strategies: COUNT,
      ...ofJournal(since, stalledAtMs),
      scrapeMs: median(scrapes.map(({ ms }) => ms)),
      scrapeBytes: median(scrapes.map(({ bytes }) => bytes)),
      series: median(scrapes.map(({ series }) => series)),
      memoryMiB,
    }
  } finally {
    child.kill('SIGKILL')
  }
}

async function runPeer() {
  const program = fileURLToPath(new URL('node-cron.mjs', import.meta.url))
  const child = spawn(process.execPath, [program, CRON, TIMEZONE, String(COUNT)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  try {
    while (!text.includes('\n')) await once(child.stdout, 'data')
    await burstsPass(1)
    const since = Date.now()
    await burstsPass(BURSTS)
    const stalledAtMs = await stall(child)
    const memoryMiB = residentMemory(child)
    child.stdin.end()
    await exited
    // Burst (its second) to the times at which its tasks ran, epoch ms.
    const bursts = new Map(JSON.parse(text.trim().split('\n').at(-1)))
    return { ...ofBursts(bursts, since, stalledAtMs), memoryMiB }
  } finally {
    child.kill('SIGKILL')
  }
}

/** Stops a process for a while, and returns when it did. */
async function stall(child) {
  await untilPhase(QUIET_MS)
  const stalledAtMs = Date.now()
  child.kill('SIGSTOP')
  await sleep(STALL_MS)
  child.kill('SIGCONT')
  await burstsPass(BURSTS_AFTER)
  return stalledAtMs
}

async function burstsPass(count) {
  await sleep(count * EVERY_SECONDS * 1_000)
  await untilPhase(QUIET_MS)
}

function untilPhase(ms) {
  const everyMs = EVERY_SECONDS * 1_000
  return sleep((everyMs + ms - (Date.now() % everyMs)) % everyMs)
}

async function untilText(file, pattern, child) {
  for (;;) {
    const found = pattern.exec(readFileSync(file, 'utf8'))
    if (found !== null) return found[1]
    if (child.exitCode !== null) throw new Error(`the daemon ended with code ${child.exitCode}`)
    await sleep(50)
  }
}

async function scrape(url) {
  const startedMs = performance.now()
  const text = await (await fetch(url, { headers: { 'accept-encoding': 'identity' } })).text()
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
  return { ms: performance.now() - startedMs, bytes: Buffer.byteLength(text), series }
}

function residentMemory({ pid }) {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}

function ofJournal(since, stalledAtMs) {
  const segments = join(dir, 'state/journal')
  const bursts = new Map()
  const recorded = new Map()
  const names = readdirSync(segments).filter((name) => name.endsWith('.jsonl'))
  for (const name of names.sort())
    for (const line of readFileSync(join(segments, name), 'utf8').trimEnd().split('\n')) {
      const { atMs, event } = JSON.parse(line)
      if (event.type !== 'slot-closed') continue
      const { slotSeconds, decidedAtMs } = event
      const burst = bursts.get(slotSeconds) ?? []
      burst.push(decidedAtMs)
      bursts.set(slotSeconds, burst)
      recorded.set(slotSeconds, Math.max(recorded.get(slotSeconds) ?? 0, atMs - slotSeconds * 1_000))
    }
  const lastRecordMs = median(within([...recorded], since, stalledAtMs).map(([, ms]) => ms))
  return { ...ofBursts(bursts, since, stalledAtMs), lastRecordMs }
}

/** Slots are lost from the first burst on; the last may have been cut off by the end. */
function ofBursts(bursts, since, stalledAtMs) {
  const all = [...bursts].sort(([a], [b]) => a - b)
  const lateness = within(all, since, stalledAtMs).flatMap(([second, times]) => times.map((ms) => ms - second * 1_000))
  const [first] = all[0]
  const [last] = all.at(-1)
  let lost = 0
  for (let second = first; second < last; second += EVERY_SECONDS) lost += COUNT - (bursts.get(second)?.length ?? 0)
  return {
    decisions: lateness.length,
    p50: quantile(lateness, 0.5),
    p99: quantile(lateness, 0.99),
    max: quantile(lateness, 1),
    lost,
  }
}

/** Bursts between two times, epoch ms: after the code was compiled in the first ones, and before the stall. */
function within(bursts, from, until) {
  return bursts.filter(([second]) => second * 1_000 > from && second * 1_000 < until)
}

function report(about, runs) {
  const of = (side, field) => median(runs[side].map((run) => run[field]))
  const both = (field) => ({ daemon: of('daemon', field), nodeCron: of('nodeCron', field) })
  const lateness = { p50: both('p50'), p99: both('p99'), max: both('max') }
  const lost = both('lost')
  if (values.json) {
    console.log(JSON.stringify({ machine: about, lateness, lost, runs }))
    return
  }
  console.log(about)
  for (const [name, { daemon, nodeCron }] of Object.entries(lateness))
    console.log(`lateness ${name} of ${COUNT} decisions: ${short(daemon)} ms; node-cron ${short(nodeCron)} ms`)
  console.log(`slots lost by a stall of ${values.stall} s: ${lost.daemon}; node-cron ${lost.nodeCron}`)
  console.log(`last record of a burst: ${short(of('daemon', 'lastRecordMs'))} ms`)
  const megabytes = short(of('daemon', 'scrapeBytes') / 1e6)
  console.log(`/metrics: ${megabytes} MB, ${of('daemon', 'series')} series, ${short(of('daemon', 'scrapeMs'))} ms`)
  const { daemon, nodeCron } = both('memoryMiB')
  console.log(`memory: ${short(daemon)} MiB; node-cron ${short(nodeCron)} MiB`)
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

await main()
