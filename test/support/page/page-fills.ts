import type { SeededRandom } from '../../../src/domain/random.ts'
import type {
  FillRow,
  HoldingsRange,
  HoldingsSeries,
  OrderRow,
  StrategyRow,
} from '../../../src/ui/page/model.ts'
import { randomHex } from '../random-hex.ts'

/** Seeded fills, orders and holdings over time, in the shapes that a daemon serves. */

export function fillRow(
  strategy: StrategyRow,
  atMs: number,
  random: SeededRandom,
  paper: boolean,
): FillRow {
  const slotSeconds = Math.floor(atMs / 1_000) - random.between(1, 9)
  const isCall = strategy.kind === 'call'
  const txHash = paper ? null : randomHex(random, 32)
  const sold = (random.between(900, 2_600) / 100).toFixed(2)
  return {
    intentId: `${strategy.name}:${slotSeconds}:${random.between(0, 999)}`,
    strategy: strategy.name,
    slotSeconds,
    atMs,
    venue: isCall ? 'aggregated' : 'gasless',
    paper,
    sold: isCall ? null : { amount: sold, token: 'USDC' },
    bought: isCall ? null : { amount: (Number(sold) / 3_011.37).toFixed(18), token: 'WETH' },
    call: isCall ? 'claim(address) of claims' : null,
    vsFeedBps: isCall ? null : random.between(-420, 160) / 10,
    charged: isCall ? { amount: '0.000041873305', token: 'ETH' } : null,
    txHash,
    explorerUrl: txHash === null ? null : `https://explorer.example/tx/${txHash}`,
    undone: random.chance(0.004),
  }
}

/** Newest first. */
export function fillRows(options: {
  count: number
  strategies: readonly StrategyRow[]
  nowMs: number
  random: SeededRandom
  paper: boolean
}): FillRow[] {
  const { count, strategies, random, paper } = options
  let atMs = options.nowMs - 4_000
  return Array.from({ length: count }, () => {
    const strategy = strategies[random.between(0, strategies.length - 1)]
    if (strategy === undefined) throw new Error('a fill needs a strategy')
    atMs -= random.between(500, 400_000)
    return fillRow(strategy, atMs, random, paper)
  })
}

const STATES: readonly (readonly [string, string])[] = [
  ['accepted', 'polling the service each second'],
  [
    'exposed',
    'asking the service whether it has the order, and the chain whether its nonce is used',
  ],
  ['planned', 'waits for a quote'],
  ['lapsing', 'waits for a block past its deadline that shows the nonce unused'],
  ['filled', 'unwrapping 0.0042 WETH'],
  ['accepted', 'polling the service each second'],
]

export function orderRows(
  count: number,
  strategies: readonly StrategyRow[],
  nowMs: number,
): OrderRow[] {
  const nowSeconds = Math.floor(nowMs / 1_000)
  return Array.from({ length: count }, (_, index): OrderRow => {
    const strategy = strategies[index % strategies.length]
    if (strategy === undefined) throw new Error('an order needs a strategy')
    const [state, doing] = STATES[index % STATES.length] ?? ['planned', '']
    const overdue = index === 3
    const slotSeconds = nowSeconds - 4 - index * 3
    return {
      intentId: `${strategy.name}:${slotSeconds}:0`,
      strategy: strategy.name,
      slotSeconds,
      venue: strategy.kind === 'call' ? 'aggregated' : 'gasless',
      what:
        strategy.kind === 'call' ? 'claim(address) of claims' : '25 USDC for at least 0.00826 WETH',
      state,
      attempt: 1 + (index % 2),
      openedAtMs: slotSeconds * 1_000 + 120,
      deadlineSeconds: state === 'planned' ? null : nowSeconds + (overdue ? -900 : 80 + index * 7),
      doing,
      overdue,
    }
  })
}

const LENGTHS: Readonly<Record<HoldingsRange, readonly [points: number, stepSeconds: number]>> = {
  day: [288, 300],
  week: [336, 1_800],
  month: [360, 7_200],
  year: [365, 86_400],
}

export function holdingsSeries(
  range: HoldingsRange,
  nowMs: number,
  random: SeededRandom,
): HoldingsSeries {
  const [points, step] = LENGTHS[range]
  const from = Math.floor(nowMs / 1_000) - points * step
  const atSeconds = Array.from({ length: points }, (_, index) => from + (index + 1) * step)
  let worth = 11_800
  const value = atSeconds.map((_, index) => {
    worth += (random.next() - 0.48) * 24
    return index > 150 && index < 158 ? null : worth
  })
  const weth = atSeconds.map((_, index) => 1.8 + index * 0.0009)
  const usdc = atSeconds.map((_, index) => 6_400 - index * 2.6)
  return {
    valueToken: 'USDC',
    atSeconds,
    value,
    tokens: [
      { token: 'USDC', amounts: usdc },
      { token: 'WETH', amounts: weth },
      { token: 'AERO', amounts: atSeconds.map(() => 1_250.25) },
    ],
  }
}
