import { describe, expect, test } from 'vitest'
import { runLimits } from '../support/worlds/limits.ts'
import { sumOf } from '../support/worlds/run-result.ts'

/** More worlds for a longer search: SIMULATED_WORLDS=500, or `npm run worlds`. */
const SEEDS = Number(process.env['SIMULATED_WORLDS'] ?? 3)

describe('days of orders that caps are in the way of', () => {
  const tallies: ReadonlyMap<string, number>[] = []
  const seeds = Array.from({ length: SEEDS }, (_each, index) => index + 1)
  test.each(seeds)('pass no cap of any window, whatever happens (seed %i)', async (seed) => {
    const { violations, tally } = await runLimits(seed)
    expect(violations).toEqual([])
    tallies.push(tally)
  })

  // A cap that was never in the way would not have been tried.
  test.each(['per-hour', 'per-day', 'account-per-hour', 'account-per-day'])(
    'were kept from an order by the cap %s',
    (cap) => {
      expect(tallies).toHaveLength(SEEDS)
      expect(sumOf(tallies, `skipped limit-${cap}`)).toBeGreaterThan(0)
    },
  )
})
