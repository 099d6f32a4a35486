import { expect, test } from 'vitest'
import { againstFeedBps } from '../../../src/domain/money/price.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'

/** 2,500 USDC (6 decimals) for one WETH (18). */
const FEED = { num: 2_500_000_000n, den: 10n ** 18n }
const WETH = 10n ** 18n

function against(received: bigint, paid = 2_500_000_000n): number | undefined {
  return againstFeedBps({ paid: baseUnits(paid), received: baseUnits(received), feed: FEED })
}

test('a fill at the price of the feed is neither better nor worse', () => {
  expect(against(WETH)).toBe(0)
})

test('more than the feed gives is above zero, less below, in basis points', () => {
  expect(against((WETH * 10_030n) / 10_000n)).toBe(30)
  expect(against((WETH * 9_970n) / 10_000n)).toBe(-30)
  expect(against((WETH * 10_000_55n) / 10_000_00n)).toBe(0.55)
})

test('what is smaller than a hundredth is rounded against us', () => {
  expect(against(WETH + 1n)).toBe(0)
  expect(against(WETH - 1n)).toBe(-0.01)
})

test('without a price, or without a payment, nothing is compared', () => {
  const nothing = { paid: baseUnits(0n), received: baseUnits(5n), feed: FEED }
  expect(againstFeedBps(nothing)).toBeUndefined()
  expect(againstFeedBps({ ...nothing, paid: baseUnits(7n), feed: undefined })).toBeUndefined()
})
