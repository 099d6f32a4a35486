import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'

const BUYERS = ['buyer-first', 'buyer-middle', 'buyer-last'] as const
/** Far below the price: every slot is skipped. */
const TOO_LOW = { num: 1n, den: 10n ** 12n }

/** Enough strategies for several slices, all due at the full hour; three of them buy. */
function many(seed: string): Simulation {
  const schedule = aSchedule('0 * * * *', { missed: 'all', maxLatenessMs: HOUR })
  const price = { min: undefined, max: TOO_LOW }
  const waiting = Array.from({ length: 500 }, (_, at) =>
    aStrategy({ name: `waits-${at}`, schedule, price }),
  )
  const [first, middle, last] = BUYERS.map((name) => aStrategy({ name, schedule }))
  const strategies = [first, ...waiting.slice(0, 250), middle, ...waiting.slice(250), last]
  return new Simulation({ seed, strategies: strategies.flatMap((each) => each ?? []) })
}

/** Strategies by the outcomes of their slots. */
function byOutcomes(sim: Simulation): Readonly<Record<string, number>> {
  const outcomes = new Map<string, string[]>()
  for (const event of sim.disk.events())
    if (event.type === 'slot-closed' || event.type === 'slots-missed') {
      const outcome = event.type === 'slot-closed' ? event.reason : 'missed'
      outcomes.set(event.strategy, [...(outcomes.get(event.strategy) ?? []), outcome])
    }
  const counts: Record<string, number> = {}
  for (const each of outcomes.values()) counts[`${each}`] = (counts[`${each}`] ?? 0) + 1
  return counts
}

test('five hundred slots due together end in one outcome each, and orders are on disk before skips', async () => {
  const sim = many('large tick')
  sim.start()
  await sim.runFor(2 * HOUR + 30 * MINUTE)
  expect(byOutcomes(sim)).toEqual({
    'price-outside-bounds,price-outside-bounds': 500,
    'filled,filled': BUYERS.length,
  })
  // The first decision under new terms is recorded at once; from then on a skip changes nothing.
  const second = sim.disk
    .events()
    .filter((event) => 'slotSeconds' in event && event.slotSeconds % 7_200 === 0)
  const opened = second.findLastIndex(({ type }) => type === 'slot-opened')
  const skipped = second.findIndex(
    (event) => event.type === 'slot-closed' && event.outcome === 'skipped',
  )
  expect(opened).toBe(BUYERS.length - 1)
  expect(skipped).toBe(BUYERS.length)
  expectSound(sim)
})

test.each([1, 20])(
  'a loss of power %d ms into a large tick neither loses nor doubles a slot',
  async (ms) => {
    const sim = many(`large tick, power lost after ${ms} ms`)
    sim.start()
    await sim.runFor(2 * HOUR + ms)
    sim.crash()
    await sim.runFor(5 * MINUTE)
    sim.start()
    await sim.runFor(20 * MINUTE)
    expect(byOutcomes(sim)).toEqual({
      'price-outside-bounds,price-outside-bounds': 500,
      'filled,filled': BUYERS.length,
    })
    expectSound(sim)
  },
)

test('a stop in a large tick leaves each slot to the next start, or has recorded it', async () => {
  const sim = many('large tick, stopped')
  sim.start()
  await sim.runFor(2 * HOUR + 5)
  sim.stop('a test')
  await sim.runFor(5 * MINUTE)
  sim.start()
  await sim.runFor(20 * MINUTE)
  expect(byOutcomes(sim)).toMatchObject({ 'price-outside-bounds,price-outside-bounds': 500 })
  expectSound(sim)
})
