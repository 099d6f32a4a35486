import { describe, expect, test } from 'vitest'
import { runCalls } from '../support/simulations/calls.ts'
import { sumOf } from '../support/simulations/run-result.ts'

/** More simulations for a longer search: SIMULATIONS=500, or `npm run simulations`. */
const SEEDS = Number(process.env['SIMULATIONS'] ?? 3)

describe('a day of calls with faults', () => {
  const tallies: ReadonlyMap<string, number>[] = []
  const seeds = Array.from({ length: SEEDS }, (_each, index) => index + 1)
  test.each(seeds)('executes no call twice and accounts for each (seed %i)', async (seed) => {
    const { violations, tally } = await runCalls(seed)
    expect(violations).toEqual([])
    tallies.push(tally)
  })

  test('executes calls', () => {
    expect(tallies).toHaveLength(SEEDS)
    expect(sumOf(tallies, 'calls')).toBeGreaterThan(3 * SEEDS)
  })
})
