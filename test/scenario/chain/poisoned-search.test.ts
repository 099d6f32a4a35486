import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { WETH } from '../../simulation/stage.ts'
import { aSchedule, HOUR, MINUTE, milliWeth } from '../../support/builders.ts'
import { untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { above, aThreshold } from '../../unit/strategies/decide-fixture.ts'

/** A take-profit with `once`: checked every five minutes, fires above 2,200. */
function takeProfit(seed: string): Simulation {
  const schedule = { ...aSchedule('*/5 * * * *'), overlap: 'skip' } as const
  const rungs = [above(2_200)]
  const strategies = [aThreshold({ name: 'profit', schedule, rungs, once: true })]
  return new Simulation({ seed, strategies })
}

function sold(sim: Simulation): bigint {
  return sim.initialWeth - sim.balance(WETH.address)
}

/** A simulation right after its one order is signed, with a silent service. */
async function fired(seed: string): Promise<Simulation> {
  const sim = takeProfit(seed)
  sim.serviceFaults.silent = 1
  sim.serviceFaults.silence = 'not-found'
  sim.start()
  sim.market.setPrice(2_300n)
  await untilSigned(sim, 1)
  return sim
}

describe('a take-profit that fires once', () => {
  test('fires once when receipts and logs are 400 s late', async () => {
    const sim = await fired('late logs')
    sim.chainFaults.indexingSeconds = 400
    await sim.runFor(20 * MINUTE)
    expect(outcomes(sim, 'profit')).toContain('filled filled')
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    expect(sim.watch.signatures).toBe(1)
    expect(sold(sim)).toBe(milliWeth(100))
    expectSound(sim)
  })

  test('stays open, counted in full and reported, while the node lacks the logs of its settlement', async () => {
    const sim = await fired('lost logs')
    sim.chainFaults.losesLogs = 1
    await sim.runFor(3 * HOUR)
    expect(sim.state.intents.size).toBe(1)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    expect(sim.watch.signatures).toBe(1)
    const unknowns = sim.observations.filter(({ type }) => type === 'order-unknown')
    expect(unknowns.length).toBeGreaterThan(0)
    sim.chainFaults.losesLogs = 0
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'profit')).toContain('filled filled')
    expect(sold(sim)).toBe(milliWeth(100))
    expectSound(sim)
  })

  test('is proven among zero transfers that carry its nonce and deadline', async () => {
    const sim = await fired('spam')
    const [open] = sim.state.intents.values()
    const permit = open?.venue === 'gasless' ? open.permit : undefined
    if (permit === undefined) throw new Error('no permit is open')
    const paddedFields = [permit.nonce, BigInt(permit.deadlineSeconds)].map((value) =>
      value.toString(16).padStart(64, '0'),
    )
    for (let n = 0; n < 150; n += 1)
      sim.ledger.zeroTransfer(permit, `0x12345678${paddedFields.join('')}`)
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'profit')).toContain('filled filled')
    expect(sold(sim)).toBe(milliWeth(100))
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test('counts as fired when its owner invalidates the nonce of its order', async () => {
    const sim = takeProfit('cancelled')
    sim.serviceFaults.neverFills = 1
    sim.start()
    sim.market.setPrice(2_300n)
    await untilSigned(sim, 1)
    const [open] = sim.state.intents.values()
    const permit = open?.venue === 'gasless' ? open.permit : undefined
    if (permit === undefined) throw new Error('no permit is open')
    sim.ledger.invalidateNonce(permit.owner, permit.nonce)
    await sim.runFor(HOUR)
    const all = outcomes(sim, 'profit').filter((each) => each !== 'skipped too-many-open')
    expect(all.filter((each) => each !== 'skipped finished')).toEqual(['failed permit-cancelled'])
    expect(sim.watch.signatures).toBe(1)
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test('counts as fired when a settlement takes its tokens and delivers nothing', async () => {
    const sim = takeProfit('thief')
    sim.serviceFaults.steals = 1
    sim.start()
    sim.market.setPrice(2_300n)
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'profit')).toContain('failed permit-cancelled')
    expect(sim.watch.signatures).toBe(1)
    expect(sold(sim)).toBe(milliWeth(100))
    expectSound(sim)
  })
})
