import { describe, expect, test } from 'vitest'
import { runLimits } from '../support/simulations/limits.ts'
import { sumOf } from '../support/simulations/run-result.ts'

/** More simulations for a longer search: SIMULATIONS=500, or `npm run simulations`. */
const SEEDS = Number(process.env['SIMULATIONS'] ?? 3)

describe('days of orders that reach their caps', () => {
  const tallies: ReadonlyMap<string, number>[] = []
  const seeds = Array.from({ length: SEEDS }, (_each, index) => index + 1)
  test.each(seeds)('exceed no cap of any window (seed %i)', async (seed) => {
    const { violations, tally } = await runLimits(seed)
    expect(violations).toEqual([])
    tallies.push(tally)
  })

  // Every cap must have refused some order, otherwise it was not tested.
  test.each(['per-hour', 'per-day', 'account-per-hour', 'account-per-day'])(
    'skip an order for the cap %s',
    (cap) => {
      expect(tallies).toHaveLength(SEEDS)
      expect(sumOf(tallies, `skipped limit-${cap}`)).toBeGreaterThan(0)
    },
  )
})
