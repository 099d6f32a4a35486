// `node bench/startup/main.mjs [--rounds 15 --json]`: time in which the built program prints its version and begins its
// first job, over an empty Node process. Needs `npm run build`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
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
    const times = { empty: [], version: [], firstJob: [] }
    for (let round = 0; round < Number(values.rounds); round += 1) {
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_RUNS_MS))
      times.firstJob.push(await untilLine(run, 'slot-opened'))
      times.empty.push(await untilExit(['--eval', '0']))
      times.version.push(await untilExit([tranched, '--version']))
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

async function untilExit(args) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, { stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with code ${code}`)
  return performance.now() - startedAt
}

/** Time from the start of the process to the log line of an event; the process then drains. */
async function untilLine(args, event) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [tranched, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let tookMs
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    if (tookMs !== undefined) return
    text += chunk
    if (!text.includes(`"event":"${event}"`)) return
    tookMs = performance.now() - startedAt
    child.kill('SIGTERM')
  })
  await once(child, 'close')
  if (tookMs === undefined) throw new Error(`no ${event} before the end:\n${text}`)
  return tookMs
}

function report(about, times) {
  const ms = Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]))
  const over = (name) => median(times[name].map((each, round) => each / times.empty[round]))
  const ratios = { version: over('version'), firstJob: over('firstJob') }
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ machine: about, medianMs: ms, ratios, times }, undefined, 2)}\n`)
    return
  }
  process.stdout.write(`an empty Node process: ${short(ms.empty)} ms\n`)
  process.stdout.write(`tranched --version: ${short(ms.version)} ms, ratio ${short(ratios.version)}\n`)
  process.stdout.write(
    `start to first job: ${short(ms.firstJob)} ms, ratio ${short(ratios.firstJob)} (wanted <= 3)\n`,
  )
}

await main()
