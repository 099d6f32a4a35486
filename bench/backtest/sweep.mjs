// `tranched backtest --sweep` from the build, in this process: `{ bars, swing }`. Rebalances at every bar of a CSV file, with
// ten bands. Prints its wall clock, processor time and memory of all threads.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheDir } from '../bundle.mjs'
import { answersOf, DECIMALS, FIRST_SECONDS, MINUTE } from './market.mjs'

const { bars, swing } = JSON.parse(process.argv[2])
const FROM_MS = FIRST_SECONDS * 1000
const UNTIL_MS = FROM_MS + (bars - 1) * MINUTE * 1000

const dayText = (ms) => new Date(ms).toISOString().slice(0, 16)
const prices = join(cacheDir, `prices-${bars}-${swing}`)
if (!existsSync(prices)) {
  const fresh = mkdtempSync(join(cacheDir, 'prices-'))
  const file = join(fresh, 'WETH-USDC.csv')
  writeFileSync(file, 'time,price\n')
  for (const { from, answers } of answersOf(0, { bars, swing }, 4_096)) {
    const rows = Array.from(answers, (answer, at) => {
      return `${FIRST_SECONDS + (from + at) * MINUTE},${(answer / 10 ** DECIMALS).toFixed(DECIMALS)}\n`
    })
    appendFileSync(file, rows.join(''))
  }
  renameSync(fresh, prices)
}
const dir = mkdtempSync(join(cacheDir, 'sweep-'))
mkdirSync(join(dir, 'strategies'))
writeFileSync(
  join(dir, 'config.yaml'),
  'mode: sandbox\nstateDir: ./data\nstrategiesDir: ./strategies\n' +
    'limits: { maxDeviationBps: 200, perOrder: { USDC: "1000000", WETH: "1000" }, perDay: { USDC: "1000000", WETH: "1000" } }\n',
)
writeFileSync(
  join(dir, 'strategies/halves.yaml'),
  '{ name: halves, kind: rebalance, schedule: { cron: "* * * * *" }, targets: { WETH: 50%, USDC: 50% }, band: 5%, ' +
    'minTrade: "10", quote: USDC, limits: { perDay: { USDC: "1000000", WETH: "1000" } } }\n',
)
process.env['XDG_CACHE_HOME'] = dir
process.on('exit', () => {
  const seconds = performance.now() / 1000
  const { user, system } = process.cpuUsage()
  rmSync(dir, { recursive: true, force: true })
  const mebibytes = process.resourceUsage().maxRSS / 1024
  writeSync(1, `${JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, mebibytes })}\n`)
})
const flags = [
  ...['--config', join(dir, 'config.yaml'), '--prices', prices, '--json', '--balance', 'USDC=100000'],
  ...['--from', dayText(FROM_MS), '--to', dayText(UNTIL_MS)],
  ...['--sweep', 'band=1%..10%:1%'],
]
const program = fileURLToPath(new URL('../../dist/tranched.js', import.meta.url))
process.argv = [process.execPath, program, 'backtest', ...flags]
await import(program)
