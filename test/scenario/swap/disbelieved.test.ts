import { describe, expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilSigned } from '../../support/worlds/run-until.ts'

function disbelieved(world: World, what: string) {
  return world.observations.filter((event) => event.type === 'disbelieved' && event.what === what)
}

async function started(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR - MINUTE)
  return world
}

describe('an answer of the service that nothing bears out', () => {
  test('"filled" with an unused nonce is told after some seconds, and as waiting after half a minute', async () => {
    const world = await started('filled and is not')
    Object.assign(world.serviceFaults, { saysFilledButDoesNot: 1, neverFills: 1 })
    await untilSigned(world, 1)
    await world.runFor(8_000)
    expect(disbelieved(world, 'filled')).toEqual([])
    await world.runFor(10_000)
    expect(disbelieved(world, 'filled')[0]).toMatchObject({
      strategy: 'hourly',
      detail: expect.stringMatching(/says filled.*nonce unused/),
      moneyWaits: false,
    })
    await world.runFor(20_000)
    expect(disbelieved(world, 'filled').at(-1)).toMatchObject({ moneyWaits: true })
  })

  test('"filled" a moment before the chain shows it is told to nobody', async () => {
    const world = await started('filled a moment ago')
    world.chainFaults.lagSeconds = 4
    await world.runFor(10 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(disbelieved(world, 'filled')).toEqual([])
    expectSound(world)
  })

  test('"failed" of an order that is filled all the same is told when the chain shows it', async () => {
    const world = await started('failed and is filled')
    world.serviceFaults.saysFailedButFills = 1
    await world.runFor(20 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(disbelieved(world, 'ended')).toMatchObject([
      { detail: expect.stringMatching(/said failed/) },
    ])
    expectSound(world)
  })

  test('a submission that is not answered is told when it is made again', async () => {
    const world = await started('unanswered')
    await world.runFor(MINUTE)
    await untilSigned(world, 1)
    world.serviceFaults.failsBefore = 1
    world.crash()
    world.start()
    await world.runFor(30_000)
    world.serviceFaults.failsBefore = 0
    expect(disbelieved(world, 'submit')[0]).toMatchObject({
      service: 'gasless',
      strategy: 'hourly',
    })
    await world.runFor(10 * MINUTE)
    expectSound(world)
  })
})

describe('a service that counts a token otherwise than the config', () => {
  test('gets no order of it signed, by name, until they agree again', async () => {
    const world = await started('other decimals')
    world.serviceFaults.listsWrongDecimals = true
    await world.runFor(2 * HOUR)
    // The list is read each hour: what came in between went by the one before.
    const [, ...after] = outcomes(world, 'hourly')
    expect(after).toEqual(['refused token-mismatch'])
    const closed = world.disk
      .events()
      .find((event) => event.type === 'slot-closed' && event.outcome === 'refused')
    expect(closed).toMatchObject({
      detail:
        'the service lists USDC with 18 decimals, the config has 6: no order of it is signed until they agree',
    })
    expect(disbelieved(world, 'tokens').length).toBeGreaterThan(0)
    world.serviceFaults.listsWrongDecimals = false
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
    expect(world.observations).toContainEqual({
      type: 'service-note',
      service: 'gasless',
      note: 'agrees with the config on the decimals of USDC again',
    })
    expectSound(world)
  })

  test('is noticed at a reload, before anything of the new files is decided', async () => {
    const world = await started('other decimals at a reload')
    world.serviceFaults.listsWrongDecimals = true
    const { strategies, account } = world
    await Promise.all([world.control.reload({ strategies, account }), world.runFor(10_000)])
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['refused token-mismatch'])
    expect(world.watch.signatures).toBe(0)
  })

  test('that does not answer is no evidence', async () => {
    const world = await started('no list')
    world.serviceFaults.down = true
    await world.runFor(30_000)
    world.serviceFaults.down = false
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  })
})
