// `node bench/page/main.mjs [--rounds 3 --strategies 1000 --fills 100000 --json]`: response times of the page and
// `/metrics` with many strategies and a long past, over ten strategies and a short one, and how long they stall
// trading.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle, cacheDir } from '../bundle.mjs'
import { runProgram } from '../child.mjs'
import { machine } from '../machine.mjs'
import { median, short } from '../statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    strategies: { type: 'string', default: '1000' },
    fills: { type: 'string', default: '100000' },
    json: { type: 'boolean', default: false },
  },
})
const SIZES = {
  few: { strategies: 10, fills: 1_000 },
  many: { strategies: Number(values.strategies), fills: Number(values.fills) },
}

const about = machine()
const program = await bundle(fileURLToPath(new URL('readings.mjs', import.meta.url)))
const runs = { few: [], many: [] }
for (let round = 0; round < Number(values.rounds); round += 1) {
  const sides = round % 2 === 0 ? ['few', 'many'] : ['many', 'few']
  for (const side of sides) {
    const result = await runProgram(program, { ...SIZES[side], dir: join(cacheDir, 'page-state') })
    runs[side].push(result)
    process.stderr.write(`round ${round + 1}, ${side}: ${JSON.stringify(result)}\n`)
  }
}
const of = (side, reading, field) => median(runs[side].map((run) => run[reading][field]))
const readings = Object.keys(runs.many[0]).map((reading) => ({
  reading,
  fewMs: of('few', reading, 'tookMs'),
  manyMs: of('many', reading, 'tookMs'),
  stallMs: of('many', reading, 'stallMs'),
}))
if (values.json) process.stdout.write(`${JSON.stringify({ machine: about, readings, runs }, undefined, 2)}\n`)
else
  for (const { reading, fewMs, manyMs, stallMs } of readings)
    process.stdout.write(
      `${reading}: ${short(manyMs)} ms, ${short(fewMs)} with few; longest stall ${short(stallMs)} ms\n`,
    )
