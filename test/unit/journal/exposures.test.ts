import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import {
  addExposure,
  type Exposure,
  type ExposureTotals,
  liveSum,
  mergeUsed,
  oldestUsedAfter,
  removeExposure,
  removeOldest,
  usedSumAfter,
  whenUsedSumFits,
} from '../../../src/journal/projections/exposures.ts'
import { USDC, WETH } from '../../simulation/stage.ts'

const MINUTE_MS = 60_000
const START_MS = 1_800_000_000_000

const used: fc.Arbitrary<Exposure> = fc.record({
  strategy: fc.constantFrom('alpha', 'beta'),
  token: fc.constantFrom(USDC.address, WETH.address),
  amount: fc.bigInt({ min: 1n, max: 1_000n }).map(baseUnits),
  atMs: fc.integer({ min: 0, max: 5 * MINUTE_MS }).map((ms) => START_MS + ms),
  live: fc.constant(false),
})

function emptyExposures(): ExposureTotals {
  return { exposures: new Map() }
}

describe('merged exposures of used permits', () => {
  test('sum to at least the separate exposures, and outlast them by at most a minute', () => {
    const exposures = fc.array(used, { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(exposures, fc.nat(6 * MINUTE_MS), fc.boolean(), (all, afterStart, isOfOne) => {
        const [single, together] = [emptyExposures(), emptyExposures()]
        for (const [index, exposure] of all.entries()) {
          addExposure(single, `order ${index}`, exposure)
          addExposure(together, `order ${index}`, exposure)
          mergeUsed(together, `order ${index}`)
        }
        for (const token of [USDC.address, WETH.address]) {
          const query = { token, strategy: isOfOne ? 'alpha' : undefined }
          const afterMs = START_MS + afterStart
          const sum = usedSumAfter(together, { ...query, afterMs })
          expect(sum).toBeGreaterThanOrEqual(usedSumAfter(single, { ...query, afterMs }))
          const before = { ...query, afterMs: afterMs - MINUTE_MS }
          expect(sum).toBeLessThanOrEqual(usedSumAfter(single, before))
        }
      }),
    )
  })

  test('take one entry per minute', () => {
    const projection = emptyExposures()
    for (let second = 0; second < 3_600; second += 1) {
      const atMs = START_MS + second * 1_000
      const exposure = { strategy: 'alpha', token: USDC.address, amount: baseUnits(5n), atMs }
      addExposure(projection, `order ${second}`, { ...exposure, live: false })
      mergeUsed(projection, `order ${second}`)
    }
    expect(projection.exposures.size).toBe(60)
    const all = { token: USDC.address, afterMs: START_MS - 1 }
    expect(usedSumAfter(projection, all)).toBe(18_000n)
    expect(usedSumAfter(projection, { ...all, afterMs: START_MS + 3_600_000 })).toBe(0n)
  })

  test('exclude live permits', () => {
    const projection = emptyExposures()
    const exposure = { strategy: 'alpha', token: USDC.address, amount: baseUnits(5n), atMs: 1 }
    addExposure(projection, 'alpha:1:0:1', { ...exposure, live: true })
    mergeUsed(projection, 'alpha:1:0:1')
    expect([...projection.exposures.keys()]).toEqual(['alpha:1:0:1'])
  })
})

/** All that caps ask of exposures. */
function answersOf(totals: ExposureTotals, afterMs: number, room: bigint) {
  return [USDC.address, WETH.address].flatMap((token) =>
    [undefined, 'alpha', 'beta'].map((strategy) => ({
      live: liveSum(totals, token, strategy),
      used: usedSumAfter(totals, { token, strategy, afterMs }),
      oldest: oldestUsedAfter(totals, { token, strategy, afterMs }),
      fits: whenUsedSumFits(totals, { token, strategy, room }),
    })),
  )
}

describe('sums of exposures', () => {
  test('stay those of a count from the start, whatever is added, replaced, merged and removed', () => {
    const key = fc.integer({ min: 0, max: 12 }).map((index) => `order ${index}`)
    const changes = fc.array(
      fc.oneof(
        fc.tuple(key, used, fc.boolean()).map(
          ([at, exposure, live]) =>
            (totals: ExposureTotals) =>
              addExposure(totals, at, { ...exposure, live }),
        ),
        key.map((at) => (totals: ExposureTotals) => mergeUsed(totals, at)),
        key.map((at) => (totals: ExposureTotals) => removeExposure(totals, at)),
        fc.nat(5).map((minutes) => (totals: ExposureTotals) => {
          removeOldest(totals, ({ atMs }) => atMs < START_MS + minutes * MINUTE_MS)
        }),
      ),
      { minLength: 1, maxLength: 60 },
    )
    fc.assert(
      fc.property(changes, fc.nat(6 * MINUTE_MS), fc.bigInt(0n, 2_000n), (all, after, room) => {
        const totals = emptyExposures()
        for (const change of all) {
          change(totals)
          const again = { exposures: new Map(totals.exposures) }
          const afterMs = START_MS + after
          expect(answersOf(totals, afterMs, room)).toEqual(answersOf(again, afterMs, room))
        }
      }),
    )
  })

  test('hold while thousands of the oldest leave', () => {
    const totals = emptyExposures()
    const exposure = { strategy: 'alpha', token: USDC.address, live: false }
    for (let second = 0; second < 5_000; second += 1) {
      const atMs = START_MS + second * 1_000
      addExposure(totals, `order ${second}`, {
        ...exposure,
        amount: baseUnits(BigInt(second)),
        atMs,
      })
      removeOldest(totals, (each) => each.atMs <= atMs - 1_500_000)
      if (second % 250 > 0) continue
      const again = { exposures: new Map(totals.exposures) }
      expect(answersOf(totals, atMs - 700_000, 900_000n)).toEqual(
        answersOf(again, atMs - 700_000, 900_000n),
      )
    }
    expect(totals.exposures.size).toBe(1_500)
  })
})
