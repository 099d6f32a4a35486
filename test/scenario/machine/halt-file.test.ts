import { describe, expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { untilExposed, untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const HALT_DETAIL = 'the file HALT is there: halted by root'

async function started(seed: string): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies: [aStrategy()] })
  sim.ledger.setAllowance(USDC.address, WALLET, usdc(1_000))
  sim.start()
  await sim.runFor(MINUTE)
  return sim
}

describe('a HALT file in the state directory', () => {
  test('halts everything and is journaled within seconds with its text', async () => {
    const sim = await started('halt file')
    sim.haltFile = HALT_DETAIL
    await sim.runFor(2_000)
    expect(sim.state.halted).toMatchObject({ cause: 'operator', detail: HALT_DETAIL })
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('skipped halted'))
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('withdraws a permit whose record is being written, unsigned', async () => {
    const sim = await started('halt file at the signature')
    await sim.runFor(HOUR - MINUTE)
    await untilExposed(sim)
    expect(sim.watch.signatures).toBe(0)
    sim.haltFile = HALT_DETAIL
    await sim.runFor(MINUTE)
    expect(sim.watch.signatures).toBe(0)
    expect(eventTypes(sim)).toContain('authorization-withdrawn')
    expect(outcomes(sim, 'hourly')).toEqual(['skipped halted'])
    expectSound(sim)
  })

  test('keeps the daemon halted from the start', async () => {
    const sim = new Simulation({ seed: 'halt file at the start', strategies: [aStrategy()] })
    sim.haltFile = HALT_DETAIL
    sim.start()
    await sim.runFor(MINUTE)
    const startEvent = sim.observations.find(({ type }) => type === 'daemon-started')
    expect(startEvent).toMatchObject({ halted: { detail: HALT_DETAIL } })
    await sim.runFor(HOUR)
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('leaves the halt in force until a resume when it is removed by hand', async () => {
    const sim = await started('halt file by hand')
    sim.haltFile = HALT_DETAIL
    await sim.runFor(2_000)
    sim.haltFile = undefined
    sim.crash()
    sim.start()
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped halted'])
    await Promise.all([sim.control.resume(undefined), sim.runFor(1_000)])
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped halted', 'filled filled'])
    expectSound(sim)
  })

  test('is removed by a resume of everything, but not by a resume of one strategy', async () => {
    const sim = await started('halt file resumed')
    sim.haltFile = HALT_DETAIL
    await sim.runFor(2_000)
    await Promise.all([sim.control.resume('hourly'), sim.runFor(1_000)])
    expect(sim.haltFile).toBe(HALT_DETAIL)
    const [answer] = await Promise.all([sim.control.resume(undefined), sim.runFor(1_000)])
    expect(answer).toMatchObject({ ok: true, changed: ['everything'] })
    expect(sim.haltFile).toBeUndefined()
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test.each([1, 2])(
    'halts until the lift is recorded when the machine dies at record %i of a resume',
    async (append) => {
      for (const when of ['before', 'after'] as const) {
        const sim = await started(`halt file crash ${append} ${when}`)
        // Created between two checks of the daemon, so that the resume journals both the halt and its lift.
        sim.haltFile = HALT_DETAIL
        sim.restartAfterMs = HOUR * 10
        sim.disk.crashAt = { append: sim.disk.appends + append, when }
        void sim.control.resume(undefined)
        await sim.runFor(100)
        const isLifted = append === 2 && when === 'after'
        const isHalted = sim.haltFile !== undefined || sim.disk.reducedState().halted !== undefined
        expect(isHalted).toBe(!isLifted)
      }
    },
  )
})

test('an order signed before the HALT file appears is followed to its end', async () => {
  const sim = await started('halt file in flight')
  sim.serviceFaults.fillsLate = 1
  await sim.runFor(HOUR - MINUTE)
  await untilSigned(sim, 1)
  sim.haltFile = HALT_DETAIL
  await sim.runFor(2 * HOUR)
  expect(outcomes(sim, 'hourly')[0]).toBe('filled filled')
  expect(sim.watch.signatures).toBe(1)
  expect(eventTypes(sim).filter((type) => type === 'halted')).toHaveLength(1)
  expectSound(sim)
})
