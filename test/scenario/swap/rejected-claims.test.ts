import { describe, expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilSigned } from '../../support/worlds/run-until.ts'

function rejectedClaims(world: World, what: string) {
  return world.observations.filter((event) => event.type === 'disbelieved' && event.what === what)
}

async function started(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR - MINUTE)
  return world
}

describe('a claim of the service without evidence', () => {
  test('"filled" with an unused nonce is reported after seconds, and the order as waiting after 30 s', async () => {
    const world = await started('filled and is not')
    Object.assign(world.serviceFaults, { saysFilledButDoesNot: 1, neverFills: 1 })
    await untilSigned(world, 1)
    await world.runFor(8_000)
    expect(rejectedClaims(world, 'filled')).toEqual([])
    await world.runFor(10_000)
    expect(rejectedClaims(world, 'filled')[0]).toMatchObject({
      strategy: 'hourly',
      detail: expect.stringMatching(/says filled.*nonce unused/),
      moneyWaits: false,
    })
    await world.runFor(20_000)
    expect(rejectedClaims(world, 'filled').at(-1)).toMatchObject({ moneyWaits: true })
  })

  test('"filled" just before the chain shows the fill is not reported', async () => {
    const world = await started('filled a moment ago')
    world.chainFaults.lagSeconds = 4
    await world.runFor(10 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(rejectedClaims(world, 'filled')).toEqual([])
    expectSound(world)
  })

  test('"failed" is reported when the chain shows that the order filled', async () => {
    const world = await started('failed and is filled')
    world.serviceFaults.saysFailedButFills = 1
    await world.runFor(20 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(rejectedClaims(world, 'ended')).toMatchObject([
      { detail: expect.stringMatching(/said failed/) },
    ])
    expectSound(world)
  })

  test('an unanswered submission is reported when the daemon submits again', async () => {
    const world = await started('unanswered')
    await world.runFor(MINUTE)
    await untilSigned(world, 1)
    world.serviceFaults.failsBefore = 1
    world.crash()
    world.start()
    await world.runFor(30_000)
    world.serviceFaults.failsBefore = 0
    expect(rejectedClaims(world, 'submit')[0]).toMatchObject({
      service: 'gasless',
      strategy: 'hourly',
    })
    await world.runFor(10 * MINUTE)
    expectSound(world)
  })
})

describe('a service that lists other decimals for a token than the config', () => {
  test('has orders of that token refused as `token-mismatch` until both agree again', async () => {
    const world = await started('other decimals')
    world.serviceFaults.listsWrongDecimals = true
    await world.runFor(2 * HOUR)
    // The token list is read once an hour, so the slot in between used the previous list.
    const [, ...after] = outcomes(world, 'hourly')
    expect(after).toEqual(['refused token-mismatch'])
    const closed = world.disk
      .events()
      .find((event) => event.type === 'slot-closed' && event.outcome === 'refused')
    expect(closed).toMatchObject({
      detail:
        'the service lists USDC with 18 decimals, the config has 6: no order of it is signed until they agree',
    })
    expect(rejectedClaims(world, 'tokens').length).toBeGreaterThan(0)
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

  test('is detected at a reload, before the first decision under the new files', async () => {
    const world = await started('other decimals at a reload')
    world.serviceFaults.listsWrongDecimals = true
    const { strategies, account } = world
    await Promise.all([world.control.reload({ strategies, account }), world.runFor(10_000)])
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['refused token-mismatch'])
    expect(world.watch.signatures).toBe(0)
  })

  test('causes no refusal when it does not answer', async () => {
    const world = await started('no list')
    world.serviceFaults.down = true
    await world.runFor(30_000)
    world.serviceFaults.down = false
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  })
})
