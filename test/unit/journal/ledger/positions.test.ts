import { describe, expect, test } from 'vitest'
import type { Token } from '../../../../src/domain/money/token.ts'
import { type CostMethod, Positions } from '../../../../src/journal/ledger/positions.ts'
import { DAI, USDC, WETH } from './entries.ts'

/** Applies trades in base units, in order; returns the profit of each and a function that reads a position. */
function positionsAfter(
  method: CostMethod,
  ...trades: readonly (readonly [paid: bigint, Token, received: bigint, Token])[]
) {
  const positions = new Positions(method, USDC)
  const profits = trades.map(([paid, sell, received, buy]) =>
    positions.take({ sell, buy, paid, received }),
  )
  const of = (token: Token) => {
    const { held, cost, heldOfUnknownCost } = positions.positions.find(
      (each) => each.token === token,
    ) ?? { held: 0n, cost: 0n, heldOfUnknownCost: 0n }
    return { held, cost, unknown: heldOfUnknownCost }
  }
  return { profits, of, ...positions.profit }
}

const BOUGHT_TWICE = [
  [100n, USDC, 10n, WETH],
  [300n, USDC, 10n, WETH],
] as const

test('a purchase with the value token costs the paid amount and realises nothing', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits, of } = positionsAfter(method, ...BOUGHT_TWICE)
    expect(profits).toEqual([0n, 0n])
    expect(of(WETH)).toEqual({ held: 20n, cost: 400n, unknown: 0n })
  }
})

test('FIFO sells the oldest purchase first, the average method a share of all', () => {
  const fifo = positionsAfter('fifo', ...BOUGHT_TWICE, [15n, WETH, 600n, USDC])
  expect(fifo.profits.at(-1)).toBe(600n - 100n - 150n)
  expect(fifo.of(WETH)).toEqual({ held: 5n, cost: 150n, unknown: 0n })

  const average = positionsAfter('average', ...BOUGHT_TWICE, [15n, WETH, 600n, USDC])
  expect(average.profits.at(-1)).toBe(600n - 300n)
  expect(average.of(WETH)).toEqual({ held: 5n, cost: 100n, unknown: 0n })
})

test('a sale below its cost is a loss', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits } = positionsAfter(method, ...BOUGHT_TWICE, [20n, WETH, 250n, USDC])
    expect(profits.at(-1)).toBe(-150n)
  }
})

test('an exchange for another token realises nothing and carries the cost over', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits, of } = positionsAfter(
      method,
      [100n, USDC, 10n, WETH],
      [4n, WETH, 90n, DAI],
      [45n, DAI, 50n, USDC],
    )
    expect(of(WETH)).toEqual({ held: 6n, cost: 60n, unknown: 0n })
    expect(of(DAI)).toEqual({ held: 45n, cost: 20n, unknown: 0n })
    expect(profits).toEqual([0n, 0n, 30n])
  }
})

describe('an earlier holding', () => {
  test('has no known cost: its proceeds are reported separately and are not profit', () => {
    const { profits, proceedsOfUnknownCost, of } = positionsAfter('fifo', [10n, WETH, 500n, USDC])
    expect(profits).toEqual([0n])
    expect(proceedsOfUnknownCost).toBe(500n)
    expect(of(WETH)).toEqual({ held: 0n, cost: 0n, unknown: 0n })
  })

  test('is sold after recorded purchases, for its share of the proceeds', () => {
    for (const method of ['fifo', 'average'] as const) {
      const { profits, proceedsOfUnknownCost } = positionsAfter(
        method,
        [100n, USDC, 10n, WETH],
        [40n, WETH, 1_000n, USDC],
      )
      expect(profits.at(-1)).toBe(250n - 100n)
      expect(proceedsOfUnknownCost).toBe(750n)
    }
  })

  test('keeps its share without a cost when it is exchanged', () => {
    const { of, proceedsOfUnknownCost, profits } = positionsAfter(
      'fifo',
      [100n, USDC, 10n, WETH],
      [40n, WETH, 80n, DAI],
      [80n, DAI, 400n, USDC],
    )
    // A quarter of the WETH had a cost, and so has a quarter of the DAI.
    expect(of(DAI)).toEqual({ held: 0n, cost: 0n, unknown: 0n })
    expect(profits.at(-1)).toBe(100n - 100n)
    expect(proceedsOfUnknownCost).toBe(300n)
  })
})

