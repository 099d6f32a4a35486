// `npm run bench [-- --only orders,startup --resume --rounds 9 --orders 20000 --write --release 0.2.0 --json]`: runs the benchmarks
// one after the other and prints one table: figure, goal, floor, and the figure of the last release. `--write` puts the table
// into bench/README.md, `--release` stores the figures as those of a release, `--rounds` shortens every part, `--resume` goes on
// where an interrupted run ended. Takes about 40 minutes on an idle machine; nothing else may run beside it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cacheDir } from './bundle.mjs'
import { machine } from './machine.mjs'
import { median, short } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    resume: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    orders: { type: 'string', default: '20000' },
    write: { type: 'boolean', default: false },
    release: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const RELEASED = here('released.json')
const README = here('README.md')
/** Results of the parts that have ended, by name. */
const FINISHED = join(cacheDir, 'table')
const TABLE = /(<!-- table: npm run bench -- --write -->\n)[\s\S]*?(<!-- end of table -->)/

/** Each part: the benchmark's arguments, and its rows from what it prints. A row without `floor` has none. */
const PARTS = {
  orders: { args: ['--rounds', '9'], rows: ofOrders },
  startup: { args: ['--rounds', '15'], rows: ofStartup },
  long: { args: ['--rounds', '9'], rows: ofLong },
  many: { args: ['--rounds', '3'], rows: ofMany },
  backtest: { args: ['--rounds', '9'], rows: ofBacktest },
  memory: { args: ['--rounds', '3', '--orders', values.orders], rows: ofMemory },
}

function ofOrders({ results }) {
  return results.flatMap(({ name, concurrency, over: [{ [name]: speed, ...over }] }) => {
    const isSpeed = name === 'ordersPerSecond'
    const unit = isSpeed ? '/s' : ' ms'
    const wanted = isSpeed ? { atLeast: true, goal: 4.5, floor: 3 } : { goal: 0.75, floor: 0.95 }
    const { daemon, peer } = over.loopMicrosPerOrder
    return [
      {
        measure: isSpeed ? `orders per second, ${concurrency} at a time` : `latency p50, ${concurrency} at a time`,
        now: `${short(speed.daemon)}${unit}`,
        over: `${short(speed.peer)}${unit}, the fair script`,
        figure: over.ratio,
        range: over.ratioRange,
        ...wanted,
      },
      {
        measure: `main thread per order, ${concurrency} at a time`,
        over: `${short(peer / 1e3)} ms, the fair script`,
        figure: daemon / 1e3,
        unit: ' ms',
        ...(isSpeed ? { goal: 0.45, floor: 0.7 } : { goal: 1.2, floor: 2 }),
      },
    ]
  })
}

function ofStartup({ rows, times }) {
  const wanted = {
    firstJob: { measure: 'start to first job', by: 'wall', goal: 2.4, floor: 3 },
    version: { measure: '`tranched --version`, CPU', by: 'cpu', goal: 1.15, floor: 1.15 },
    halt: { measure: '`tranched halt`, CPU', by: 'cpu', goal: 1.15, floor: 1.15 },
    status: { measure: '`tranched status`, CPU', by: 'cpu', goal: 2, floor: 2 },
  }
  const [empty] = rows
  return Object.entries(wanted).map(([name, { by, ...row }]) => {
    const ratios = times[name].map((each, round) => each[`${by}Ms`] / times.empty[round][`${by}Ms`])
    const own = rows.find((each) => each.name === name)[by]
    return {
      ...row,
      now: `${short(own.medianMs)} ms`,
      over: `${short(empty[by].medianMs)} ms, an empty Node process`,
      figure: own.ratio,
      range: rangeOf(ratios),
    }
  })
}

