import { describe, expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/**
 * A simulation whose first order has filled. `change` happens at the second one's record, after it was judged by the tick's
 * market and before the read beside its record.
 */
async function changedAtTheRecord(change: (sim: Simulation) => void): Promise<Simulation> {
  const sim = new Simulation({ seed: 'read beside the record', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  sim.disk.onAppend = (type) => {
    if (type !== 'permit-recorded') return
    sim.disk.onAppend = undefined
    change(sim)
  }
  await sim.runFor(HOUR + 5 * MINUTE)
  return sim
}

function withdrawn(sim: Simulation): string[] {
  return sim.disk
    .events()
    .flatMap((event) => (event.type === 'authorization-withdrawn' ? [event.reason] : []))
}

function useNonce({ ledger, state }: Simulation): void {
  // The record is in memory when the append goes to disk.
  queueMicrotask(() => {
    for (const open of state.intents.values())
      if (open.venue === 'gasless' && open.permit !== undefined)
        ledger.invalidateNonce(WALLET, open.permit.nonce)
  })
}

describe('what the chain shows beside the record withdraws it, and nothing is signed', () => {
  test.each<[string, string, (sim: Simulation) => void]>([
    ['a used nonce', 'refused nonce-used', useNonce],
    ['code of the wallet', 'refused wallet-has-code', (sim) => sim.ledger.growCode(WALLET)],
    [
      'too low a balance',
      'failed insufficient-balance',
      (sim) => sim.ledger.setBalance(USDC.address, WALLET, 1n),
    ],
  ])('%s', async (_name, outcome, change) => {
    const sim = await changedAtTheRecord(change)
    expect(sim.watch.signatures).toBe(1)
    expect(withdrawn(sim)).toEqual([outcome.split(' ')[1]])
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', outcome])
    expectSound(sim)
  })
})

test('a price that has moved by the read beside the record asks for another quote', async () => {
  const sim = await changedAtTheRecord(({ market }) => market.setPrice(1_250n))
  expect(withdrawn(sim)).toEqual(['price-deviation'])
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'filled filled'])
  expectSound(sim)
})

test('a node that does not answer beside the record withdraws it, and the order fills later', async () => {
  const sim = await changedAtTheRecord(({ chainFaults }) => {
    chainFaults.down = true
  })
  expect(withdrawn(sim)).toEqual(['chain-unavailable'])
  expect(sim.watch.signatures).toBe(1)
  sim.chainFaults.down = false
  await sim.runFor(10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'filled filled'])
  expectSound(sim)
})
