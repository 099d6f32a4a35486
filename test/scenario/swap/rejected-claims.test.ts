import { describe, expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilSigned } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

function rejectedClaims(sim: Simulation, what: string) {
  return sim.observations.filter((event) => event.type === 'disbelieved' && event.what === what)
}

async function started(seed: string): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR - MINUTE)
  return sim
}

describe('a claim of the service without evidence', () => {
  test('"filled" with an unused nonce is reported after seconds, and the order as waiting after 30 s', async () => {
    const sim = await started('filled and is not')
    Object.assign(sim.serviceFaults, { saysFilledButDoesNot: 1, neverFills: 1 })
    await untilSigned(sim, 1)
    await sim.runFor(8_000)
    expect(rejectedClaims(sim, 'filled')).toEqual([])
    await sim.runFor(10_000)
    expect(rejectedClaims(sim, 'filled')[0]).toMatchObject({
      strategy: 'hourly',
      detail: expect.stringMatching(/says filled.*nonce unused/),
      moneyWaits: false,
    })
    await sim.runFor(20_000)
    expect(rejectedClaims(sim, 'filled').at(-1)).toMatchObject({ moneyWaits: true })
  })

  test('"filled" just before the chain shows the fill is not reported', async () => {
    const sim = await started('filled a moment ago')
    sim.chainFaults.lagSeconds = 4
    await sim.runFor(10 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(rejectedClaims(sim, 'filled')).toEqual([])
    expectSound(sim)
  })

  test('"failed" is reported when the chain shows that the order filled', async () => {
    const sim = await started('failed and is filled')
    sim.serviceFaults.saysFailedButFills = 1
    await sim.runFor(20 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(rejectedClaims(sim, 'ended')).toMatchObject([
      { detail: expect.stringMatching(/said failed/) },
    ])
    expectSound(sim)
  })

  test('an unanswered submission is reported when the daemon submits again', async () => {
    const sim = await started('unanswered')
    await sim.runFor(MINUTE)
    await untilSigned(sim, 1)
    sim.serviceFaults.failsBefore = 1
    sim.crash()
    sim.start()
    await sim.runFor(30_000)
    sim.serviceFaults.failsBefore = 0
    expect(rejectedClaims(sim, 'submit')[0]).toMatchObject({
      service: 'gasless',
      strategy: 'hourly',
    })
    await sim.runFor(10 * MINUTE)
    expectSound(sim)
  })
})

describe('a service that lists other decimals for a token than the config', () => {
  test('has orders of that token refused as `token-mismatch` until both agree again', async () => {
    const sim = await started('other decimals')
    sim.serviceFaults.listsWrongDecimals = true
    await sim.runFor(2 * HOUR)
    // The token list is read once an hour, so the slot in between used the previous list.
    const [, ...after] = outcomes(sim, 'hourly')
    expect(after).toEqual(['refused token-mismatch'])
    const closed = sim.disk
      .events()
      .find((event) => event.type === 'slot-closed' && event.outcome === 'refused')
    expect(closed).toMatchObject({
      detail:
        'the service lists USDC with 18 decimals, the config has 6: no order of it is signed until they agree',
    })
    expect(rejectedClaims(sim, 'tokens').length).toBeGreaterThan(0)
    sim.serviceFaults.listsWrongDecimals = false
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
    expect(sim.observations).toContainEqual({
      type: 'service-note',
      service: 'gasless',
      note: 'agrees with the config on the decimals of USDC again',
    })
    expectSound(sim)
  })

  test('is detected at a reload, before the first decision under the new files', async () => {
    const sim = await started('other decimals at a reload')
    sim.serviceFaults.listsWrongDecimals = true
    const { strategies, account } = sim
    await Promise.all([sim.control.reload({ strategies, account }), sim.runFor(10_000)])
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['refused token-mismatch'])
    expect(sim.watch.signatures).toBe(0)
  })

  test('causes no refusal when it does not answer', async () => {
    const sim = await started('no list')
    sim.serviceFaults.down = true
    await sim.runFor(30_000)
    sim.serviceFaults.down = false
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  })
})
