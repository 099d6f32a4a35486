// `npm run bench:backtest [-- --rounds 3 --bars 1000000 --trades 20000 --sweep 1600000 --swing 10007 --json]`: bars per
// second of a threshold strategy that reads every bar, against the npm package grademark, and of weekly purchases, against
// a bare loop; a trade; a slot without a trade; a sweep of ten values over a file of prices; a year of a minute-wise
// strategy with limits; and memory for a file of more bars. Both sides of a ratio run on the same prices and must reach
// the same result. `before` are the figures of November 2026, before the issue on speed.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle } from '../bundle.mjs'
import { runProgram } from '../child.mjs'
import { machine } from '../machine.mjs'
import { median, short } from '../statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    bars: { type: 'string', default: '1000000' },
    trades: { type: 'string', default: '20000' },
    sweep: { type: 'string', default: '1600000' },
    plays: { type: 'string', default: '5' },
    swing: { type: 'string', default: '10007' },
    json: { type: 'boolean', default: false },
  },
})
const [rounds, bars, trades, sweepBars, plays, swing] = ['rounds', 'bars', 'trades', 'sweep', 'plays', 'swing'].map(
  (name) => Number(values[name]),
)
const BEFORE = { ratio: 3.95, tradeMicros: 300, slotMicros: 25, sweepSeconds: 130 }
const CASH = 10_000_000
const YEAR_BARS = 365 * 1_440
const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const say = (text) => process.stderr.write(`${text}\n`)

const about = machine()
const tranched = await bundle(here('tranched.mjs'))
const common = { bars, swing, plays }
const threshold = await compare('threshold', {
  tranched: () => runProgram(tranched, { ...common, kind: 'threshold' }),
  peer: () => runProgram(here('grademark.mjs'), common),
  isSame: (own, peer) =>
    own.fills === peer.fills && near(own.cash + peer.staked - CASH, peer.profit, 1e-6),
})
const dca = await compare('weekly purchases', {
  tranched: () => runProgram(tranched, { ...common, kind: 'dca' }),
  peer: () => runProgram(here('bare.mjs'), { ...common, cash: CASH }),
  isSame: (own, peer) => own.fills === peer.fills && near(own.value, peer.value, 1e-9),
})
const trade = microsOf(await repeated(() => runProgram(tranched, { ...common, bars: trades, kind: 'trade' })), 'fills')
const slots = {}
for (const kind of ['bounds', 'band', 'dips']) {
  const runs = await repeated(() => runProgram(tranched, { ...common, bars: trades, kind }))
  if (runs.some(({ slots: seen }) => seen !== trades)) throw new Error(`${kind}: not every bar was a slot`)
  slots[kind] = microsOf(runs, 'slots')
}
const sweeps = await repeated(() => runProgram(here('sweep.mjs'), { bars: sweepBars, swing }))
const year = await repeated(() => runProgram(tranched, { ...common, bars: YEAR_BARS, kind: 'limits' }))
const sizes = [bars / 4, bars, bars * 4]
const memory = []
for (const size of sizes) {
  const { mebibytes } = await runProgram(tranched, { bars: size, swing, kind: 'threshold', streams: true })
  memory.push({ bars: size, mebibytes })
  say(`memory at ${size} bars of each pair: ${short(mebibytes)} MiB`)
}
report({
  machine: about,
  ...{ threshold, dca, trade, slots, memory, before: BEFORE },
  sweep: {
    bars: sweepBars,
    range: rangeOf(sweeps.map((run) => run.seconds)),
    seconds: median(sweeps.map((run) => run.seconds)),
    cpuSeconds: median(sweeps.map((run) => run.cpuSeconds)),
    mebibytes: median(sweeps.map((run) => run.mebibytes)),
  },
  year: { first: median(year.map((run) => run.first)), seconds: median(year.map((run) => run.seconds)) },
})

/** Rounds of both sides, which alternate in going first. */
async function compare(name, { tranched, peer, isSame }) {
  const runs = { tranched: [], peer: [] }
  const sides = { tranched, peer }
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? ['tranched', 'peer'] : ['peer', 'tranched']) {
      const run = await sides[side]()
      runs[side].push(run)
      say(`${name}, round ${round + 1}, ${side}: ${short(run.bars / run.seconds / 1e6)} million bars a second`)
    }
    const [one, other] = [runs.tranched.at(-1), runs.peer.at(-1)]
    if (!isSame(one, other))
      throw new Error(`${name}: the sides differ: ${JSON.stringify([one, other])}`)
  }
  const speeds = (side) => runs[side].map((run) => run.bars / run.seconds)
  const [own, theirs] = [speeds('tranched'), speeds('peer')]
  const ratios = own.map((speed, round) => speed / theirs[round])
  const { fills } = runs.tranched[0]
  return {
    ...{ barsPerSecond: median(own), peerPerSecond: median(theirs), fills },
    ...{ ratio: median(ratios), range: rangeOf(ratios) },
  }
}

async function repeated(run) {
  const runs = []
  for (let round = 0; round < rounds; round += 1) runs.push(await run())
  return runs
}

/** Microseconds, and those of the processor, of one of what a run counts. */
function microsOf(runs, what) {
  const each = (seconds) => runs.map((run) => (1e6 * run[seconds]) / run[what])
  const micros = each('seconds')
  return { micros: median(micros), range: rangeOf(micros), cpuMicros: median(each('cpuSeconds')) }
}

function rangeOf(numbers) {
  return [Math.min(...numbers), Math.max(...numbers)]
}

function near(one, other, share) {
  return Math.abs(one - other) <= share * Math.max(1, Math.abs(other))
}

function report(result) {
  if (values.json) {
    process.stdout.write(`${JSON.stringify(result)}\n`)
    return
  }
  const line = ({ barsPerSecond, peerPerSecond, ratio, fills }) =>
    `${short(barsPerSecond / 1e6)} million bars a second over ${short(peerPerSecond / 1e6)}, ratio ${short(ratio)} (${fills} fills)`
  const micros = ({ micros: wall, cpuMicros }) => `${short(wall)} us (processor ${short(cpuMicros)})`
  const { ratio, tradeMicros, slotMicros, sweepSeconds } = result.before
  const { seconds, cpuSeconds, mebibytes } = result.sweep
  const { bounds, band, dips } = result.slots
  process.stdout.write(
    [
      `threshold at every bar, over grademark: ${line(result.threshold)}, wanted >= 5, before ${ratio}`,
      `a trade: ${micros(result.trade)}, wanted <= 100, before ${tradeMicros}`,
      `a slot outside price bounds: ${micros(bounds)}, wanted <= 8, before ${slotMicros}`,
      `a slot inside a portfolio's band: ${micros(band)}, wanted <= 8, before ${slotMicros}`,
      `a slot outside price bounds that remembers dips: ${micros(dips)}`,
      `a sweep of 10 over ${sweepBars} slots: ${short(seconds)} s (processor ${short(cpuSeconds)}), ${short(mebibytes)} MiB, wanted <= 30, before ${sweepSeconds}`,
      `weekly purchases, over a bare loop: ${line(result.dca)}, wanted >= 0.1`,
      `a year of minutes with limits: ${short(result.year.seconds)} s, the first time ${short(result.year.first)} s, wanted < 1`,
      ...result.memory.map((each) => `memory at ${each.bars} bars of each pair: ${short(each.mebibytes)} MiB`),
      '',
    ].join('\n'),
  )
}
