// `node bench/memory/main.mjs [--rounds 3 --idle 20 --many 1000 --orders 0 --json]`: resident memory of the idle daemon with
// 1,000 strategies over that with one, the load time of 1,000 files, and memory after `--orders` orders, 32 at a time, over that
// after the first 10,000. Needs `npm run build`, and Linux for /proc.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle, cacheDir } from '../bundle.mjs'
import { runProgram, startService } from '../child.mjs'
import { layOutLive } from '../live-config.mjs'
import { machine } from '../machine.mjs'
import { median, short } from '../statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    idle: { type: 'string', default: '20' },
    many: { type: 'string', default: '1000' },
    orders: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
  },
})
const tranched = fileURLToPath(new URL('../../dist/tranched.js', import.meta.url))
const dir = join(cacheDir, 'memory')
/** As pm2 starts it. */
const { env } = createRequire(import.meta.url)('../../ecosystem.config.cjs').apps[0]
const MANY = Number(values.many)
const ORDERS = Number(values.orders)
/** Orders after which the process counts as fresh: its code is compiled and its heap has the size that the load needs. */
const WARMUP_MAX = 10_000

async function main() {
  const about = machine()
  const service = await startService(
    fileURLToPath(new URL('../orders/lean-service.mjs', import.meta.url)),
  )
  try {
    const one = writeFiles(service.ready, 1)
    const many = writeFiles(service.ready, MANY)
    const mebibytes = { one: [], many: [] }
    const loadMs = []
    for (let round = 0; round < Number(values.rounds); round += 1) {
      mebibytes.one.push(await idleMemory(one))
      mebibytes.many.push(await idleMemory(many))
      loadMs.push((await validateMs(many)) - (await validateMs(one)))
    }
    const { orders } = await (await fetch(service.ready.adminUrl)).json()
    if (orders !== 0) throw new Error(`${orders} orders were placed by daemons that should be idle`)
    const after = ORDERS === 0 ? undefined : await memoryAfterOrders(service.ready)
    report(about, { mebibytes, loadMs, after })
  } finally {
    await service.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Strategies that are due on no day of the run. */
function writeFiles(service, count) {
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1
  const lines = (at) => [
    `name: strategy-${at}`,
    'kind: dca',
    `schedule: { cron: "${at % 60} ${at % 24} 15 ${month} *", timezone: Europe/Berlin }`,
    'sell: USDC',
    'buy: WETH',
    'amount: "10"',
    'limits: { perDay: "100" }',
  ]
  const named = Array.from({ length: count }, (_, at) => [`strategy-${at}`, lines(at)])
  return layOutLive(service, { dir: join(dir, `${count}`), strategies: Object.fromEntries(named) })
}

/** Resident memory in MiB, after `--idle` seconds with nothing due. */
async function idleMemory(config) {
  const child = spawn(process.execPath, [tranched, 'run', '--config', config], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('metrics at')) break
  }
  child.stdout.resume()
  await new Promise((resolve) => setTimeout(resolve, Number(values.idle) * 1_000))
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  child.kill('SIGTERM')
  await exited
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
}

/** Resident memory of the daemon's path to an order, in MiB, after its warm-up and after all orders. */
async function memoryAfterOrders(service) {
  const program = await bundle(fileURLToPath(new URL('../orders/daemon-path.mjs', import.meta.url)))
  const warmup = Math.min(WARMUP_MAX, Math.ceil(ORDERS / 10))
  const orders = ORDERS - warmup
  const run = await runProgram(program, { service, concurrency: 32, warmup, orders, dir: join(dir, 'orders') })
  return { orders: ORDERS, warmup, freshMiB: run.freshMiB, memoryMiB: run.memoryMiB }
}

async function validateMs(config) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [tranched, 'validate', '--config', config], {
    stdio: 'ignore',
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`validate ended with code ${code}`)
  return performance.now() - startedAt
}

function report(about, { mebibytes, loadMs, after }) {
  const one = median(mebibytes.one)
  const many = median(mebibytes.many)
  const result = { about, one, many, ratio: many / one, loadMs: median(loadMs), after }
  if (values.json) {
    console.log(JSON.stringify(result))
    return
  }
  console.log(about)
  console.log(`idle with 1 strategy       ${short(one)} MiB`)
  console.log(`idle with ${MANY} strategies ${short(many)} MiB, ${short(many / one)} times`)
  if (after !== undefined)
    console.log(`after ${after.orders} orders     ${short(after.memoryMiB)} MiB, ${short(after.freshMiB)} MiB after ${after.warmup}`)
  console.log(`${MANY} files load in ${short(result.loadMs)} ms more than one`)
}

await main()
