// `node bench/long/main.mjs [--rounds 3 --records 1000000 --few 1000 --json]`: commands that read the journal, and a start
// after a kill, with a million records behind them, over the same with a thousand. The journals are made once and kept.
// Needs `npm run build`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle, cacheDir } from '../bundle.mjs'
import { runProgram, startService } from '../child.mjs'
import { layOutLive } from '../live-config.mjs'
import { machine } from '../machine.mjs'
import { PRIVATE_KEY } from '../orders/lean-simulation.mjs'
import { median, short } from '../statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    records: { type: 'string', default: '1000000' },
    few: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  },
})
const SIZES = { few: Number(values.few), many: Number(values.records) }
/** Raise it when the journal's files, or what `make-journal.mjs` writes, change. */
const FORMAT = 2
const KEEP_FILES = 8
const DAY_MS = 86_400_000
/** Seconds and MiB with many records. `ratio` is over few. */
const WANTED = {
  'history --limit 20': { seconds: 1, ratio: 3 },
  'why SLOT': { seconds: 1, ratio: 3 },
  'report --since 7 days': { seconds: 1, ratio: 3 },
  report: { seconds: 6 },
  export: {},
  'history --strategy weekly': {},
  status: { seconds: 1 },
  'open after a kill': { seconds: 1 },
}
const tranched = fileURLToPath(new URL('../../dist/tranched.js', import.meta.url))
const programOf = (name) => bundle(fileURLToPath(new URL(`${name}.mjs`, import.meta.url)))

async function main() {
  const about = machine()
  const service = await startService(fileURLToPath(new URL('../orders/lean-service.mjs', import.meta.url)))
  try {
    const sides = { few: await journalOf(SIZES.few, service), many: await journalOf(SIZES.many, service) }
    const opener = await programOf('open-journal')
    const runs = { few: {}, many: {} }
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const side of round % 2 === 0 ? ['few', 'many'] : ['many', 'few']) {
        for (const [name, work] of readings(sides[side], opener)) {
          const run = await work()
          ;(runs[side][name] ??= []).push(run)
          process.stderr.write(`round ${round + 1}, ${side}, ${name}: ${JSON.stringify(run)}\n`)
        }
      }
    }
    report(about, runs, sides)
  } finally {
    await service.stop()
  }
}

/** The directory of a journal with that many records, and what is in it. */
async function journalOf(records, service) {
  const place = join(cacheDir, 'long', `${FORMAT}-${records}`)
  const facts = join(place, 'facts.json')
  if (!existsSync(facts)) await make(place, records)
  const state = join(place, 'state')
  const config = layOutLive(service.ready, {
    dir: join(place, 'config'),
    strategies: { 'dca-0': STRATEGY },
    more: {
      stateDir: state,
      stateAnchor: join(place, 'config/anchor'),
      journal: { archive: join(place, 'archive'), keepFiles: KEEP_FILES },
    },
  })
  const indexed = await runProgram(await programOf('index-journal'), {
    ...{ dir: state, archive: join(place, 'archive'), keepFiles: KEEP_FILES, privateKey: PRIVATE_KEY },
  })
  process.stderr.write(`${records} records: ${JSON.stringify(indexed)}\n`)
  return { ...JSON.parse(readFileSync(facts, 'utf8')), state, config }
}

async function make(place, records) {
  process.stderr.write(`making a journal of ${records} records\n`)
  const temporary = `${place}.tmp`
  for (const each of [place, temporary]) rmSync(each, { recursive: true, force: true })
  mkdirSync(temporary, { recursive: true })
  const untilMs = Date.now()
  const facts = await runProgram(await programOf('make-journal'), {
    ...{ dir: join(temporary, 'state'), archive: join(temporary, 'archive') },
    ...{ keepFiles: KEEP_FILES, privateKey: PRIVATE_KEY, records, untilMs },
  })
  writeFileSync(join(temporary, 'facts.json'), JSON.stringify({ ...facts, untilMs }))
  renameSync(temporary, place)
}

