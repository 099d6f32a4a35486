// The same price history for every side: prices of two pairs by the minute, which swing around a middle with some
// noise.

import { median } from '../statistics.mjs'

export const PAIRS = ['WETH/USDC', 'AERO/USDC']
/** 2025-01-01T00:00:00Z, which is no Monday: the first week is incomplete. */
export const FIRST_SECONDS = 1_735_689_600
export const MINUTE = 60
/**
 * A flat position buys below the first and sells above the second. Each is where the other's rung rearms: 25 % and 20 %
 * away.
 */
export const LEVELS = { below: 2_000, above: 2_500 }
const MIDDLE = 2_250
const SWING = 0.2
const NOISE = 0.0004
/** Minutes of a swing; longer for the second pair. */
const PERIODS = [1, 1.361]
export const DECIMALS = 8

/** A mulberry32 generator: small, fast, and the same everywhere. */
function randomOf(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Answers of a feed, whole numbers of 8 decimal places, in chunks of at most this many. */
export function* answersOf(pair, { bars, swing }, piece = bars) {
  const random = randomOf(pair + 1)
  for (let from = 0; from < bars; from += piece) {
    const length = Math.min(piece, bars - from)
    const answers = new Float64Array(length)
    for (let at = 0; at < length; at += 1) {
      const angle = (2 * Math.PI * (from + at)) / (PERIODS[pair] * swing)
      const price = MIDDLE * Math.exp(SWING * Math.sin(angle) + NOISE * (random() - 0.5))
      answers[at] = Math.round(price * 10 ** DECIMALS)
    }
    yield { from, answers }
  }
}

/** All prices of a pair at once. */
export function pricesOf(pair, { bars, swing }) {
  const [{ answers }] = answersOf(pair, { bars, swing })
  return answers.map((answer) => answer / 10 ** DECIMALS)
}

/**
 * Runs this often, and returns the last result, and the seconds and processor seconds of the median run: the first ones are
 * still being compiled.
 */
export async function timed(plays, play) {
  const seconds = []
  const cpuSeconds = []
  let outcome
  for (let at = 0; at < plays; at += 1) {
    const before = process.cpuUsage()
    const startedAt = performance.now()
    outcome = await play()
    seconds.push((performance.now() - startedAt) / 1000)
    const { user, system } = process.cpuUsage(before)
    cpuSeconds.push((user + system) / 1e6)
  }
  return { outcome, first: seconds[0], seconds: median(seconds), cpuSeconds: median(cpuSeconds) }
}
