import { describe, expect, test } from 'vitest'
import type { CallServiceFaults } from '../../simulation/aggregator/service.ts'
import type { CrashPoint } from '../../simulation/journal.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

type CrashCase = {
  readonly name: string
  readonly faults: Partial<CallServiceFaults>
}

const CRASH_CASES: readonly CrashCase[] = [
  { name: 'a call that the service executes', faults: {} },
  { name: 'a call that the service executes late', faults: { delayMs: 120_000 } },
  { name: 'a call that takes the direct route after a silence', faults: { neverExecutes: true } },
  {
    name: 'a call that takes the direct route after a refusal',
    faults: { rejection: { tag: 'insufficientBalance', message: 'Insufficient balance.' } },
  },
  {
    name: 'a call that is refused but executed',
    faults: {
      rejection: { tag: 'rejected', message: 'no' },
      rejectsButTakes: true,
    },
  },
  { name: 'a call whose answers are all lost', faults: { failsAfter: 1, delayMs: 20_000 } },
]

async function oneSlot(
  { name, faults }: CrashCase,
  { crashAt, restartAfterMs }: { crashAt?: CrashPoint; restartAfterMs: number },
): Promise<Simulation> {
  const schedule = aSchedule('5 0 * * *', { missed: 'latest' })
  const sim = callSimulation({ seed: name, strategies: [aCallStrategy({ schedule })] })
  Object.assign(sim.aggregation.faults, faults)
  sim.disk.crashAt = crashAt
  sim.restartAfterMs = restartAfterMs
  sim.start()
  await sim.runFor(25 * MINUTE + restartAfterMs)
  return sim
}

describe.each(CRASH_CASES)('$name', (crashCase) => {
  test('executes exactly once when the machine loses power at any append', async () => {
    const { appends } = (await oneSlot(crashCase, { restartAfterMs: 3_000 })).disk
    expect(appends).toBeGreaterThan(5)
    for (let append = 1; append <= appends; append += 1) {
      for (const when of ['before', 'after'] as const) {
        const sim = await oneSlot(crashCase, { crashAt: { append, when }, restartAfterMs: 3_000 })
        const point = `crash ${when} append ${append}`
        expect([point, outcomes(sim, 'claim')]).toEqual([point, ['filled filled']])
        expect([point, executed(sim)]).toEqual([point, 1])
        expectSound(sim)
      }
    }
  })

  test('has one correct outcome when power returns long after its deadline', async () => {
    const { appends } = (await oneSlot(crashCase, { restartAfterMs: 3_000 })).disk
    for (let append = 4; append <= appends; append += 1) {
      for (const when of ['before', 'after'] as const) {
        const sim = await oneSlot(crashCase, {
          crashAt: { append, when },
          restartAfterMs: 2 * HOUR,
        })
        const point = `crash ${when} append ${append}`
        const [outcome, ...more] = outcomes(sim, 'claim')
        expect([point, more]).toEqual([point, []])
        expect([point, executed(sim)]).toEqual([point, outcome === 'filled filled' ? 1 : 0])
        expect([point, sim.state.intents.size]).toEqual([point, 0])
        expectSound(sim)
      }
    }
  })
})
