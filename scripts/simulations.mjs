// `npm run simulations -- --seeds 2000`: runs this many random simulations of all kinds, `--jobs` at a time, and prints the
// seeds that violated an invariant. `--kind day --from 94 --seeds 1` replays one. Exits with 1 if any did.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

/** Share of the seeds for each kind: a year takes as long as fifty of the others. */
const SHARES = { day: 0.3, alone: 0.1, calls: 0.3, slices: 0.2, limits: 0.095, year: 0.005 }
/** Seeds per process, small enough that failures are reported early and memory stays low. */
const SLICE = { day: 25, alone: 25, calls: 25, slices: 50, limits: 10, year: 1 }

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    kind: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
})
const root = fileURLToPath(new URL('..', import.meta.url))
const [seeds, first] = [Number(values.seeds), Number(values.from)]
const dir = mkdtempSync(join(tmpdir(), 'tranched-simulations-'))
const program = join(dir, 'simulations.mjs')
const failures = []
const tally = new Map()
let finished = 0

try {
  await build({
    entryPoints: [join(root, 'test/support/simulations/main.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: 'inline',
    absWorkingDir: root,
    logLevel: 'warning',
    banner: {
      js: "import{createRequire as bundleRequire}from'node:module';const require=bundleRequire(import.meta.url);",
    },
  })
  const slices = slicesOf(values.kind === undefined ? shares() : { [values.kind]: seeds })
  const total = slices.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  const worker = async () => {
    for (let slice = slices.shift(); slice !== undefined; slice = slices.shift()) {
      await runSlice(slice)
      finished += slice.to - slice.from + 1
      console.log(`${finished} of ${total} simulations, ${failures.length} failed`)
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, worker))
} finally {
  rmSync(dir, { recursive: true, force: true })
}
for (const [kind, what] of [...tally].sort())
  console.log(`${kind}: ${[...what].sort().map(([name, count]) => `${name} ${count}`).join(', ')}`)
for (const failure of failures) console.error(failure)
console.log(failures.length === 0 ? 'every invariant held' : `${failures.length} simulations failed`)
process.exitCode = failures.length === 0 ? 0 : 1

/** Few seeds include no year. */
function shares() {
  const kinds = Object.entries(SHARES).map(([kind, share]) => [kind, Math.round(seeds * share)])
  return Object.fromEntries(kinds)
}

/**
 * In turns of the kinds, years last: they take long and find least. A single year begins first: all others end while it
 * runs.
 */
function slicesOf(counts) {
  const slices = Object.entries(counts).flatMap(([kind, count]) => {
    const size = SLICE[kind] ?? 1
    return Array.from({ length: Math.ceil(count / size) }, (_, n) => ({
      kind,
      turn: kind === 'year' ? yearsTurn(count) : (n + 1) / Math.ceil(count / size),
      from: first + n * size,
      to: first + Math.min(count, (n + 1) * size) - 1,
    }))
  })
  return slices.sort((a, b) => a.turn - b.turn)
}

function yearsTurn(count) {
  return count === 1 ? 0 : 2
}

function runSlice({ kind, from, to }) {
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', '--max-semi-space-size=64', program, '--kind', kind, '--from', String(from), '--to', String(to)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('FAILED')) {
      failures.push(line)
      console.error(line)
    }
    if (line.startsWith('TALLY')) add(kind, JSON.parse(line.slice(line.indexOf('{'))))
  })
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      if (signal !== null || code > 1) failures.push(`FAILED ${kind} ${from} to ${to}: the process ended with ${signal ?? code}`)
      resolve()
    })
  })
}

function add(kind, counts) {
  const sums = tally.get(kind) ?? new Map()
  for (const [what, count] of Object.entries(counts)) sums.set(what, (sums.get(what) ?? 0) + count)
  tally.set(kind, sums)
}
