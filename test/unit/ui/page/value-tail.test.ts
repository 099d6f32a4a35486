import { expect, test } from 'vitest'
import { createRandom } from '../../../../src/domain/random.ts'
import { ValueTail, withTail } from '../../../../src/ui/page/client/data/holdings-series.ts'
import type { Overview } from '../../../../src/ui/page/model.ts'
import { fullOverview } from '../../../support/page/page-overview.ts'

const SEEN = fullOverview(
  { fills: 0, orders: 0 },
  { strategies: [], nowMs: 0, random: createRandom('tail') },
)

function seen(atSeconds: number, part: Partial<Overview> = {}): Overview {
  return { ...SEEN, atMs: atSeconds * 1_000 + 400, readAtMs: atSeconds * 1_000, ...part }
}

const SERIES = {
  valueToken: 'USDC',
  atSeconds: [100, 700],
  value: [10, null],
  tokens: [
    { token: 'USDC', amounts: [1, 2] },
    { token: 'GONE', amounts: [5, 6] },
  ],
}

test('values seen after the last sample extend the curve, and none appears twice', () => {
  const tail = new ValueTail()
  for (const atSeconds of [690, 700, 710]) tail.add(seen(atSeconds))
  const { atSeconds, value, tokens } = withTail(SERIES, tail.points)
  expect(atSeconds).toEqual([100, 700, 710])
  expect(value).toEqual([10, null, 12_048.331905])
  const amounts = Object.fromEntries(tokens.map((one) => [one.token, one.amounts]))
  expect(amounts['USDC']).toEqual([1, 2, 5_651.201188])
  expect(amounts['GONE']).toEqual([5, 6, null])
  expect(amounts['AERO']).toEqual([null, null, 1_250.25])
})

test('one point per ten seconds is kept for two hours, and after them the newest reading', () => {
  const tail = new ValueTail()
  for (let atSeconds = 0; atSeconds < 20_000; atSeconds += 1) tail.add(seen(atSeconds))
  expect(tail.points).toHaveLength(720)
  expect(tail.points.slice(-3).map(({ atSeconds }) => atSeconds)).toEqual([19_980, 19_990, 19_999])
})

test('while nothing is read, the curve does not go on', () => {
  const tail = new ValueTail()
  tail.add(seen(700))
  for (let later = 1; later < 900; later += 1) tail.add(seen(700 + later, { readAtMs: 700_400 }))
  expect(tail.points.map(({ atSeconds }) => atSeconds)).toEqual([700])
})

test('an unknown value is no point of zero', () => {
  const tail = new ValueTail()
  tail.add(seen(0, { readAtMs: null }))
  expect(tail.points).toEqual([])
  tail.add(seen(0, { totalValue: null }))
  expect(tail.points[0]?.value).toBeNull()
})

test('a curve without later values is unchanged', () => {
  expect(withTail(SERIES, [])).toBe(SERIES)
})
