import { describe, expect, test } from 'vitest'
import { dayOfSwaps, liveDay, liveDayAlone } from '../support/worlds/day.ts'
import { type Lived, sumOf } from '../support/worlds/lived.ts'

const FILE = 'test/property/simulated-faults.test.ts'
/** More simulations for a longer search: SIMULATED_WORLDS=500, or `npm run worlds`. */
const SEEDS = Number(process.env['SIMULATED_WORLDS'] ?? 3)

describe('a day of swaps with faults', () => {
  const tallies: ReadonlyMap<string, number>[] = []
  const days = new Map<number, Promise<Lived>>()
  const livedOnce = (seed: number): Promise<Lived> => {
    const lived = days.get(seed) ?? liveDay(seed)
    days.set(seed, lived)
    return lived
  }
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    test(`holds every invariant in day ${seed} of the swaps (to replay it: vitest run ${FILE} -t "day ${seed} ")`, async () => {
      const { wrongs, tally } = await livedOnce(seed)
      expect(wrongs).toEqual([])
      tallies.push(tally)
    })
  }

  // Regressions: orders in flight were taken for foreign payments, in 48 and 57 by shared settlements, in 97 by their sizes.
  for (const seed of [48, 57, 97])
    test(`finds no unexplained payment in day ${seed}, in which only the daemon uses the wallet`, async () => {
      expect((await liveDayAlone(seed)).wrongs).toEqual([])
    })

  test('fills orders', () => {
    expect(tallies).toHaveLength(SEEDS)
    expect(sumOf(tallies, 'settlements')).toBeGreaterThan(10 * SEEDS)
  })

  test('repeats the same run from the same seed, byte for byte', async () => {
    const first = (await livedOnce(2)).world.disk.written
    const second = (await dayOfSwaps(2)).world.disk.written
    expect(second.length).toBeGreaterThan(100)
    expect(second).toEqual(first.slice(0, second.length))
  })
})
