// The backtest as a command runs it, on series in memory or generated as they are read: `{ kind, bars, swing, plays,
// streams }`.
import { DEFAULT_MODEL } from '../../src/backtest/model.ts'
import { backtest } from '../../src/backtest/run.ts'
import { inputOf } from '../../src/cli/commands/backtest/input.ts'
import { loadSettings } from '../../src/config/settings/load-settings.ts'
import { loadStrategies } from '../../src/strategies/files/load-strategies.ts'
import { SANDBOX_TEMPLATE } from '../../src/sandbox/template.ts'
import { answersOf, DECIMALS, FIRST_SECONDS, LEVELS, MINUTE, PAIRS, timed } from './market.mjs'

const { kind, bars, swing, plays = 1, streams = false } = JSON.parse(process.argv[2])
const PIECE = 16_384
const UNTIL_SECONDS = FIRST_SECONDS + (bars - 1) * MINUTE
const EVERY_BAR = 'schedule: { cron: "* * * * *" }'
const NO_END = 'limits: { perDay: "1000000000" }'

const STRATEGIES = {
  threshold: PAIRS.flatMap((pair) => {
    const [base, quote] = pair.split('/')
    const name = base.toLowerCase()
    const watched = `when: { price: ${pair} }`
    return [
      `{ name: ${name}-in, kind: threshold, ${EVERY_BAR}, sell: ${quote}, buy: ${base}, ${watched}, rearm: 25%, ladder: [{ below: "${LEVELS.below}", amount: "1000" }], ${NO_END} }`,
      `{ name: ${name}-out, kind: threshold, ${EVERY_BAR}, sell: ${base}, buy: ${quote}, ${watched}, rearm: 20%, ladder: [{ above: "${LEVELS.above}", amount: 100% }], ${NO_END} }`,
    ]
  }),
  dca: PAIRS.map((pair) => {
    const [base, quote] = pair.split('/')
    return `{ name: ${base.toLowerCase()}, kind: dca, schedule: { cron: "0 9 * * 1" }, sell: ${quote}, buy: ${base}, amount: "1000", ${NO_END} }`
  }),
  trade: [
    `{ name: trade, kind: dca, ${EVERY_BAR}, sell: USDC, buy: WETH, amount: "1", ${NO_END} }`,
  ],
  // None of these ever trades, except for the first purchase of the portfolio.
  bounds: [
    `{ name: bounds, kind: dca, ${EVERY_BAR}, sell: USDC, buy: WETH, amount: "1", price: { max: "1000" }, ${NO_END} }`,
  ],
  band: [
    `{ name: band, kind: rebalance, ${EVERY_BAR}, targets: { WETH: 60%, USDC: 40% }, band: 20%, minTrade: "10", quote: USDC, limits: { perDay: { USDC: "1000000000", WETH: "1000000" } } }`,
  ],
  dips: [
    `{ name: dips, kind: dca, ${EVERY_BAR}, sell: USDC, buy: WETH, amount: "1", dip: [{ drop: 5%, amount: "2" }], dipWindow: 7d, price: { max: "1000" }, ${NO_END} }`,
  ],
  limits: [
    `{ name: limits, kind: threshold, ${EVERY_BAR}, sell: USDC, buy: WETH, rearm: 5%, ladder: [{ below: "${LEVELS.below}", amount: "100" }, { below: "1900", amount: "150" }], limits: { perHour: "200", perDay: "300", perWeek: "1000", total: "20000", cooldown: 2h, drawdown: 80% } }`,
  ],
}

/** A config with the sandbox's feeds, and account limits too high to matter. */
const CONFIG = `mode: sandbox
stateDir: ./data
strategiesDir: ./strategies
limits:
  maxDeviationBps: 200
  perOrder: { USDC: "1000000000", WETH: "1000000", AERO: "1000000" }
  perDay: { USDC: "1000000000", WETH: "1000000", AERO: "1000000" }
`

const settings = loadedOf(
  loadSettings({ file: 'config.yaml', env: {}, readFile: () => CONFIG, sandbox: SANDBOX_TEMPLATE }),
).settings
const files = new Map(STRATEGIES[kind].map((text, at) => [`${at}.yaml`, text]))
const { strategies } = loadedOf(
  loadStrategies({
    dir: settings.strategiesDir,
    settings,
    listFiles: () => [...files.keys()],
    readFile: (path) => files.get(path.split('/').at(-1)) ?? '',
  }),
)

function loadedOf(loaded) {
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

/** The source of every series: rounds by the minute, of which the last answer is that of the last bar. */
function* roundsOf(pair) {
  for (const { from, answers } of answersOf(pair, { bars, swing }, PIECE)) {
    const atSeconds = answers.map((_, at) => FIRST_SECONDS + (from + at) * MINUTE)
    yield { atSeconds, answers, rests: undefined }
  }
}

const priceSeries = PAIRS.map((pair, at) => {
  const held = streams ? undefined : [...roundsOf(at)]
  const rounds = () => held ?? roundsOf(at)
  return { pair, decimals: DECIMALS, source: 'a benchmark', rounds }
}).filter(({ pair }) => kind === 'threshold' || kind === 'dca' || pair === PAIRS[0])

const input = {
  ...inputOf(settings, strategies, {
    options: {
      ...{ from: FIRST_SECONDS * 1000, to: UNTIL_SECONDS * 1000 },
      ...{ balance: ['USDC=10000000', 'WETH=0', 'AERO=0'], vary: false },
    },
    modules: { versionOf: () => undefined, decide: () => Promise.reject(new Error('there is none')) },
    nowMs: 0,
    observed: undefined,
    held: [],
  }),
  priceSeries,
  // The other sides buy and sell at the next bar, without costs.
  model: { ...DEFAULT_MODEL, spreadPpm: 0, failurePpm: 0, quoteSeconds: 0, fillSeconds: MINUTE },
}

const { outcome: result, first, seconds, cpuSeconds } = await timed(plays, () => backtest(input))

const trades = result.strategies.flatMap((each) => each.trades)
const fills = trades.reduce((sum, each) => sum + each.fills, 0)
const usdc = (token) => Number(result.end.holdings.find((each) => each.token === token)?.amount ?? 0)
process.stdout.write(
  `${JSON.stringify({
    first,
    seconds,
    cpuSeconds,
    bars: bars * priceSeries.length,
    slots: result.strategies.reduce((sum, each) => sum + each.slots, 0),
    fills,
    cash: usdc('USDC'),
    held: [usdc('WETH'), usdc('AERO')],
    value: Number(result.end.value?.amount),
    drawdownPercent: result.figures?.drawdown.percent,
    mebibytes: process.resourceUsage().maxRSS / 1024,
  })}\n`,
)