function ofLong({ records, results, runs }) {
  const wanted = {
    'history --limit 20': { goal: 0.3, floor: 1 },
    'why SLOT': { goal: 0.3, floor: 1 },
    'report --since 7 days': { goal: 0.5, floor: 1 },
    report: { goal: 3, floor: 6 },
    status: { goal: 0.3, floor: 1 },
    'open after a kill': { goal: 0.3, floor: 1 },
  }
  const many = records.many.toLocaleString('en')
  const rows = results.filter(({ name }) => name in wanted)
  const memory = rows.map(({ mebibytes }) => mebibytes)
  return [
    ...rows.map(({ name, seconds, fewSeconds }) => ({
      measure: `${name === 'open after a kill' ? name : `\`${name}\``}, ${many} records`,
      over: `${short(fewSeconds)} s at ${records.few.toLocaleString('en')}`,
      figure: seconds,
      range: rangeOf(runs.many[name].map((run) => run.seconds)),
      unit: ' s',
      ...wanted[name],
    })),
    { measure: 'memory of the largest of these', figure: Math.max(...memory), unit: ' MiB', goal: 150 },
  ]
}

function ofMany({ lateness: { p99 }, runs }) {
  const of = (field) => runs.daemon.map((run) => run[field])
  const strategies = `${runs.daemon[0].strategies.toLocaleString('en')} strategies`
  const row = (field, per) => ({
    figure: median(of(field)) / per,
    range: rangeOf(of(field)).map((each) => each / per),
  })
  return [
    {
      measure: `lateness p99 of ${strategies} due in one second`,
      over: `${short(p99.nodeCron)} ms, node-cron`,
      ...{ ...row('p99', 1), unit: ' ms', goal: 15, floor: 100 },
    },
    { measure: `size of \`/metrics\`, ${strategies}`, ...row('scrapeBytes', 1e6), unit: ' MB', goal: 3, floor: 6 },
    { measure: 'time of the same', ...row('scrapeMs', 1), unit: ' ms', goal: 50 },
  ]
}

function ofBacktest({ threshold, trade, slots, sweep }) {
  const slot = { unit: ' us', goal: 3, floor: 8 }
  const bars = (each) => `${short(each / 1e6)} million bars/s`
  return [
    {
      measure: 'backtest of a threshold at every bar',
      now: bars(threshold.barsPerSecond),
      over: `${bars(threshold.peerPerSecond)}, grademark`,
      figure: threshold.ratio,
      range: threshold.range,
      ...{ atLeast: true, goal: 8, floor: 5 },
    },
    { measure: 'a trade of a backtest', figure: trade.micros, range: trade.range, unit: ' us', goal: 30, floor: 100 },
    { measure: 'a slot outside price bounds', figure: slots.bounds.micros, range: slots.bounds.range, ...slot },
    { measure: 'a slot inside a band', figure: slots.band.micros, range: slots.band.range, ...slot },
    { measure: 'a slot that remembers dips', figure: slots.dips.micros, range: slots.dips.range, ...slot },
    {
      measure: `a sweep of 10 over ${sweep.bars.toLocaleString('en')} slots`,
      ...{ figure: sweep.seconds, range: sweep.range, unit: ' s', goal: 15, floor: 30 },
    },
  ]
}

function ofMemory({ one, after }) {
  return [
    { measure: 'idle memory', figure: one, unit: ' MiB', goal: 80, floor: 95 },
    {
      measure: `memory after ${after.orders.toLocaleString('en')} orders`,
      now: `${short(after.memoryMiB)} MiB`,
      over: `${short(after.freshMiB)} MiB after ${after.warmup.toLocaleString('en')}`,
      ...{ figure: after.memoryMiB / after.freshMiB, goal: 1.2, floor: 1.5 },
    },
  ]
}

function rangeOf(numbers) {
  return [Math.min(...numbers), Math.max(...numbers)]
}

async function main() {
  const names = values.only?.split(',') ?? Object.keys(PARTS)
  const unknown = names.find((name) => !(name in PARTS))
  if (unknown !== undefined) throw new Error(`--only ${unknown}: the parts are ${Object.keys(PARTS).join(', ')}`)
  if (values.only !== undefined && (values.write || values.release !== undefined))
    throw new Error('--write and --release need all parts: leave out --only')
  const about = machine()
  if (!values.resume) rmSync(FINISHED, { recursive: true, force: true })
  mkdirSync(FINISHED, { recursive: true })
  const rows = []
  for (const [index, name] of names.entries()) {
    process.stderr.write(`${index + 1} of ${names.length}: bench/${name}\n`)
    rows.push(...PARTS[name].rows(await resultOf(name)))
  }
  const released = JSON.parse(readFileSync(RELEASED, 'utf8'))
  const table = tableOf(about, rows, released)
  process.stdout.write(values.json ? `${JSON.stringify({ machine: about, rows })}\n` : table)
  if (values.write) writeFileSync(README, readFileSync(README, 'utf8').replace(TABLE, `$1\n${table}\n$2`))
  if (values.release !== undefined) release(about, rows)
}

/** What a part printed; with `--resume`, in the run that was interrupted. */
async function resultOf(name) {
  const file = join(FINISHED, `${name}.json`)
  if (!values.resume || !existsSync(file)) writeFileSync(file, await run(name, PARTS[name].args))
  return JSON.parse(readFileSync(file, 'utf8'))
}

async function run(name, args) {
  const rounds = values.rounds === undefined ? [] : ['--rounds', values.rounds]
  const child = spawn(process.execPath, [here(`${name}/main.mjs`), '--json', ...args, ...rounds], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`bench/${name} ended with code ${code}`)
  return text
}

function tableOf({ node, cpu, cores }, rows, released) {
  const head = [
    `Node ${node.slice(1)}, ${cores} cores (${cpu}). Bold: the floor is not met.`,
    '',
    `| measure | now | over | figure (rounds) | goal | floor | ${released.release} |`,
    '|---|---|---|---|---|---|---|',
  ]
  return [...head, ...rows.map((row) => lineOf(row, released.figures[row.measure])), ''].join('\n')
}

function lineOf({ measure, now, over = '', figure, range, unit = '', atLeast = false, goal, floor }, before) {
  const isMet = floor === undefined || (atLeast ? figure >= floor : figure <= floor)
  const own = isMet ? `${short(figure)}${unit}` : `**${short(figure)}${unit}**`
  const rounds = range === undefined ? '' : ` (${range.map(short).join(' to ')})`
  const bound = (value) => (value === undefined ? '' : `${atLeast ? '>=' : '<='} ${value}${unit}`)
  const cells = [measure, now ?? `${short(figure)}${unit}`, over, `${own}${rounds}`, bound(goal), bound(floor)]
  return `| ${[...cells, before === undefined ? '' : `${before}${unit}`].join(' | ')} |`
}

function release(about, rows) {
  const figures = Object.fromEntries(rows.map(({ measure, figure }) => [measure, Number(short(figure))]))
  const text = JSON.stringify({ release: values.release, machine: about, figures }, undefined, 2)
  writeFileSync(RELEASED, `${text}\n`)
}

await main()
