// `npm run bench:orders [-- --rounds 5 --orders 4000 --service lean|sandbox --only throughput|latency --json --profile]`:
// orders per second at concurrency 32 and latency at concurrency 1, the daemon's path against bare scripts, in one run.
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
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
})
const SERVICES = ['lean', 'sandbox']
if (!SERVICES.includes(values.service)) throw new Error(`--service is one of ${SERVICES.join(', ')}`)
/** The sandbox settles on a real chain, tens of times slower. */
const ORDERS = { lean: { at32: 4_000, at1: 500 }, sandbox: { at32: 300, at1: 60 } }
const THROUGHPUT = { name: 'ordersPerSecond', concurrency: 32, key: 'at32', wanted: { atLeast: 3 } }
const LATENCY = { name: 'latencyMsP50', concurrency: 1, key: 'at1', wanted: { atMost: 0.95 } }
const MEASURES = { throughput: THROUGHPUT, latency: LATENCY }
const measures = values.only === undefined ? Object.values(MEASURES) : [MEASURES[values.only]]
if (measures.includes(undefined)) throw new Error(`--only is one of ${Object.keys(MEASURES).join(', ')}`)
const WARMUP_PART = 0.25
/** The peers, and how often each reads its allowance. Targets are set against the first. */
const PEERS = { script: 'once', 'cautious script': 'before each order' }
const SIDES = ['daemon', ...Object.keys(PEERS)]

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const say = (text) => process.stderr.write(`${text}\n`)

async function main() {
  const about = machine()
  const script = here('bare-script.mjs')
  const programs = { daemon: await bundle(here('daemon-path.mjs')), script, 'cautious script': script }
  const other =
    values.service === 'lean' ? here('lean-service.mjs') : await bundle(here('sandbox-service.mjs'))
  const service = await startService(other)
  try {
    const results = []
    for (const measure of measures)
      results.push(await compare(measure, programs, service.ready))
    const totals = await balanced(results, service.ready)
    report({ machine: about, service: values.service, pollMsMin: POLL_MS_MIN, results, totals })
  } finally {
    await service.stop()
  }
}

/** Rounds of one measure; the sides alternate in going first. */
async function compare(measure, programs, service) {
  const { name, concurrency, key } = measure
  const orders = Number(values.orders ?? ORDERS[values.service][key])
  const warmup = Math.ceil(orders * WARMUP_PART)
  const argument = { service, concurrency, warmup, orders, dir: join(cacheDir, 'orders-state') }
  const runs = Object.fromEntries(SIDES.map((side) => [side, []]))
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const first = round % SIDES.length
    for (const side of [...SIDES.slice(first), ...SIDES.slice(0, first)]) {
      const readsAllowance = PEERS[side]
      const result = await runProgram(programs[side], { ...argument, readsAllowance }, nodeOptions(side, key))
      runs[side].push(result)
      say(`${key} round ${round + 1} ${side}: ${describe(result)}`)
    }
  }
  const over = Object.keys(PEERS).map((peer) => ({ peer, ...summary(name, runs, peer) }))
  return { ...measure, orders, warmup, rounds: Number(values.rounds), over, runs }
}

function describe({ ordersPerSecond, latencyMsP50, loopMicrosPerOrder, cpuMicrosPerOrder }) {
  const micros = `${Math.round(loopMicrosPerOrder)} us of its main thread, ${Math.round(cpuMicrosPerOrder)} us of CPU`
  return `${short(ordersPerSecond)}/s, p50 ${short(latencyMsP50)} ms, an order takes ${micros}`
}

function nodeOptions(side, key) {
  if (!values.profile || side !== 'daemon') return []
  return ['--cpu-prof', `--cpu-prof-dir=${join(cacheDir, 'profiles', key)}`]
}

function summary(name, runs, peer) {
  const of = (side, field) => median(runs[side].map((run) => run[field]))
  const both = (field) => ({ daemon: of('daemon', field), peer: of(peer, field) })
  const perRound = runs.daemon.map((run, round) => run[name] / runs[peer][round][name])
  return {
    [name]: both(name),
    /** Median of the rounds' ratios: both sides of a round ran under the same conditions. */
    ratio: median(perRound),
    ratioRange: [Math.min(...perRound), Math.max(...perRound)],
    loopMicrosPerOrder: both('loopMicrosPerOrder'),
    cpuMicrosPerOrder: both('cpuMicrosPerOrder'),
  }
}

/**
 * Checks that the service filled exactly the orders that the programs report. The lean one also checks a sample of all
 * signatures; the sandbox checked every one on chain.
 */
async function balanced(results, { adminUrl }) {
  const placed = results
    .map(({ orders, warmup, rounds }) => (orders + warmup) * rounds * SIDES.length)
    .reduce((sum, each) => sum + each, 0)
  const read = async (path) => (await fetch(`${adminUrl}${path}`)).json()
  const service =
    values.service === 'lean'
      ? await read('/check')
      : { orders: (await read('/orders')).filter(({ status }) => status === 'filled').length }
  if (service.orders !== placed)
    throw new Error(`the programs placed ${placed} orders, the service filled ${service.orders}`)
  const { signatures } = service
  if (signatures !== undefined && (signatures.wrong > 0 || signatures.checked === 0))
    throw new Error(`signatures: ${JSON.stringify(signatures)}`)
  return { placed, ...service }
}

function report(result) {
  if (values.json) {
    process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
    return
  }
  for (const { over, ...measure } of result.results)
    for (const each of over) process.stdout.write(`${line(measure, each)}\n`)
}

function line({ name, concurrency, wanted }, { peer, ratio, ratioRange, loopMicrosPerOrder, ...each }) {
  const goal = wanted.atLeast === undefined ? `<= ${wanted.atMost}` : `>= ${wanted.atLeast}`
  const target = peer === SIDES[1] ? `; wanted ${goal}` : ''
  const [low, high] = ratioRange.map(short)
  const [ours, theirs] = [each[name].daemon, each[name].peer].map(short)
  const loop = `${Math.round(loopMicrosPerOrder.daemon)} against ${Math.round(loopMicrosPerOrder.peer)} us`
  return `${name} at concurrency ${concurrency}: daemon ${ours}, ${peer} ${theirs}, ratio ${short(ratio)} (rounds ${low} to ${high}${target}); main thread an order: ${loop}`
}

await main()
