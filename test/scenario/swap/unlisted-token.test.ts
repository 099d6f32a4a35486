import { describe, expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/** An hourly strategy, shortly before its first slot at 01:00. The list is read at 00:01 and every hour after. */
async function started(seed: string): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies: [aStrategy({ name: 'hourly', file: 'h.yaml' })] })
  sim.start()
  await sim.runFor(HOUR - MINUTE)
  return sim
}

/** The daemon also reads the list at a reload. */
async function reload(sim: Simulation): Promise<void> {
  const { strategies, account } = sim
  await Promise.all([sim.control.reload({ strategies, account }), sim.runFor(10_000)])
}

function listings(sim: Simulation): string[] {
  return sim.observations.flatMap((each) =>
    each.type === 'token-listing'
      ? [`${each.token} ${each.isListed} ${each.strategies.join(' ')}`]
      : [],
  )
}

describe('a token that leaves the list of the service', () => {
  test.each(['USDC', 'WETH'])(
    'has its slots skipped by name, unsigned and told once, until %s returns',
    async (symbol) => {
      const sim = await started(`without ${symbol}`)
      sim.serviceFaults.unlisted = [symbol]
      await reload(sim)
      await sim.runFor(2 * HOUR)
      expect(outcomes(sim, 'hourly')).toEqual(['skipped token-unlisted', 'skipped token-unlisted'])
      expect(sim.watch.signatures).toBe(0)
      expect(sim.service.limits.requestsOf('quote')).toBe(0)
      expect(listings(sim)).toEqual([`${symbol} false hourly`])
      const skipped = sim.disk.events().find((event) => event.type === 'slot-closed')
      expect(skipped).toMatchObject({
        detail: `the service does not list ${symbol}: no order of it is signed until it does`,
      })
      sim.serviceFaults.unlisted = []
      await sim.runFor(HOUR)
      expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
      expect(listings(sim)).toEqual([`${symbol} false hourly`, `${symbol} true hourly`])
      expectSound(sim)
    },
  )

  test('is noticed within an hour, without a reload', async () => {
    const sim = await started('noticed')
    sim.serviceFaults.unlisted = ['USDC']
    await sim.runFor(HOUR + 2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'skipped token-unlisted'])
    expectSound(sim)
  })

  test('ends an order that waits for its quote, without a signature', async () => {
    const sim = await started('waiting')
    sim.serviceFaults.failsBefore = 1
    await untilEvent(sim, 'slot-opened')
    await sim.runFor(10_000)
    Object.assign(sim.serviceFaults, { failsBefore: 0, unlisted: ['WETH'] })
    await reload(sim)
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped token-unlisted'])
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('does not stop an order that was already signed: it is sent again and proven', async () => {
    const sim = await started('signed before')
    await untilEvent(sim, 'permit-recorded', 1)
    Object.assign(sim.serviceFaults, { failsBefore: 1, unlisted: ['USDC'] })
    await sim.runFor(5_000)
    sim.serviceFaults.failsBefore = 0
    await reload(sim)
    await sim.runFor(5 * MINUTE)
    expect(listings(sim)).toEqual(['USDC false hourly'])
    expect(sim.service.limits.requestsOf('submit')).toBeGreaterThan(1)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })
})

test('an empty list proves nothing: orders go on', async () => {
  const sim = await started('empty')
  sim.serviceFaults.unlisted = ['USDC', 'WETH']
  await sim.runFor(2 * HOUR)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'filled filled'])
  expect(listings(sim)).toEqual([])
  expectSound(sim)
})
