// `node bench/startup/main.mjs [--rounds 15 --json]`: wall time and CPU time in which the built program runs its shortest
// commands and begins its first job, over an empty Node process. Needs `npm run build`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cacheDir } from '../bundle.mjs'
import { startService } from '../child.mjs'
import { FIRST_JOB, layOutLive } from '../live-config.mjs'
import { machine } from '../machine.mjs'
import { median, short } from '../statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
  },
})
const tranched = fileURLToPath(new URL('../../dist/tranched.js', import.meta.url))
const dir = join(cacheDir, 'startup')
/** Long enough that a slot of the every-second strategy has passed when the daemon starts again. */
const BETWEEN_RUNS_MS = 1_100

async function main() {
  const about = machine()
  const service = await startService(
    fileURLToPath(new URL('../orders/lean-service.mjs', import.meta.url)),
  )
  try {
    const config = layOutLive(service.ready, { dir, strategies: { 'first-job': FIRST_JOB } })
    const run = ['run', '--config', config]
    await untilLine(run, 'slot-opened')
    const halted = join(dir, 'halted')
    mkdirSync(halted)
    const rows = {
      empty: () => untilExit(['--eval', '0']),
      version: () => untilExit([tranched, '--version']),
      // Never without a directory, which would halt every daemon of this machine.
      halt: () => untilExit([tranched, 'halt', '--state-dir', halted]),
      status: () => untilExit([tranched, 'status', '--config', config]),
      validate: () => untilExit([tranched, 'validate', '--config', config]),
      firstJob: () => untilLine(run, 'slot-opened'),
    }
    const times = Object.fromEntries(Object.keys(rows).map((name) => [name, []]))
    for (let round = 0; round < Number(values.rounds); round += 1) {
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_RUNS_MS))
      for (const [name, measure] of Object.entries(rows)) times[name].push(await measure())
    }
    await balance(service.ready)
    report(about, times)
  } finally {
    await service.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * The check: the journal proves every order that the service filled, and each run resumed the order that the previous
 * one left open.
 */
async function balance({ adminUrl }) {
  const { orders } = await (await fetch(adminUrl)).json()
  const segments = join(dir, 'state/journal')
  const texts = readdirSync(segments).map((name) => readFileSync(join(segments, name), 'utf8'))
  const journal = texts.join('')
  const proven = journal.split('"type":"fill-proven"').length - 1
  if (proven !== orders || proven < Number(values.rounds))
    throw new Error(`the service filled ${orders} orders, the journal proves ${proven}`)
}

/** What bash's `time` prints: seconds of the user and of the system. */
const TIMED = /^(\d+\.\d+) (\d+\.\d+)$/m

async function untilExit(args) {
  const startedAt = performance.now()
  const timed = `TIMEFORMAT='%3U %3S'; time "$@" >/dev/null 2>&1`
  const child = spawn('bash', ['-c', timed, 'bash', process.execPath, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  const wallMs = performance.now() - startedAt
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with code ${code}`)
  const [, user, system] = TIMED.exec(text) ?? []
  return { wallMs, cpuMs: 1_000 * (Number(user) + Number(system)) }
}

/** CPU time of the main thread so far; none where the system does not say it. */
function mainThreadMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return Number.NaN
  }
}

/** From the start of the process to the log line of an event; the process then drains. CPU time of the main thread. */
async function untilLine(args, event) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [tranched, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let took
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    if (took !== undefined) return
    text += chunk
    if (!text.includes(`"event":"${event}"`)) return
    took = { wallMs: performance.now() - startedAt, cpuMs: mainThreadMs(child.pid) }
    child.kill('SIGTERM')
  })
  await once(child, 'close')
  if (took === undefined) throw new Error(`no ${event} before the end:\n${text}`)
  return took
}

const ROWS = {
  empty: ['an empty Node process'],
  version: ['tranched --version', 1.15],
  halt: ['tranched halt --state-dir', 1.15],
  status: ['tranched status', 2],
  validate: ['tranched validate'],
  firstJob: ['start to first job', 3],
}

function report(about, times) {
  const rows = Object.entries(times).map(([name, all]) => {
    const of = (measure) => ({
      medianMs: median(all.map((each) => each[measure])),
      ratio: median(all.map((each, round) => each[measure] / times.empty[round][measure])),
    })
    return { name, wall: of('wallMs'), cpu: of('cpuMs') }
  })
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ machine: about, rows, times }, undefined, 2)}\n`)
    return
  }
  const figure = ({ medianMs, ratio }) => `${short(medianMs)} ms, ratio ${short(ratio)}`
  for (const { name, wall, cpu } of rows) {
    const [title, wanted] = ROWS[name]
    const goal = wanted === undefined ? '' : ` (wanted <= ${wanted})`
    process.stdout.write(`${title}: ${figure(wall)}${goal}; CPU ${figure(cpu)}\n`)
  }
}

await main()