const STRATEGY = [
  'name: dca-0',
  'kind: dca',
  'schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }',
  'sell: USDC',
  'buy: WETH',
  'amount: "25"',
  'limits: { perDay: "100000" }',
]

/** Every reading by name. Each checks what it reads, so that none is fast because it reads nothing. */
function readings({ config, state, records, orders, middle, untilMs }, opener) {
  const since = new Date(untilMs - 7 * DAY_MS).toISOString().slice(0, 10)
  const command = (args, check) => () => run([tranched, ...args, '--config', config], check)
  const lines = (wanted) => (text) => text.trim().split('\n').length >= wanted
  const json = (holds) => (text) => holds(JSON.parse(text))
  return [
    ['history --limit 20', command(['history', '--limit', '20'], lines(20))],
    ['history --strategy weekly', command(['history', '--strategy', 'weekly'], lines(Math.min(20, orders / 50)))],
    ['why SLOT', command(['why', middle, '--json'], json(({ story }) => story.length >= 4))],
    ['report --since 7 days', command(['report', '--since', since, '--json'], json(({ total }) => total.fills >= Math.min(1, orders >> 10)))],
    ['report', command(['report', '--json'], json(({ total }) => total.fills === orders))],
    ['export', command(['export', '--since', since], lines(1))],
    ['status', command(['status', '--json'], json(({ strategies }) => strategies.length > 0))],
    [
      'open after a kill',
      async () => {
        const argument = JSON.stringify({ dir: state, privateKey: PRIVATE_KEY })
        let opened
        const used = await run([opener, argument], (text) => {
          opened = JSON.parse(text)
          return opened.lastSeq === records
        })
        return { ...used, seconds: opened.openedMs / 1000 }
      },
    ],
  ]
}

/** Reports resources at exit on the third stream. */
const USAGE = `data:text/javascript,${encodeURIComponent(
  "import{writeSync}from'node:fs';process.on('exit',()=>writeSync(3,JSON.stringify(process.resourceUsage())))",
)}`

/** Runs a Node program to its end; `{ seconds, cpuSeconds, mebibytes }`. */
async function run(args, check) {
  const startedMs = performance.now()
  const child = spawn(process.execPath, ['--import', USAGE, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  const [text, usage] = [child.stdio[1], child.stdio[3]].map(textOf)
  const [code] = await once(child, 'close')
  const seconds = (performance.now() - startedMs) / 1000
  const shown = await text
  if (code !== 0 || !check(shown)) throw new Error(`${args.join(' ')} ended with ${code} and ${shown.slice(0, 500)}`)
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(await usage)
  return { seconds, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, mebibytes: maxRSS / 1024 }
}

async function textOf(stream) {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}

function report(about, runs, sides) {
  const of = (side, name, field) => median(runs[side][name].map((each) => each[field]))
  const results = Object.keys(runs.many).map((name) => ({
    name,
    seconds: of('many', name, 'seconds'),
    cpuSeconds: of('many', name, 'cpuSeconds'),
    mebibytes: of('many', name, 'mebibytes'),
    fewSeconds: of('few', name, 'seconds'),
    ratio: median(runs.many[name].map(({ seconds }, at) => seconds / runs.few[name][at].seconds)),
    wanted: WANTED[name],
  }))
  const records = { few: sides.few.records, many: sides.many.records }
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ machine: about, records, results, runs }, undefined, 2)}\n`)
    return
  }
  for (const { name, seconds, cpuSeconds, mebibytes, fewSeconds, ratio, wanted } of results) {
    const most = [wanted.seconds && `${wanted.seconds} s`, wanted.ratio && `ratio ${wanted.ratio}`].filter(Boolean)
    process.stdout.write(
      `${name}: ${short(seconds)} s (CPU ${short(cpuSeconds)} s, ${short(mebibytes)} MiB) at ${records.many} records, ${short(fewSeconds)} s at ${records.few}, ratio ${short(ratio)}${most.length === 0 ? '' : ` (wanted at most ${most.join(', ')})`}\n`,
    )
  }
}

await main()
