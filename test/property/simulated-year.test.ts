import { expect, test } from 'vitest'
import { badHours, liveYear } from '../support/worlds/year.ts'

/** Of a year. `npm run worlds -- --kind year --seeds 1` lives through a whole one in a minute. */
const DAYS = 30

test('thirty days of six strategies with a few bad hours each day break no promise', async () => {
  const { wrongs, tally } = await liveYear(1, DAYS)
  expect(wrongs).toEqual([])
  expect(tally.get('settlements')).toBeGreaterThan(200)
})

test('the same seed gives the same days, record by record', async () => {
  const [once, again] = [await badHours(2, 8), await badHours(2, 8)]
  expect(once.world.disk.written.length).toBeGreaterThan(150)
  expect(again.world.disk.written).toEqual(once.world.disk.written)
})
