import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ModuleView } from '../../src/domain/module.ts'
import { createRandom } from '../../src/domain/random.ts'
import { ACCOUNT, USDC, WETH } from '../simulation/stage.ts'
import { aTape, FREE, played, YEAR_BEGINS } from '../support/backtest/playing.ts'
import {
  aCustomStrategy,
  aSchedule,
  aStrategy,
  BUY_WETH,
  capOf,
  OPEN,
  SELL_USDC,
  usdc,
} from '../support/builders.ts'
import { aRebalance, aThreshold, usdcPerWeth } from '../support/market-view.ts'

const HOUR = 3_600
const HOURS = 240
const account = { ...ACCOUNT, perOrder: new Map(), perDay: new Map() }
type Rounds = readonly (readonly [number, number])[]

/** One strategy of each kind that depends on prices. */
const KINDS = [
  aStrategy({
    name: 'dips',
    size: { side: 'sell', amount: usdc(2) },
    dips: [{ dropBps: 100, amount: usdc(5) }],
    dipWindowMs: 24 * HOUR * 1000,
    limits: { ...OPEN, perDay: capOf(USDC, usdc(60)) },
  }),
  aThreshold(
    [
      { id: 'a', trigger: { type: 'above', level: usdcPerWeth(251_000n) }, size: share(2_000) },
      { id: 't', trigger: { type: 'trailing', bps: 100 }, size: share(1_000) },
    ],
    { schedule: aSchedule('*/10 * * * *'), sell: BUY_WETH, buy: SELL_USDC, rearmBps: 50 },
  ),
  aRebalance({ schedule: aSchedule('30 * * * *'), bandBps: 100, minTrade: usdc(1) }),
]

function share(bps: number) {
  return { type: 'share', bps } as const
}

/** Opened slots and fills up to a second. Skipped slots are left out, because they are reported later. */
async function doneUntil(rounds: Rounds, seconds: number): Promise<readonly string[]> {
  const { lines } = await played({
    ...{ strategies: KINDS, priceSeries: [aTape(rounds)], account },
    ...{ usdc: usdc(5_000), weth: 10n ** 18n, model: { ...FREE, fillSeconds: 30 } },
    untilSeconds: YEAR_BEGINS + HOURS * HOUR,
  })
  return lines.filter((line) => {
    const [, at] = /^\S+ (\d+) (?:opened|filled)/.exec(line) ?? []
    return at !== undefined && Number(at) <= seconds
  })
}

test('later prices change no earlier decision and no earlier fill', async () => {
  const steps = fc.array(fc.integer({ min: -120, max: 120 }), { minLength: 20, maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(steps, steps, fc.integer({ min: 1, max: HOURS }), async (one, other, hour) => {
      const border = YEAR_BEGINS + hour * HOUR
      let price = 2_500
      const rounds = Array.from({ length: HOURS * 6 }, (_, index) => {
        const at = YEAR_BEGINS + index * 600
        const all = at <= border ? one : other
        price *= 1 + (all[index % all.length] ?? 0) / 10_000
        return [at, price] as const
      })
      const kept = rounds.map(([at, each]) => [at, at <= border ? each : each * 3 + 7] as const)
      const before = await doneUntil(rounds, border)
      expect(await doneUntil(kept, border)).toEqual(before)
    }),
    { numRuns: 15 },
  )
})

/** Price at random 2,200 or 2,000 each hour, so a trader who knows the next price multiplies the wallet. */
function coinMarket(): Rounds {
  const random = createRandom('coins')
  return Array.from({ length: HOURS + 1 }, (_, hour) => {
    return [YEAR_BEGINS + hour * HOUR, random.chance(0.5) ? 2_200 : 2_000] as const
  })
}

/** Holds WETH when it expects the higher price next, otherwise USDC. */
function greedy(next: (view: ModuleView) => number) {
  return ({ balances, ...view }: ModuleView): unknown => {
    const [sell, buy] = next({ balances, ...view }) > 2_100 ? ['USDC', 'WETH'] : ['WETH', 'USDC']
    const amount = balances[sell]?.amount ?? 0n
    return amount > 1_000n ? { orders: [{ sell, buy, amount }] } : { skip: 'it holds that already' }
  }
}

/** Final value of 1,000 USDC in whole USDC, and the time of each price in each view. */
async function outcomeOf(next: (view: ModuleView) => number) {
  const rounds = coinMarket()
  const seen: (readonly [slot: number, updatedAt: number])[] = []
  const module = greedy(next)
  const { play } = await played({
    ...{
      strategies: [aCustomStrategy()],
      priceSeries: [aTape(rounds)],
      usdc: usdc(1_000),
      account,
    },
    untilSeconds: YEAR_BEGINS + HOURS * HOUR,
    model: FREE,
    modules: {
      versionOf: () => '1',
      decide(_, view) {
        for (const { updatedAtSeconds } of Object.values(view.prices))
          seen.push([view.slotSeconds, updatedAtSeconds])
        return Promise.resolve({ ok: true, value: module(view) })
      },
    },
  })
  const { wallet } = play.sim
  const weth = Number(wallet.of(WETH.address)) / 1e18
  return { value: Number(wallet.of(USDC.address)) / 1e6 + weth * 2_000, seen }
}

test('a strategy that needs the next price wins only with an oracle, not with the data in its view', async () => {
  const rounds = new Map(coinMarket())
  const oracle = await outcomeOf(({ slotSeconds }) => rounds.get(slotSeconds + HOUR) ?? 0)
  expect(oracle.value).toBeGreaterThan(50_000)

  // Tries everything in the view as the next price: the newest price of both pairs and earlier prices.
  const prices: number[] = []
  const cheat = await outcomeOf(({ prices: shown, memory, nowSeconds }) => {
    for (const [pair, { num, den }] of Object.entries(shown)) {
      const ratio = (Number(num) / Number(den)) * (pair.startsWith('USDC/') ? 1e12 : 1e-12)
      prices.push(pair.startsWith('USDC/') ? ratio : 1 / ratio)
    }
    expect([Object.keys(memory), nowSeconds % HOUR]).toEqual([[], 0])
    return prices.at(-1) ?? 0
  })
  expect(prices.length).toBeGreaterThan(HOURS)
  expect(cheat.value).toBeLessThan(1_500)
  expect(cheat.seen.every(([slot, updatedAt]) => updatedAt <= slot)).toBe(true)
})
