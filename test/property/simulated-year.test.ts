import { expect, test } from 'vitest'
import type { RunResult } from '../support/simulations/run-result.ts'
import { badHours, runYear } from '../support/simulations/year.ts'

/** Days simulated here. `npm run simulations -- --kind year --seeds 1` simulates a whole year in a minute. */
const DAYS = 14

let result: Promise<RunResult> | undefined
/** The two weeks, simulated once. */
function twoWeeks(): Promise<RunResult> {
  result ??= runYear(1, DAYS)
  return result
}

test('two weeks of six strategies with daily faults hold every invariant', async () => {
  const { violations, tally } = await twoWeeks()
  expect(violations).toEqual([])
  expect(tally.get('settlements')).toBeGreaterThan(100)
})

test('the same seed gives the same days, record by record', async () => {
  const once = (await twoWeeks()).sim.disk.written
  const again = (await badHours(1, 5)).sim.disk.written
  expect(again.length).toBeGreaterThan(150)
  expect(again).toEqual(once.slice(0, again.length))
})
