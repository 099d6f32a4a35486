import { expect, test } from 'vitest'
import { Play } from '../../../src/backtest/play.ts'
import type { PriceFeed } from '../../../src/domain/money/price.ts'
import type { Token } from '../../../src/domain/money/token.ts'
import { ACCOUNT, USDC, WETH, WETH_USDC } from '../../simulation/stage.ts'
import {
  aTape,
  FREE,
  inputOf,
  played,
  recording,
  YEAR_BEGINS,
} from '../../support/backtest/playing.ts'
import {
  aCall,
  aSchedule,
  aStrategy,
  BUY_WETH,
  capOf,
  ETH,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { above, aThreshold, aTwap } from '../strategies/decide-fixture.ts'

const HOUR = 3_600
const hourly = (count: number, priceOf: (hour: number) => number) =>
  aTape(
    Array.from({ length: count }, (_, hour) => [YEAR_BEGINS + hour * HOUR, priceOf(hour)] as const),
  )
const until = (hours: number): number => YEAR_BEGINS + hours * HOUR

test('a DCA buys at every slot, including the first and last second, until its funds run out', async () => {
  const { lines, play } = await played({
    strategies: [aStrategy()],
    priceSeries: [hourly(5, () => 2_000)],
    untilSeconds: until(4),
    usdc: usdc(60),
  })
  expect(lines).toEqual([
    `hourly ${YEAR_BEGINS} opened USDC>WETH 25000000`,
    `hourly ${YEAR_BEGINS} filled 25000000 for 12500000000000000`,
    'hourly filled filled',
    `hourly ${until(1)} opened USDC>WETH 25000000`,
    `hourly ${until(1)} filled 25000000 for 12500000000000000`,
    'hourly filled filled',
    `hourly ${until(2)}-${until(4)} 3 skipped insufficient-balance`,
  ])
  expect(play.sim.wallet.of(USDC.address)).toBe(usdc(10))
  expect(play.sim.wallet.of(WETH.address)).toBe(milliWeth(25))
})

test('a slot uses the round of its own second and no later round', async () => {
  const early = await played({
    strategies: [aStrategy()],
    priceSeries: [
      aTape([
        [YEAR_BEGINS, 2_000],
        [until(1), 1_000],
        [until(2) + 1, 500],
      ]),
    ],
    untilSeconds: until(2),
    usdc: usdc(75),
  })
  const bought = early.lines.filter((line) => line.includes(' filled 2'))
  expect(bought.map((line) => line.split(' for ')[1])).toEqual([
    '12500000000000000',
    '25000000000000000',
    '25000000000000000',
  ])
})

test('a gap in the prices gives a stale price, and no price at all a missing price', async () => {
  const { lines } = await played({
    strategies: [aStrategy()],
    priceSeries: [
      aTape([
        [until(1), 2_000],
        [until(4), 2_000],
      ]),
    ],
    untilSeconds: until(4),
  })
  expect(lines.filter((line) => line.includes('skipped'))).toEqual([
    `hourly ${YEAR_BEGINS}-${YEAR_BEGINS} 1 skipped price-missing`,
    `hourly ${until(3)}-${until(3)} 1 skipped price-stale`,
  ])
  expect(lines.filter((line) => line.includes('opened'))).toHaveLength(3)
})

const COIN: Token = { ...WETH, symbol: 'COIN', address: `0x${'c0'.repeat(20)}` }
const COIN_WETH: PriceFeed = { ...WETH_USDC, pair: 'COIN/WETH', base: COIN, quote: WETH }

test('a price that lacks one feed is stale once its other feed is too old', async () => {
  const { lines } = await played({
    strategies: [aStrategy({ buy: { token: COIN, native: false } })],
    feedList: [WETH_USDC, COIN_WETH],
    priceSeries: [aTape([[until(9), 2_000]]), aTape([[YEAR_BEGINS, 1]], 'COIN/WETH')],
    untilSeconds: until(4),
  })
  expect(lines).toEqual([
    `hourly ${YEAR_BEGINS}-${until(1)} 2 skipped price-missing`,
    `hourly ${until(2)}-${until(4)} 3 skipped price-stale`,
  ])
})

test('a price over two feeds comes within bounds while one of them begins another piece of its series', async () => {
  const { lines } = await played({
    strategies: [
      aStrategy({
        buy: { token: COIN, native: false },
        price: { min: undefined, max: { num: 1_500n, den: 10n ** 12n } },
      }),
    ],
    feedList: [WETH_USDC, COIN_WETH],
    priceSeries: [
      aTape(
        [0, 1, 2, 3].map((hour) => [until(hour), 2_000] as const),
        WETH_USDC.pair,
        3,
      ),
      aTape(
        [0, 1, 2, 3].map((hour) => [until(hour), hour < 3 ? 1 : 0.5] as const),
        'COIN/WETH',
      ),
    ],
    untilSeconds: until(3),
  })
  expect(lines.slice(0, 2)).toEqual([
    `hourly ${YEAR_BEGINS}-${until(2)} 3 skipped price-outside-bounds`,
    `hourly ${until(3)} opened USDC>COIN 25000000`,
  ])
})

test('caps hold in virtual time: a slot that would exceed a cap is skipped, and the last slot before capacity returns waits for it', async () => {
  const limits = { ...OPEN, perDay: capOf(USDC, usdc(50)) }
  const { lines } = await played({
    strategies: [aStrategy({ limits })],
    priceSeries: [hourly(60, () => 2_000)],
    untilSeconds: until(49),
  })
  // A fill counts from its block, which here has the time of its slot.
  expect(lines.filter((line) => line.includes('skipped') || line.includes('opened'))).toEqual([
    `hourly ${YEAR_BEGINS} opened USDC>WETH 25000000`,
    `hourly ${until(1)} opened USDC>WETH 25000000`,
    `hourly ${until(2)}-${until(23)} 22 skipped limit-per-day`,
    `hourly ${until(24)} opened USDC>WETH 25000000`,
    `hourly ${until(25)} opened USDC>WETH 25000000`,
    `hourly ${until(26)}-${until(47)} 22 skipped limit-per-day`,
    `hourly ${until(48)} opened USDC>WETH 25000000`,
    `hourly ${until(49)} opened USDC>WETH 25000000`,
  ])
})

test('an order whose price the market has left stays unfilled, is retried, and expires', async () => {
  const { lines } = await played({
    strategies: [aStrategy({ schedule: aSchedule('0 * * * *', { maxLatenessMs: 400_000 }) })],
    priceSeries: [
      aTape(
        Array.from(
          { length: 40 },
          (_, index) => [YEAR_BEGINS + index * 60, 1_000 + index * 20] as const,
        ),
      ),
    ],
    untilSeconds: until(0.5),
    model: { ...FREE, fillSeconds: 60 },
  })
  expect(lines).toEqual([
    `hourly ${YEAR_BEGINS} opened USDC>WETH 25000000`,
    'hourly expired order-expired',
  ])
})

test('every fill pays the spread, and a quote too far from the feed is refused', async () => {
  const playing = {
    strategies: [aStrategy()],
    priceSeries: [hourly(1, () => 2_000)],
    untilSeconds: until(0),
  }
  const cheap = await played({ ...playing, model: { ...FREE, spreadPpm: 10_000 } })
  expect(cheap.lines).toEqual([
    `hourly ${YEAR_BEGINS} opened USDC>WETH 25000000`,
    `hourly ${YEAR_BEGINS} filled 25000000 for 12375000000000000`,
    'hourly filled filled',
  ])
  const dear = await played({ ...playing, model: { ...FREE, spreadPpm: 30_000 } })
  expect(dear.lines.at(-1)).toBe('hourly refused price-deviation')
})

test('a large order moves its own price according to the depth', async () => {
  const { lines } = await played({
    strategies: [aStrategy()],
    priceSeries: [hourly(1, () => 2_000)],
    untilSeconds: until(0),
    // 25 USDC of 2,500 that move the price by 1 %, so 0.01 %.
    model: { ...FREE, depth: usdc(2_500) },
  })
  expect(lines[1]).toBe(`hourly ${YEAR_BEGINS} filled 25000000 for 12498750000000000`)
})

test('a strategy that sells ETH wraps it and pays the gas', async () => {
  const { lines, play } = await played({
    strategies: [
      aStrategy({ sell: ETH, buy: SELL_USDC, size: { side: 'sell', amount: milliWeth(10) } }),
    ],
    priceSeries: [hourly(1, () => 2_000)],
    untilSeconds: until(0),
    eth: milliWeth(20),
    model: { ...FREE, wrapWei: 1_000n },
  })
  expect(lines).toContain('gas 1000')
  expect(play.sim.wallet.nativeBalance).toBe(milliWeth(10) - 1_000n)
  expect(play.sim.wallet.of(WETH.address)).toBe(0n)
})

test('consecutive failures pause a strategy, as in live mode', async () => {
  const { lines } = await played({
    strategies: [
      aStrategy({
        limits: { ...OPEN, maxFailures: 2 },
        schedule: aSchedule('0 * * * *', { maxLatenessMs: 60_000 }),
      }),
    ],
    priceSeries: [hourly(6, () => 2_000)],
    untilSeconds: until(5),
    model: { ...FREE, failurePpm: 1_000_000 },
  })
  expect(lines.filter((line) => !line.includes('opened'))).toEqual([
    'hourly expired too-late',
    'hourly expired too-late',
    'hourly paused failure-streak',
    `hourly ${until(2)}-${until(5)} 4 skipped paused`,
  ])
})

test('calls are charged to the GasTank until it is empty', async () => {
  const { lines } = await played({
    strategies: [aCall({ schedule: aSchedule('0 * * * *') })],
    untilSeconds: until(3),
    model: { ...FREE, callWei: 40n, tankWei: 100n },
  })
  expect(lines.filter((line) => line.includes('charged') || line.includes('failed'))).toEqual([
    'poke called, charged 40',
    'poke called, charged 40',
    'poke failed call-reverts',
    'poke failed call-reverts',
  ])
})

test('a TWAP without a fixed start begins with the period and sells its total', async () => {
  const { play, lines } = await played({
    strategies: [aTwap({}, { startSeconds: undefined, count: 7 })],
    priceSeries: [hourly(8, () => 2_000)],
    account: { ...ACCOUNT, perOrder: new Map(), perDay: new Map() },
    untilSeconds: until(8),
    usdc: usdc(5_000),
  })
  expect(play.sim.wallet.of(USDC.address)).toBe(usdc(2_600))
  expect(lines.filter((line) => line.includes('opened'))).toHaveLength(7)
})

test('gains include purchases by another strategy', async () => {
  const gain = { ...above(0), id: 'gain 10%', trigger: { type: 'gain', bps: 1_000 } } as const
  const { lines } = await played({
    strategies: [
      aStrategy({ name: 'buyer', schedule: aSchedule('0 0 * * *') }),
      aThreshold({
        ...{ name: 'profit', sell: BUY_WETH, buy: SELL_USDC, entryOf: 'buyer' },
        schedule: aSchedule('30 * * * *'),
        rungs: [{ ...gain, size: { type: 'share', bps: 10_000 } }],
      }),
    ],
    priceSeries: [hourly(5, (hour) => 2_000 + hour * 60)],
    untilSeconds: until(5),
    usdc: usdc(25),
    weth: milliWeth(500),
  })
  expect(lines.filter((line) => line.startsWith('profit'))).toEqual([
    `profit ${YEAR_BEGINS + 1_800}-${until(3.5)} 4 skipped not-triggered`,
    `profit ${until(4.5)} opened WETH>USDC 12500000000000000`,
    `profit ${until(4.5)} filled 12500000000000000 for 28000000`,
    'profit filled filled',
  ])
})

test('a piece of prices that ends within a band ends no fast-forward', async () => {
  const counts: number[] = []
  const listener = {
    ...recording().listener,
    skipped: (_: unknown, { count }: { count: number }) => void counts.push(count),
  }
  const playing = {
    strategies: [aThreshold({ rungs: [above(3_000)], schedule: aSchedule('0 * * * *') })],
    // Pieces of seven rounds.
    priceSeries: [hourly(40, (hour) => 2_000 + (hour % 3))],
    untilSeconds: until(39),
  }
  await new Play(inputOf(playing, listener)).run()
  expect(counts).toEqual([1, 39])
})
