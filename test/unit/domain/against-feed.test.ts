import { expect, test } from 'vitest'
import { againstFeedBps } from '../../../src/domain/money/price.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'

/** 2,500 USDC (6 decimals) for one WETH (18). */
const FEED = { num: 2_500_000_000n, den: 10n ** 18n }
const WETH = 10n ** 18n

function against(received: bigint, paid = 2_500_000_000n): number | undefined {
  return againstFeedBps({ paid: baseUnits(paid), received: baseUnits(received), feed: FEED })
}

test('a fill at the feed price differs by zero', () => {
  expect(against(WETH)).toBe(0)
})

test('a better price than the feed is positive and a worse one negative, in basis points', () => {
  expect(against((WETH * 10_030n) / 10_000n)).toBe(30)
  expect(against((WETH * 9_970n) / 10_000n)).toBe(-30)
  expect(against((WETH * 10_000_55n) / 10_000_00n)).toBe(0.55)
})

test('fractions below a hundredth of a basis point round against us', () => {
  expect(against(WETH + 1n)).toBe(0)
  expect(against(WETH - 1n)).toBe(-0.01)
})

test('without a price or a payment there is no comparison', () => {
  const nothing = { paid: baseUnits(0n), received: baseUnits(5n), feed: FEED }
  expect(againstFeedBps(nothing)).toBeUndefined()
  expect(againstFeedBps({ ...nothing, paid: baseUnits(7n), feed: undefined })).toBeUndefined()
})
