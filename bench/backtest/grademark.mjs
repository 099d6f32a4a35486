// The npm package grademark on the same prices: each bar opens and closes at its price, so that an entry at the next
// bar's open equals a fill a minute later. Its data frames are made before the clock starts, like the price series of
// the other side.
import { createRequire } from 'node:module'
import { FIRST_SECONDS, LEVELS, MINUTE, PAIRS, pricesOf, timed } from './market.mjs'

const require = createRequire(import.meta.url)
const { DataFrame } = require('data-forge')
const { backtest } = require('grademark')
const { bars, swing, plays = 1 } = JSON.parse(process.argv[2])
const STAKE = 1_000

const STRATEGY = {
  entryRule: (enter, { bar }) => {
    if (bar.close < LEVELS.below) enter()
  },
  exitRule: (exit, { bar }) => {
    if (bar.close > LEVELS.above) exit()
  },
}

const frames = PAIRS.map((_, pair) => {
  const values = Array.from(pricesOf(pair, { bars, swing }), (price, at) => ({
    time: new Date((FIRST_SECONDS + at * MINUTE) * 1000),
    ...{ open: price, high: price, low: price, close: price, volume: 1 },
  }))
  return new DataFrame(values)
})

const play = () => frames.map((frame) => backtest(STRATEGY, frame))
const { outcome: trades, first, seconds, cpuSeconds } = await timed(plays, play)

// A position open at the end is reported as sold at the last bar, but was not sold.
const last = FIRST_SECONDS + (bars - 1) * MINUTE
const closed = trades.flat().filter((trade) => trade.exitReason !== 'finalize')
const open = trades.flat().filter((trade) => trade.exitReason === 'finalize')
process.stdout.write(
  `${JSON.stringify({
    first,
    seconds,
    cpuSeconds,
    bars: bars * PAIRS.length,
    last,
    fills: closed.length * 2 + open.length,
    profit: closed.reduce((sum, { growth }) => sum + STAKE * (growth - 1), 0),
    staked: open.length * STAKE,
    mebibytes: process.resourceUsage().maxRSS / 1024,
  })}\n`,
)
