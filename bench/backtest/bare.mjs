// The minimum work of a weekly purchase over minute bars: a loop over typed arrays that buys on Mondays at nine, and
// checks each hour how far the value is below its highest.
import { FIRST_SECONDS, MINUTE, PAIRS, pricesOf, timed } from './market.mjs'

const { bars, swing, plays = 1, cash: begin } = JSON.parse(process.argv[2])
const STAKE = 1_000
const HOUR = 3_600
const WEEK = 7 * 86_400
/** A Monday, 09:00 UTC; the purchase is at the bar after it. */
const MONDAY = 1_736_154_000

const times = Float64Array.from({ length: bars }, (_, at) => FIRST_SECONDS + at * MINUTE)
const prices = PAIRS.map((_, pair) => pricesOf(pair, { bars, swing }))

function play() {
  const held = PAIRS.map(() => 0)
  let cash = begin
  let fills = 0
  let highest = 0
  let worst = 0
  let due = MONDAY + MINUTE
  let nextCheckSeconds = FIRST_SECONDS
  const [one, other] = prices
  const value = (at) => cash + held[0] * one[at] + held[1] * other[at]
  for (let at = 0; at < bars; at += 1) {
    const now = times[at]
    if (now >= due) {
      held[0] += STAKE / one[at]
      held[1] += STAKE / other[at]
      cash -= 2 * STAKE
      fills += 2
      due += WEEK
    }
    if (now >= nextCheckSeconds) {
      const worth = value(at)
      if (worth > highest) highest = worth
      const fall = 1 - worth / highest
      if (fall > worst) worst = fall
      nextCheckSeconds += HOUR
    }
  }
  return { fills, cash, held, value: value(bars - 1), drawdownPercent: worst * 100 }
}

const { outcome, first, seconds, cpuSeconds } = await timed(plays, play)
process.stdout.write(
  `${JSON.stringify({ first, seconds, cpuSeconds, bars: bars * PAIRS.length, ...outcome })}\n`,
)
