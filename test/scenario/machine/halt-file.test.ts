import { describe, expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilExposed, untilSigned } from '../../support/worlds/run-until.ts'

const WORDS = 'the file HALT is there: halted by root'

async function started(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()] })
  world.ledger.setAllowance(USDC.address, WALLET, usdc(1_000))
  world.start()
  await world.runFor(MINUTE)
  return world
}

describe('a file HALT in the state directory', () => {
  test('is a halt: the journal has it within seconds, in its own words, and nothing is signed', async () => {
    const world = await started('halt file')
    world.haltFile = WORDS
    await world.runFor(2_000)
    expect(world.state.halted).toMatchObject({ cause: 'operator', detail: WORDS })
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('skipped halted'))
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('that appears while a permit is on its way to the disk has it withdrawn unsigned', async () => {
    const world = await started('halt file at the signature')
    await world.runFor(HOUR - MINUTE)
    await untilExposed(world)
    expect(world.watch.signatures).toBe(0)
    world.haltFile = WORDS
    await world.runFor(MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(outcomes(world, 'hourly')).toEqual(['skipped halted'])
    expectSound(world)
  })

  test('found at the start keeps the daemon halted before anything is taken up', async () => {
    const world = new World({ seed: 'halt file at the start', strategies: [aStrategy()] })
    world.haltFile = WORDS
    world.start()
    await world.runFor(MINUTE)
    const told = world.observations.find(({ type }) => type === 'daemon-started')
    expect(told).toMatchObject({ halted: { detail: WORDS } })
    await world.runFor(HOUR)
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('taken away by hand leaves the halt in the journal, until it is resumed', async () => {
    const world = await started('halt file by hand')
    world.haltFile = WORDS
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

  test('goes when everything is resumed, and stays when only a strategy is', async () => {
    const world = await started('halt file resumed')
    world.haltFile = WORDS
    await world.runFor(2_000)
    await Promise.all([world.control.resume('hourly'), world.runFor(1_000)])
    expect(world.haltFile).toBe(WORDS)
    const [answer] = await Promise.all([world.control.resume(undefined), world.runFor(1_000)])
    expect(answer).toMatchObject({ ok: true, changed: ['everything'] })
    expect(world.haltFile).toBeUndefined()
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test.each([1, 2])(
    'stays a halt when the machine dies at record %i of its end',
    async (append) => {
      for (const when of ['before', 'after'] as const) {
        const world = await started(`halt file crash ${append} ${when}`)
        // Between two looks of the daemon, so that its end journals both the halt and the lifting.
        world.haltFile = WORDS
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

test('an order that was signed before the file came is followed to its end', async () => {
  const world = await started('halt file in flight')
  world.serviceFaults.fillsLate = 1
  await world.runFor(HOUR - MINUTE)
  await untilSigned(world, 1)
  world.haltFile = WORDS
  await world.runFor(2 * HOUR)
  expect(outcomes(world, 'hourly')[0]).toBe('filled filled')
  expect(world.watch.signatures).toBe(1)
  expect(eventTypes(world).filter((type) => type === 'halted')).toHaveLength(1)
  expectSound(world)
})
