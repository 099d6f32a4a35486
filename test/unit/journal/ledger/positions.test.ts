import { describe, expect, test } from 'vitest'
import type { Token } from '../../../../src/domain/money/token.ts'
import { type CostMethod, Positions } from '../../../../src/journal/ledger/positions.ts'
import { DAI, USDC, WETH } from './entries.ts'

/** Trades one after the other, of base units as they are written; what each realised, and how it stands then. */
function book(
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

test('what is bought with the value token costs what was paid, and nothing is realised', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits, of } = book(method, ...BOUGHT_TWICE)
    expect(profits).toEqual([0n, 0n])
    expect(of(WETH)).toEqual({ held: 20n, cost: 400n, unknown: 0n })
  }
})

test('first in first out gives up what was bought first, the average a share of all', () => {
  const fifo = book('fifo', ...BOUGHT_TWICE, [15n, WETH, 600n, USDC])
  expect(fifo.profits.at(-1)).toBe(600n - 100n - 150n)
  expect(fifo.of(WETH)).toEqual({ held: 5n, cost: 150n, unknown: 0n })

  const average = book('average', ...BOUGHT_TWICE, [15n, WETH, 600n, USDC])
  expect(average.profits.at(-1)).toBe(600n - 300n)
  expect(average.of(WETH)).toEqual({ held: 5n, cost: 100n, unknown: 0n })
})

test('a sale below its cost is a loss', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits } = book(method, ...BOUGHT_TWICE, [20n, WETH, 250n, USDC])
    expect(profits.at(-1)).toBe(-150n)
  }
})

test('an exchange for another token realises nothing: its cost goes over with what was given up', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits, of } = book(
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

describe('what was held before', () => {
  test('has no known cost: what it brings is told apart and is no profit', () => {
    const { profits, proceedsOfUnknownCost, of } = book('fifo', [10n, WETH, 500n, USDC])
    expect(profits).toEqual([0n])
    expect(proceedsOfUnknownCost).toBe(500n)
    expect(of(WETH)).toEqual({ held: 0n, cost: 0n, unknown: 0n })
  })

  test('is drawn on after what was bought, by its share of what a sale brings', () => {
    for (const method of ['fifo', 'average'] as const) {
      const { profits, proceedsOfUnknownCost } = book(
        method,
        [100n, USDC, 10n, WETH],
        [40n, WETH, 1_000n, USDC],
      )
      expect(profits.at(-1)).toBe(250n - 100n)
      expect(proceedsOfUnknownCost).toBe(750n)
    }
  })

  test('stays without a cost when it is exchanged, as large a part of it as was without one', () => {
    const { of, proceedsOfUnknownCost, profits } = book(
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

test('a part of a cost is rounded against us, and no base unit of it is lost', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { profits, of } = book(
      method,
      [10n, USDC, 3n, WETH],
      [1n, WETH, 10n, USDC],
      [1n, WETH, 10n, USDC],
    )
    // Exact would be 6 2/3 each.
    expect(profits.slice(1)).toEqual([6n, 7n])
    expect(of(WETH)).toEqual({ held: 1n, cost: 3n, unknown: 0n })
    const { profits: all } = book(
      method,
      [10n, USDC, 3n, WETH],
      [1n, WETH, 10n, USDC],
      [1n, WETH, 10n, USDC],
      [1n, WETH, 10n, USDC],
    )
    expect(all.reduce((sum, each) => sum + each, 0n)).toBe(20n)
  }
})

test('what was proceeds of a part is rounded down, the rest is told as of unknown cost', () => {
  const { profits, proceedsOfUnknownCost } = book(
    'fifo',
    [1n, USDC, 1n, WETH],
    [3n, WETH, 10n, USDC],
  )
  expect(profits.at(-1)).toBe(3n - 1n)
  expect(proceedsOfUnknownCost).toBe(7n)
})

test('a cost of less than a base unit goes from token to token until it is sold, and is not lost', () => {
  for (const method of ['fifo', 'average'] as const) {
    const { of, profits } = book(
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
