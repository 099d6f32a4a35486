// `npm run bench:orders [-- --rounds 5 --orders 4000 --service lean|sandbox --json --profile]`: orders per second at
// concurrency 32 and latency at concurrency 1, the daemon's path against a bare script, in the same run.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle, cacheDir } from '../bundle.mjs'
import { runProgram, startService } from '../child.mjs'
import { machine } from '../machine.mjs'
import { median, short } from '../statistics.mjs'
import { POLL_MS_MIN } from './workload.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    orders: { type: 'string' },
    service: { type: 'string', default: 'lean' },
    json: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
})
const SERVICES = ['lean', 'sandbox']
if (!SERVICES.includes(values.service)) throw new Error(`--service is one of ${SERVICES.join(', ')}`)
/** The sandbox settles on a real chain, tens of times slower. */
const ORDERS = { lean: { at32: 4_000, at1: 500 }, sandbox: { at32: 300, at1: 60 } }
const THROUGHPUT = { name: 'ordersPerSecond', concurrency: 32, key: 'at32', wanted: { atLeast: 3 } }
const LATENCY = { name: 'latencyMsP50', concurrency: 1, key: 'at1', wanted: { atMost: 1 } }
const WARMUP_PART = 0.25

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const say = (text) => process.stderr.write(`${text}\n`)

async function main() {
  const about = machine()
  const programs = {
    daemon: await bundle(here('daemon-path.mjs')),
    script: here('bare-script.mjs'),
  }
  const other =
    values.service === 'lean' ? here('lean-service.mjs') : await bundle(here('sandbox-service.mjs'))
  const service = await startService(other)
  try {
    const results = []
    for (const measure of [THROUGHPUT, LATENCY])
      results.push(await compare(measure, programs, service.ready))
    const checked = await checkService(service.ready)
    report({ machine: about, service: values.service, pollMsMin: POLL_MS_MIN, results, checked })
  } finally {
    await service.stop()
  }
}

/** Rounds of one measure, the two sides in turn and each first in every other round. */
async function compare(measure, programs, service) {
  const { name, concurrency, key } = measure
  const orders = Number(values.orders ?? ORDERS[values.service][key])
  const warmup = Math.ceil(orders * WARMUP_PART)
  const argument = { service, concurrency, warmup, orders, dir: join(cacheDir, 'orders-state') }
  const runs = { daemon: [], script: [] }
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const sides = round % 2 === 0 ? ['daemon', 'script'] : ['script', 'daemon']
    for (const side of sides) {
      const result = await runProgram(programs[side], argument, nodeOptions(side, key))
      runs[side].push(result)
      say(`${key} round ${round + 1} ${side}: ${describe(result)}`)
    }
  }
  return { ...measure, orders, rounds: Number(values.rounds), ...summary(name, runs), runs }
}

function describe({ ordersPerSecond, latencyMsP50, loopMicrosPerOrder, cpuMicrosPerOrder }) {
  const micros = `${Math.round(loopMicrosPerOrder)} us of its main thread, ${Math.round(cpuMicrosPerOrder)} us of CPU`
  return `${short(ordersPerSecond)}/s, p50 ${short(latencyMsP50)} ms, an order takes ${micros}`
}

function nodeOptions(side, key) {
  if (!values.profile || side !== 'daemon') return []
  return ['--cpu-prof', `--cpu-prof-dir=${join(cacheDir, 'profiles', key)}`]
}

function summary(name, runs) {
  const of = (side, field) => runs[side].map((run) => run[field])
  const medians = (field) => ({ daemon: median(of('daemon', field)), script: median(of('script', field)) })
  const perRound = runs.daemon.map((run, round) => run[name] / runs.script[round][name])
  return {
    daemon: median(of('daemon', name)),
    script: median(of('script', name)),
    /** Median of the rounds' ratios: both sides of a round saw the same machine. */
    ratio: median(perRound),
    ratioRange: [Math.min(...perRound), Math.max(...perRound)],
    loopMicrosPerOrder: medians('loopMicrosPerOrder'),
    cpuMicrosPerOrder: medians('cpuMicrosPerOrder'),
  }
}

/** The lean service checks a sample of all signatures afterwards; the sandbox checked every one on chain. */
async function checkService({ adminUrl }) {
  if (adminUrl === undefined || values.service !== 'lean') return undefined
  const answer = await (await fetch(`${adminUrl}/check`)).json()
  if (answer.signatures.wrong > 0 || answer.signatures.checked === 0)
    throw new Error(`signatures: ${JSON.stringify(answer.signatures)}`)
  return answer
}

function report(result) {
  if (values.json) {
    process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
    return
  }
  for (const each of result.results) process.stdout.write(`${line(each)}\n`)
}

function line({ name, concurrency, wanted, daemon, script, ratio, ratioRange, loopMicrosPerOrder }) {
  const goal = wanted.atLeast === undefined ? `<= ${wanted.atMost}` : `>= ${wanted.atLeast}`
  const [low, high] = ratioRange.map(short)
  const loop = `${Math.round(loopMicrosPerOrder.daemon)} against ${Math.round(loopMicrosPerOrder.script)} us`
  return `${name} at concurrency ${concurrency}: daemon ${short(daemon)}, script ${short(script)}, ratio ${short(ratio)} (rounds ${low} to ${high}; wanted ${goal}); main thread an order: ${loop}`
}

await main()