describe('a purchase paid with tokens that were not bought here', () => {
  const worth = { token: USDC.address, price: { num: 2n, den: 1n } }
  const taken = (method: CostMethod, ...trades: Parameters<Positions['take']>[0][]) => {
    const positions = new Positions(method, USDC)
    const profits = trades.map((trade) => positions.take(trade))
    return { profits, positions: positions.positions, ...positions.profit }
  }
  const bought = { sell: USDC, buy: WETH, paid: 100n, received: 10n }
  const byDai = { sell: DAI, buy: WETH, paid: 70n, received: 10n }
  const sold = (paid: bigint) => ({ sell: WETH, buy: USDC, paid, received: paid * 20n })

  test('costs their value by the feeds at signing, which counts as proceeds of unknown cost', () => {
    for (const method of ['fifo', 'average'] as const) {
      const { positions, profits, proceedsOfUnknownCost } = taken(method, { ...byDai, worth })
      expect(profits).toEqual([0n])
      expect(proceedsOfUnknownCost).toBe(140n)
      expect(positions).toMatchObject([
        { token: DAI, held: 0n },
        { token: WETH, held: 10n, cost: 140n, heldOfUnknownCost: 0n, paidWith: [] },
      ])
    }
  })

  test('has its place in first in, first out', () => {
    const valued = { ...byDai, worth }
    const { profits } = taken('fifo', valued, bought, sold(10n), sold(10n))
    expect(profits.slice(2)).toEqual([200n - 140n, 200n - 100n])
    // Of unknown cost: the same place, and no profit.
    const unknown = taken('fifo', byDai, bought, sold(10n), sold(10n))
    expect(unknown.profits.slice(2)).toEqual([0n, 200n - 100n])
    expect(unknown.proceedsOfUnknownCost).toBe(200n)
    const average = taken('average', byDai, bought, sold(10n))
    expect(average.profits[2]).toBe(100n - 50n)
    expect(average.positions).toMatchObject([{}, { held: 5n, cost: 50n, heldOfUnknownCost: 5n }])
  })

  test('is held at unknown cost without a recorded price, or with one in another token', () => {
    const other = { token: DAI.address, price: worth.price }
    for (const method of ['fifo', 'average'] as const)
      for (const recorded of [undefined, other]) {
        const trades = [bought, { ...byDai, worth: recorded }]
        const { positions, proceedsOfUnknownCost } = taken(method, ...trades)
        const [weth] = positions
        expect(weth).toMatchObject({ held: 10n, cost: 100n, heldOfUnknownCost: 10n })
        expect(weth?.paidWith).toEqual(['DAI'])
        expect(proceedsOfUnknownCost).toBe(0n)
      }
  })

  test('keeps the tokens that first paid for it across exchanges, until it is sold', () => {
    const onwards = { sell: WETH, buy: USDC, paid: 10n, received: 60n }
    const back = { sell: WETH, buy: DAI, paid: 10n, received: 71n }
    for (const method of ['fifo', 'average'] as const) {
      const { positions } = taken(method, byDai, back)
      expect(positions).toMatchObject([
        { token: DAI, heldOfUnknownCost: 71n, paidWith: ['DAI'] },
        { token: WETH, heldOfUnknownCost: 0n, paidWith: [] },
      ])
      expect(taken(method, byDai, onwards).proceedsOfUnknownCost).toBe(60n)
    }
  })

  test('is valued only for the part that was not bought here', () => {
    const daiBought = { sell: USDC, buy: DAI, paid: 50n, received: 35n }
    for (const method of ['fifo', 'average'] as const) {
      const { positions, proceedsOfUnknownCost } = taken(method, daiBought, { ...byDai, worth })
      expect(positions.at(-1)).toMatchObject({ held: 10n, cost: 50n + 70n, heldOfUnknownCost: 0n })
      expect(proceedsOfUnknownCost).toBe(70n)
    }
  })
})

test('a part of a cost rounds against us, and the parts add up exactly', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits, of } = positionsAfter(
      method,
      [10n, USDC, 3n, WETH],
      [1n, WETH, 10n, USDC],
      [1n, WETH, 10n, USDC],
    )
    // The exact cost would be 6 2/3 each.
    expect(profits.slice(1)).toEqual([6n, 7n])
    expect(of(WETH)).toEqual({ held: 1n, cost: 3n, unknown: 0n })
    const { profits: all } = positionsAfter(
      method,
      [10n, USDC, 3n, WETH],
      [1n, WETH, 10n, USDC],
      [1n, WETH, 10n, USDC],
      [1n, WETH, 10n, USDC],
    )
    expect(all.reduce((sum, each) => sum + each, 0n)).toBe(20n)
  }
})

test('proceeds of a partial cost round down, and the rest has unknown cost', () => {
  const { profits, proceedsOfUnknownCost } = positionsAfter(
    'fifo',
    [1n, USDC, 1n, WETH],
    [3n, WETH, 10n, USDC],
  )
  expect(profits.at(-1)).toBe(3n - 1n)
  expect(proceedsOfUnknownCost).toBe(7n)
})

test('a cost below one base unit moves from token to token until it is sold', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { of, profits } = positionsAfter(
      method,
      [5n, USDC, 1n, WETH],
      [2n, WETH, 1n, DAI],
      [1n, DAI, 1n, WETH],
      [1n, WETH, 4n, USDC],
    )
    expect(of(WETH).cost + of(DAI).cost).toBe(0n)
    expect(profits.at(-1)).toBe(-5n)
  }
})
