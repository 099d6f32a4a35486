import { describe, expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilExposed, untilSigned } from '../../support/worlds/run-until.ts'

const HALT_DETAIL = 'the file HALT is there: halted by root'

async function started(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()] })
  world.ledger.setAllowance(USDC.address, WALLET, usdc(1_000))
  world.start()
  await world.runFor(MINUTE)
  return world
}

describe('a HALT file in the state directory', () => {
  test('halts everything and is journaled within seconds with its text', async () => {
    const world = await started('halt file')
    world.haltFile = HALT_DETAIL
    await world.runFor(2_000)
    expect(world.state.halted).toMatchObject({ cause: 'operator', detail: HALT_DETAIL })
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('skipped halted'))
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('withdraws a permit whose record is being written, unsigned', async () => {
    const world = await started('halt file at the signature')
    await world.runFor(HOUR - MINUTE)
    await untilExposed(world)
    expect(world.watch.signatures).toBe(0)
    world.haltFile = HALT_DETAIL
    await world.runFor(MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(outcomes(world, 'hourly')).toEqual(['skipped halted'])
    expectSound(world)
  })

  test('keeps the daemon halted from the start', async () => {
    const world = new World({ seed: 'halt file at the start', strategies: [aStrategy()] })
    world.haltFile = HALT_DETAIL
    world.start()
    await world.runFor(MINUTE)
    const startEvent = world.observations.find(({ type }) => type === 'daemon-started')
    expect(startEvent).toMatchObject({ halted: { detail: HALT_DETAIL } })
    await world.runFor(HOUR)
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('leaves the halt in force until a resume when it is removed by hand', async () => {
    const world = await started('halt file by hand')
    world.haltFile = HALT_DETAIL
    await world.runFor(2_000)
    world.haltFile = undefined
    world.crash()
    world.start()
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['skipped halted'])
    await Promise.all([world.control.resume(undefined), world.runFor(1_000)])
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['skipped halted', 'filled filled'])
    expectSound(world)
  })

  test('is removed by a resume of everything, but not by a resume of one strategy', async () => {
    const world = await started('halt file resumed')
    world.haltFile = HALT_DETAIL
    await world.runFor(2_000)
    await Promise.all([world.control.resume('hourly'), world.runFor(1_000)])
    expect(world.haltFile).toBe(HALT_DETAIL)
    const [answer] = await Promise.all([world.control.resume(undefined), world.runFor(1_000)])
    expect(answer).toMatchObject({ ok: true, changed: ['everything'] })
    expect(world.haltFile).toBeUndefined()
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test.each([1, 2])(
    'halts until the lift is recorded when the machine dies at record %i of a resume',
    async (append) => {
      for (const when of ['before', 'after'] as const) {
        const world = await started(`halt file crash ${append} ${when}`)
        // Created between two checks of the daemon, so that the resume journals both the halt and its lift.
        world.haltFile = HALT_DETAIL
        world.restartAfterMs = HOUR * 10
        world.disk.crashAt = { append: world.disk.appends + append, when }
        void world.control.resume(undefined)
        await world.runFor(100)
        const isLifted = append === 2 && when === 'after'
        const isHalted =
          world.haltFile !== undefined || world.disk.reducedState().halted !== undefined
        expect(isHalted).toBe(!isLifted)
      }
    },
  )
})

test('an order signed before the HALT file appears is followed to its end', async () => {
  const world = await started('halt file in flight')
  world.serviceFaults.fillsLate = 1
  await world.runFor(HOUR - MINUTE)
  await untilSigned(world, 1)
  world.haltFile = HALT_DETAIL
  await world.runFor(2 * HOUR)
  expect(outcomes(world, 'hourly')[0]).toBe('filled filled')
  expect(world.watch.signatures).toBe(1)
  expect(eventTypes(world).filter((type) => type === 'halted')).toHaveLength(1)
  expectSound(world)
})
