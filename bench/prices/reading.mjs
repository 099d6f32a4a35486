// Reads a CSV file of prices as a backtest does, in a separate process; prints its time and peak memory.
import { csvSeries } from '../../src/backtest/price-files/csv.ts'

const { file } = JSON.parse(process.argv[2])
const startedAt = performance.now()
let rows = 0
let pieceMax = 0
for (const { atSeconds } of csvSeries({ file, pair: 'WETH/USDC' }).rounds()) {
  rows += atSeconds.length
  pieceMax = Math.max(pieceMax, atSeconds.length)
}
const seconds = (performance.now() - startedAt) / 1000
const mebibytes = process.resourceUsage().maxRSS / 1024
process.stdout.write(`${JSON.stringify({ rows, pieceMax, seconds, mebibytes })}\n`)
