import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Simulation } from '../simulation/simulation.ts'
import { runCalls } from '../support/simulations/calls.ts'
import { dayOfSwaps } from '../support/simulations/day.ts'
import { runSlices } from '../support/simulations/slices.ts'
import { badHours } from '../support/simulations/year.ts'
import { journalText } from './day.ts'

/**
 * Guards that a seed always gives the same simulation: a hash of the whole journal, and counts of records and slot outcomes that
 * show where to look when the hash differs.
 *
 * Only a change of behaviour or of the simulation's random draws changes this file. Update it with `npx vitest run test/golden -u`,
 * and say why in the commit.
 */

const SIMULATIONS: readonly (readonly [string, () => Promise<{ readonly sim: Simulation }>])[] = [
  ['day 2', () => dayOfSwaps(2)],
  ['calls 2', () => runCalls(2)],
  ['two days 2', () => badHours(2, 2)],
  ['slices 1', () => runSlices(1)],
  ['slices 2', () => runSlices(2)],
  ['slices 3', () => runSlices(3)],
  ['slices 4', () => runSlices(4)],
  ['slices 5', () => runSlices(5)],
  ['slices 6', () => runSlices(6)],
  ['slices 7', () => runSlices(7)],
]

test('a seed gives the same journal', async () => {
  let text = ''
  for (const [name, live] of SIMULATIONS) {
    const { sim } = await live()
    text += `${name}\n${summaryOf(sim)}\n`
  }
  await expect(text).toMatchFileSnapshot('data/seeds.txt')
})

function summaryOf(sim: Simulation): string {
  const records = sim.disk.history()
  const hash = createHash('sha256').update(journalText(records)).digest('hex')
  const counts = new Map<string, number>()
  for (const { event } of records) {
    const what = event.type === 'slot-closed' ? `${event.type} ${event.reason}` : event.type
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  const lines = [...counts].toSorted().map(([what, count]) => `  ${what} ${count}\n`)
  return `  ${records.length} records, sha256 ${hash}\n${lines.join('')}`
}
