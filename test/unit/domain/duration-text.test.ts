import { expect, test } from 'vitest'
import { durationText, roughDurationText } from '../../../src/domain/text/duration.ts'

test.each([
  [-1, '0s'],
  [0, '0s'],
  [499, '0s'],
  [999, '1s'],
  [1_400, '1s'],
  [4_000, '4s'],
  [65_000, '1m 5s'],
  [185_000, '3m 5s'],
  [3_605_000, '1h'],
  [7_200_000, '2h'],
  [7_500_000, '2h 5m'],
  [90_000_000, '1d 1h'],
  [209_000_000, '2d 10h'],
  [260_000_000, '3d'],
])('%s ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

test('a rough duration shows only its largest unit', () => {
  const texts = [400, 59_000, 3_600_000, 130_000_000, 200_000_000].map(roughDurationText)
  expect(texts).toEqual(['0s', '59s', '1h', '1d', '2d'])
})
