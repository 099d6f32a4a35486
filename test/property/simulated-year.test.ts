import { expect, test } from 'vitest'
import { badHours, liveYear } from '../support/worlds/year.ts'

/** Of a year. `npm run worlds -- --kind year --seeds 1` lives through a whole one in a minute. */
const DAYS = 14

test('two weeks of six strategies with a few bad hours each day break no promise', async () => {
  const { wrongs, tally } = await liveYear(1, DAYS)
  expect(wrongs).toEqual([])
  expect(tally.get('settlements')).toBeGreaterThan(100)
})

test('the same seed gives the same days, record by record', async () => {
  const [once, again] = [await badHours(2, 5), await badHours(2, 5)]
  expect(once.world.disk.written.length).toBeGreaterThan(150)
  expect(again.world.disk.written).toEqual(once.world.disk.written)
})
