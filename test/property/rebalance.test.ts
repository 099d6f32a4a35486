import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Token } from '../../src/domain/money/token.ts'
import { baseUnits, type Ratio } from '../../src/domain/money/units.ts'
import type { SwapIntent } from '../../src/domain/order/intent.ts'
import { decideRebalance } from '../../src/strategies/rebalance/rebalance-kind.ts'
import { settle } from '../../src/strategies/rebalance/settlement.ts'
import { USDC } from '../simulation/stage.ts'
import { aMarketView, aRebalance } from '../support/market-view.ts'

const BPS = 10_000n

function aToken(index: number, decimals: number): Token {
  const address = `0x${(0xb000 + index).toString(16).padStart(40, '0')}` as const
  return { symbol: `T${index}`, chain: 'base', chainId: 8453, address, decimals }
}

type Portfolio = {
  readonly tokens: readonly Token[]
  readonly prices: readonly Ratio[]
  readonly weights: readonly number[]
  readonly held: readonly bigint[]
}

/** USDC and one to four other tokens with random decimals, price, weight and amount. */
const portfolios: fc.Arbitrary<Portfolio> = fc
  .array(
    fc.record({
      decimals: fc.constantFrom(6, 8, 18),
      cents: fc.integer({ min: 1, max: 10_000_000 }),
      share: fc.integer({ min: 1, max: 100 }),
      cash: fc.bigInt({ min: 0n, max: 10n ** 12n }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .chain((others) =>
    fc.record({ cash: fc.bigInt({ min: 1_000_000n, max: 10n ** 12n }) }).map(({ cash }) => {
      const tokens = [USDC, ...others.map(({ decimals }, index) => aToken(index, decimals))]
      const prices: Ratio[] = [
        { num: 1n, den: 1n },
        ...others.map(({ cents, decimals }) => ({
          num: BigInt(cents) * 10n ** 4n,
          den: 10n ** BigInt(decimals),
        })),
      ]
      const shares = [50, ...others.map(({ share }) => share)]
      const all = shares.reduce((sum, share) => sum + share, 0)
      const weights = shares.map((share) => Math.max(1, Math.floor((share * 10_000) / all)))
      weights[0] = (weights[0] ?? 0) + 10_000 - weights.reduce((sum, weight) => sum + weight, 0)
      const held = [
        cash,
        ...others.map((other, index) => {
          const price = prices[index + 1] ?? { num: 1n, den: 1n }
          return (other.cash * price.den) / price.num
        }),
      ]
      return { tokens, prices, weights, held }
    }),
  )

function strategyOf({ tokens, weights }: Portfolio, to: 'edge' | 'target', bandBps: number) {
  const targets = tokens.map((token, index) => ({ token, weightBps: weights[index] ?? 0 }))
  return aRebalance({ targets, to, bandBps, minTrade: baseUnits(0n) })
}

function viewOf({ tokens, prices, held }: Portfolio) {
  return aMarketView({
    balances: new Map(tokens.map((token, index) => [token, held[index] ?? 0n])),
    prices: tokens.slice(1).map((buy, index) => ({
      sell: USDC,
      buy,
      ratio: prices[index + 1] ?? { num: 1n, den: 1n },
    })),
  })
}

function worthOf(portfolio: Portfolio, held: readonly bigint[], index: number): bigint {
  const { num, den } = portfolio.prices[index] ?? { num: 0n, den: 1n }
  return ((held[index] ?? 0n) * num) / den
}

function driftBps(portfolio: Portfolio, held: readonly bigint[]): number[] {
  const values = portfolio.tokens.map((_, index) => worthOf(portfolio, held, index))
  const total = values.reduce((sum, value) => sum + value, 0n)
  return values.map((value, index) => {
    const weight = Number((value * BPS * 1_000n) / (total === 0n ? 1n : total)) / 1_000
    return Math.abs(weight - (portfolio.weights[index] ?? 0))
  })
}

/** Balances after every order has traded at the feeds' prices. */
function traded(portfolio: Portfolio, intents: readonly SwapIntent[]): readonly bigint[] {
  const held = [...portfolio.held]
  for (const { sell, buy, size } of intents) {
    const from = portfolio.tokens.indexOf(sell.token)
    const to = portfolio.tokens.indexOf(buy.token)
    const paid = portfolio.prices[from] ?? { num: 0n, den: 1n }
    const got = portfolio.prices[to] ?? { num: 1n, den: 1n }
    held[from] = (held[from] ?? 0n) - size.amount
    held[to] = (held[to] ?? 0n) + (size.amount * paid.num * got.den) / (paid.den * got.num)
  }
  return held
}

test('a rebalance conserves value, trades nothing inside its band and ends within it', () => {
  fc.assert(
    fc.property(
      portfolios,
      fc.constantFrom('edge', 'target'),
      fc.integer({ min: 20, max: 2_000 }),
      (portfolio, to, bandBps) => {
        const decision = decideRebalance(strategyOf(portfolio, to, bandBps), viewOf(portfolio))
        const before = driftBps(portfolio, portfolio.held)
        if (decision.tag === 'skip') {
          expect(decision.reason).toBe('inside-band')
          expect(Math.max(...before)).toBeLessThanOrEqual(bandBps + 0.01)
          return
        }
        expect(Math.max(...before)).toBeGreaterThan(bandBps - 0.01)
        const intents = decision.intents.filter((intent) => intent.venue === 'gasless')
        const held = traded(portfolio, intents)
        for (const amount of held) expect(amount).toBeGreaterThanOrEqual(0n)
        const sum = (of: readonly bigint[]) =>
          portfolio.tokens.reduce((total, _, index) => total + worthOf(portfolio, of, index), 0n)
        // Value of one base unit of the coarsest token, for each side of each order.
        const unit = portfolio.prices.reduce((most, { num, den }) => {
          const worth = num / den + 1n
          return worth > most ? worth : most
        }, 1n)
        const slack = unit * BigInt(2 * intents.length + portfolio.tokens.length)
        expect(sum(held)).toBeLessThanOrEqual(sum(portfolio.held) + slack)
        expect(sum(held)).toBeGreaterThanOrEqual(sum(portfolio.held) - slack)
        const slackBps = Number((slack * BPS) / sum(portfolio.held)) + 0.5
        expect(Math.max(...driftBps(portfolio, held))).toBeLessThanOrEqual(bandBps + slackBps)
        const sold = new Set(intents.map(({ sell }) => sell.token))
        for (const { buy } of intents) expect(sold.has(buy.token)).toBe(false)
        expect(intents.length).toBeLessThan(portfolio.tokens.length)
      },
    ),
    { numRuns: 400 },
  )
})

test('a surplus below one base unit of a coarse token is not sold, so no order has amount zero', () => {
  const token = aToken(0, 0)
  const price = { num: 1_000n * 10n ** 6n, den: 1n }
  const portfolio = { tokens: [USDC, token], prices: [{ num: 1n, den: 1n }, price] }
  const ownedWith = (cash: bigint): Portfolio => ({
    ...{ ...portfolio, weights: [5_000, 5_000] },
    held: [cash * 10n ** 6n, 10n],
  })
  const decided = (cash: bigint) =>
    decideRebalance(strategyOf(ownedWith(cash), 'target', 100), viewOf(ownedWith(cash)))
  // A surplus worth 350 USDC is less than one whole token.
  expect(decided(9_300n)).toMatchObject({ tag: 'skip', reason: 'below-minimum' })
  expect(decided(7_900n)).toMatchObject({ tag: 'trade', intents: [{ size: { amount: 1n } }] })
})

/** Minimum number of transfers, by trying every partition of the members into groups with sum zero. */
function minimumTransfers(deltas: readonly bigint[]): number {
  const [first, ...rest] = deltas
  if (first === undefined) return 0
  let best = Number.POSITIVE_INFINITY
  for (let mask = 0; mask < 1 << rest.length; mask += 1) {
    const inside = rest.filter((_, index) => (mask & (1 << index)) !== 0)
    if (first + inside.reduce((sum, each) => sum + each, 0n) !== 0n) continue
    const outside = rest.filter((_, index) => (mask & (1 << index)) === 0)
    best = Math.min(best, inside.length + minimumTransfers(outside))
  }
  return best
}

test('balances are settled exactly with the minimum number of transfers', () => {
  const members = fc.array(fc.integer({ min: -6, max: 6 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(members, (small) => {
      const last = -small.reduce((sum, each) => sum + each, 0)
      const deltas = [...small, last].map(BigInt).filter((delta) => delta !== 0n)
      const transfers = settle(
        deltas.map((delta, member) => ({ member, delta })),
        0n,
      )
      const left = [...deltas]
      for (const { from, to, value } of transfers) {
        expect(value).toBeGreaterThan(0n)
        left[from] = (left[from] ?? 0n) - value
        left[to] = (left[to] ?? 0n) + value
      }
      expect(left.every((delta) => delta === 0n)).toBe(true)
      expect(transfers.length).toBe(minimumTransfers(deltas))
    }),
    { numRuns: 300 },
  )
})
