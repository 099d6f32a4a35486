import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { World } from '../../simulation/simulation.ts'
import { WETH } from '../../simulation/stage.ts'
import { aSchedule, HOUR, MINUTE, milliWeth } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilSigned } from '../../support/worlds/run-until.ts'
import { above, aThreshold } from '../../unit/strategies/decide-fixture.ts'

/** A take-profit with `once`: checked every five minutes, fires above 2,200. */
function takeProfit(seed: string): World {
  const schedule = { ...aSchedule('*/5 * * * *'), overlap: 'skip' } as const
  const rungs = [above(2_200)]
  const strategies = [aThreshold({ name: 'profit', schedule, rungs, once: true })]
  return new World({ seed, strategies })
}

function sold(world: World): bigint {
  return world.initialWeth - world.balance(WETH.address)
}

/** A world right after its one order is signed, with a silent service. */
async function fired(seed: string): Promise<World> {
  const world = takeProfit(seed)
  world.serviceFaults.silent = 1
  world.serviceFaults.silence = 'not-found'
  world.start()
  world.market.setPrice(2_300n)
  await untilSigned(world, 1)
  return world
}

describe('a take-profit that fires once', () => {
  test('fires once when receipts and logs are 400 s late', async () => {
    const world = await fired('late logs')
    world.chainFaults.indexingSeconds = 400
    await world.runFor(20 * MINUTE)
    expect(outcomes(world, 'profit')).toContain('filled filled')
    expect(eventTypes(world)).not.toContain('authorization-dead')
    expect(world.watch.signatures).toBe(1)
    expect(sold(world)).toBe(milliWeth(100))
    expectSound(world)
  })

  test('stays open, counted in full and reported, while the node lacks the logs of its settlement', async () => {
    const world = await fired('lost logs')
    world.chainFaults.losesLogs = 1
    await world.runFor(3 * HOUR)
    expect(world.state.intents.size).toBe(1)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    expect(world.watch.signatures).toBe(1)
    const unknowns = world.observations.filter(({ type }) => type === 'order-unknown')
    expect(unknowns.length).toBeGreaterThan(0)
    world.chainFaults.losesLogs = 0
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'profit')).toContain('filled filled')
    expect(sold(world)).toBe(milliWeth(100))
    expectSound(world)
  })

  test('is proven among zero transfers that carry its nonce and deadline', async () => {
    const world = await fired('spam')
    const [open] = world.state.intents.values()
    const permit = open?.venue === 'gasless' ? open.permit : undefined
    if (permit === undefined) throw new Error('no permit is open')
    const paddedFields = [permit.nonce, BigInt(permit.deadlineSeconds)].map((value) =>
      value.toString(16).padStart(64, '0'),
    )
    for (let n = 0; n < 150; n += 1)
      world.ledger.zeroTransfer(permit, `0x12345678${paddedFields.join('')}`)
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'profit')).toContain('filled filled')
    expect(sold(world)).toBe(milliWeth(100))
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test('counts as fired when its owner invalidates the nonce of its order', async () => {
    const world = takeProfit('cancelled')
    world.serviceFaults.neverFills = 1
    world.start()
    world.market.setPrice(2_300n)
    await untilSigned(world, 1)
    const [open] = world.state.intents.values()
    const permit = open?.venue === 'gasless' ? open.permit : undefined
    if (permit === undefined) throw new Error('no permit is open')
    world.ledger.invalidateNonce(permit.owner, permit.nonce)
    await world.runFor(HOUR)
    const all = outcomes(world, 'profit').filter((each) => each !== 'skipped too-many-open')
    expect(all.filter((each) => each !== 'skipped finished')).toEqual(['failed permit-cancelled'])
    expect(world.watch.signatures).toBe(1)
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test('counts as fired when a settlement takes its tokens and delivers nothing', async () => {
    const world = takeProfit('thief')
    world.serviceFaults.steals = 1
    world.start()
    world.market.setPrice(2_300n)
    await world.runFor(HOUR)
    expect(outcomes(world, 'profit')).toContain('failed permit-cancelled')
    expect(world.watch.signatures).toBe(1)
    expect(sold(world)).toBe(milliWeth(100))
    expectSound(world)
  })
})
