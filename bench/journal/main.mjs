// `node bench/journal/main.mjs [--rounds 5 --transitions 2000 --many 100000 --json]`: cost of one durable transition in
// a journal of 100,000 records over one of 1,000. Snapshots fall into the measured time, as they do in the daemon.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle, cacheDir } from '../bundle.mjs'
import { runProgram } from '../child.mjs'
import { machine } from '../machine.mjs'
import { median, short } from '../statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    transitions: { type: 'string', default: '2000' },
    many: { type: 'string', default: '100000' },
    json: { type: 'boolean', default: false },
  },
})
const SIZES = { few: Math.min(1_000, Number(values.many) / 2), many: Number(values.many) }

const about = machine()
const program = await bundle(fileURLToPath(new URL('transitions.mjs', import.meta.url)))
const runs = { few: [], many: [] }
for (let round = 0; round < Number(values.rounds); round += 1) {
  const sides = round % 2 === 0 ? ['few', 'many'] : ['many', 'few']
  for (const side of sides) {
    const argument = { records: SIZES[side], transitions: Number(values.transitions) }
    const result = await runProgram(program, { ...argument, dir: join(cacheDir, 'journal-state') })
    runs[side].push(result)
    process.stderr.write(`round ${round + 1}: ${JSON.stringify(result)}\n`)
  }
}
const of = (side, field) => median(runs[side].map((run) => run[field]))
const ratioOf = (field) => median(runs.many.map((run, round) => run[field] / runs.few[round][field]))
const ratios = { p50: ratioOf('p50Ms'), mean: ratioOf('meanMs'), p99: ratioOf('p99Ms') }
if (values.json)
  process.stdout.write(`${JSON.stringify({ machine: about, ratios, runs }, undefined, 2)}\n`)
else {
  for (const field of ['p50Ms', 'meanMs', 'p99Ms', 'maxMs'])
    process.stdout.write(
      `${field}: ${short(of('few', field))} at ${SIZES.few} records, ${short(of('many', field))} at ${SIZES.many}\n`,
    )
  process.stdout.write(
    `ratio of the median transition ${short(ratios.p50)}, of the mean ${short(ratios.mean)} (wanted <= 1.3)\n`,
  )
}
