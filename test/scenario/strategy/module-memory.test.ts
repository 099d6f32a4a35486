import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aCustomStrategy, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test('a module that stores `__proto__` in its memory fails only its own slots, by name', async () => {
  const sim = new Simulation({
    seed: 'hostile memory',
    strategies: [aCustomStrategy(), aStrategy()],
    modules: { own: () => ({ skip: 'not now', memory: JSON.parse('{"__proto__":"1"}') }) },
  })
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  sim.crash()
  sim.start()
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'own')).toEqual(Array(2).fill('skipped module-failed'))
  expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('filled filled'))
  const details = sim.disk
    .events()
    .flatMap((event) => (event.type === 'slot-closed' ? (event.detail ?? []) : []))
  expect(details[0]).toBe('memory has the name __proto__, which every object has; take another')
  expectSound(sim)
})
