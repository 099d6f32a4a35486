import { describe, expect, test } from 'vitest'
import { badHours, liveYear } from '../support/worlds/year.ts'

const FILE = 'test/property/simulated-year.test.ts'
/** More years for a longer search: SIMULATED_YEARS=50, or `npm run worlds`. */
const YEARS = Number(process.env['SIMULATED_YEARS'] ?? 1)

describe('a year of six strategies with a few bad hours each day', () => {
  for (let seed = 1; seed <= YEARS; seed += 1) {
    test(`breaks no promise in year ${seed} (to replay it: vitest run ${FILE} -t "in year ${seed} ")`, async () => {
      const { wrongs, tally } = await liveYear(seed)
      expect(wrongs).toEqual([])
      expect(tally.get('settlements')).toBeGreaterThan(200)
    }, 590_000)
  }
})

test('the same seed gives the same days, record by record', async () => {
  const [once, again] = [await badHours(2, 20), await badHours(2, 20)]
  expect(once.world.disk.written.length).toBeGreaterThan(300)
  expect(again.world.disk.written).toEqual(once.world.disk.written)
}, 120_000)
