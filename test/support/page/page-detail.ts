import { createRandom } from '../../../src/domain/random.ts'
import type {
  FillRow,
  HoldingsRange,
  PriceChart,
  StrategyDetail,
  StrategyRow,
} from '../../../src/ui/page/model.ts'

const SECONDS: Readonly<Record<HoldingsRange, number>> = {
  ...{ day: 86_400, week: 604_800, month: 2_592_000, year: 31_622_400 },
}
const POINTS = 240
/** One strategy's prices are coarse, begin after its first fills, and lie below them. */
const COARSE = 'buy-exact-weth'

const FILE = `name: weekly-eth
kind: dca
schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin } # Monday mornings
sell: USDC
buy: WETH
amuont: "25"
price: { max: "4000" }
`

type Given = {
  readonly fills: readonly FillRow[]
  readonly range: HoldingsRange
  readonly nowMs: number
}

/** The dialog of a generated strategy. The first one's file has a problem, and another's differs. */
export function strategyDetail(row: StrategyRow, given: Given): StrategyDetail {
  const isCall = row.kind === 'call'
  const text = row.name === 'weekly-eth' ? FILE : `name: ${row.name}\nkind: ${row.kind}\n`
  return {
    profit: {
      realised: { amount: '-12.407315', token: 'USDC' },
      unrealised: { amount: '231.904', token: 'USDC' },
    },
    traded: [
      {
        fills: row.fills,
        sold: { amount: '12750', token: 'USDC' },
        bought: { amount: '4.2610283', token: 'WETH' },
        price: '2992.234902',
      },
    ],
    held: {
      amount: { amount: '4.2610283', token: 'WETH' },
      cost: { amount: '12750', token: 'USDC' },
      price: '2992.234902',
    },
    file: {
      ...{ name: `${row.name}.yaml`, text, isCut: false, differs: row.name === 'balance-aero' },
      problems:
        text === FILE
          ? [
              {
                ...{ line: 6, path: 'amuont', message: 'unknown key', expected: 'amount' },
                frame: '5 | buy: WETH\n6 | amuont: "25"\n  | ^^^^^^',
              },
            ]
          : [],
    },
    chart: isCall ? null : chartOf(row, given),
    call: isCall
      ? {
          target: '0x71041dddad3595f9ced3dccfbe3d1f4b0a16bb70',
          explorerUrl: 'https://basescan.org/address/0x71041dddad3595f9ced3dccfbe3d1f4b0a16bb70',
          function: 'claim(address)',
          value: { amount: '0', token: 'ETH' },
          charge: { amount: '0.000104177', token: 'ETH' },
          calls: 4,
        }
      : null,
  }
}

function chartOf(row: StrategyRow, { fills, range, nowMs }: Given): PriceChart {
  const random = createRandom(`${row.name} ${range}`)
  const isCoarse = row.name === COARSE
  const points = isCoarse ? 4 : POINTS
  const step = isCoarse ? 3_600 : SECONDS[range] / points
  const from = nowMs / 1_000 - SECONDS[range]
  let price = isCoarse ? 2_960 : 3_020
  const prices = Array.from({ length: points }, () => {
    price += (random.next() - 0.5) * 14
    return price
  })
  const last = prices.at(-1) ?? 1
  const level = (name: string, at: number, kind: PriceChart['levels'][number]['kind']) => {
    return { name, price: at, kind, awayPercent: (at / last - 1) * 100, isReached: false }
  }
  const isWaiting = row.kind === 'threshold'
  const bounds = isCoarse
    ? [{ ...level('dip of 2%', 2_990, 'trade'), isReached: true }]
    : [level('price.min', 2_950, 'bound'), level('price.max', 3_090, 'bound')]
  const isBalanced = row.kind === 'rebalance'
  return {
    ...{ pair: 'WETH/USDC', pairs: isBalanced ? ['WETH/USDC', 'AERO/USDC'] : ['WETH/USDC'] },
    atSeconds: prices.map((_, at) => Math.floor(nowMs / 1_000 - (points - 1 - at) * step)),
    ...{ prices, whole: range !== 'year' },
    fills: fills
      .filter(({ atMs }) => atMs >= from * 1_000)
      .toReversed()
      .map((fill, at) => (at % 3 === 2 ? { ...fill, sold: fill.bought, bought: fill.sold } : fill)),
    levels: isWaiting
      ? [
          level('above 3120', 3_120, 'trade'),
          level('below 2940', 2_940, 'trade'),
          level('trailing 10% is armed again', 3_060, 'ready'),
          level('below 900', 900, 'trade'),
        ]
      : bounds,
    next: isWaiting ? 1 : bounds.findIndex(({ isReached }) => isReached),
    weights: isBalanced
      ? [
          { token: 'AERO', target: 50, band: 5, now: 56.12 },
          { token: 'DAI', target: 50, band: 5, now: 43.88 },
        ]
      : [],
  }
}
