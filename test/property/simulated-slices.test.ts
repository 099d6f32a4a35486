import { describe, expect, test } from 'vitest'
import { sumOf } from '../support/simulations/run-result.ts'
import { runSlices } from '../support/simulations/slices.ts'

/** More simulations for a longer search: SIMULATIONS=500, or `npm run simulations`. */
const SEEDS = Number(process.env['SIMULATIONS'] ?? 3)

describe('a TWAP schedule with faults', () => {
  const tallies: ReadonlyMap<string, number>[] = []
  const seeds = Array.from({ length: SEEDS }, (_each, index) => index + 1)
  test.each(seeds)(
    'sells its total except the reported rest, and never more (seed %i)',
    async (seed) => {
      const { violations, tally } = await runSlices(seed)
      expect(violations).toEqual([])
      tallies.push(tally)
    },
  )

  test('sells and reports how it ended', () => {
    expect(tallies).toHaveLength(SEEDS)
    expect(sumOf(tallies, 'settlements')).toBeGreaterThan(3 * SEEDS)
    const ends = sumOf(tallies, 'sold out') + sumOf(tallies, 'reported unsold')
    expect(ends).toBeGreaterThan(SEEDS / 2)
  })
})
