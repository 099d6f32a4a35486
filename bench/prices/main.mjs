// `node bench/prices/main.mjs [--rounds 3 --rows 1000000 --json]`: read speed of a CSV file of a million prices, as
// times and prices and as bars of twelve columns, and its memory over that of a tenth of the file.
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
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
    rows: { type: 'string', default: '1000000' },
    json: { type: 'boolean', default: false },
  },
})
const MANY = Number(values.rows)
const SIZES = { few: Math.ceil(MANY / 10), many: MANY }
const FIRST = 1_500_000_000

/** Lines of each form, by row number. */
const FORMS = {
  plain: (at) => `${FIRST + at * 60},${(3000 + (at % 9973) / 7).toFixed(8)}\n`,
  bars: (at) => {
    const price = (3000 + (at % 9973) / 7).toFixed(2)
    const open = (FIRST + at * 60) * 1000
    return `${open},${price},${price},${price},${price},12.34500000,${open + 59_999},4321.98760000,120,6.1,2100.5,0\n`
  },
}

function writeRows(file, rows, line) {
  const opened = openSync(file, 'w')
  for (let from = 0; from < rows; from += 10_000) {
    let text = ''
    for (let at = from; at < Math.min(rows, from + 10_000); at += 1) text += line(at)
    writeSync(opened, text)
  }
  closeSync(opened)
}

const about = machine()
const program = await bundle(fileURLToPath(new URL('reading.mjs', import.meta.url)))
const results = {}
for (const [form, line] of Object.entries(FORMS)) {
  const runs = { few: [], many: [] }
  for (const side of ['few', 'many']) {
    const file = join(cacheDir, `prices-${form}-${side}.csv`)
    writeRows(file, SIZES[side], line)
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const run = await runProgram(program, { file })
      if (run.rows !== SIZES[side]) throw new Error(`${run.rows} of ${SIZES[side]} rows were read`)
      runs[side].push(run)
      process.stderr.write(`${form}, ${SIZES[side]} rows: ${JSON.stringify(run)}\n`)
    }
    rmSync(file)
  }
  const of = (side, field) => median(runs[side].map((run) => run[field]))
  results[form] = {
    rowsPerSecond: MANY / of('many', 'seconds'),
    pieceMax: of('many', 'pieceMax'),
    mebibytes: { few: of('few', 'mebibytes'), many: of('many', 'mebibytes') },
    ratio: of('many', 'mebibytes') / of('few', 'mebibytes'),
  }
}
if (values.json) process.stdout.write(`${JSON.stringify({ machine: about, results })}\n`)
else
  for (const [form, { rowsPerSecond, mebibytes, ratio }] of Object.entries(results))
    process.stdout.write(
      `${form}: ${short(rowsPerSecond)} rows a second; ${short(mebibytes.many)} MiB at most for ${MANY} rows, ${short(mebibytes.few)} for ${SIZES.few}, ratio ${short(ratio)}\n`,
    )
