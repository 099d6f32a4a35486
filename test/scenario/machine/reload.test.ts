import { expect, test } from 'vitest'
import type { OperatorFiles } from '../../../src/engine/daemon.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { untilObserved, untilSigned } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

function capOf(amount: number) {
  return { perDay: new Map([[USDC.address, usdc(amount)]]) }
}

async function reload(sim: Simulation, files: OperatorFiles): Promise<void> {
  sim.strategies = files.strategies
  sim.account = files.account
  await Promise.all([sim.control.reload(files), sim.runFor(5_000)])
}

test('a reload applies the account limits that its strategies were checked against', async () => {
  const sim = new Simulation({
    seed: 'reload limits',
    strategies: [aStrategy()],
    account: capOf(1_000),
  })
  sim.start()
  await sim.runFor(2 * HOUR + MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('filled filled'))
  await reload(sim, { strategies: [aStrategy()], account: { ...sim.account, ...capOf(30) } })
  await sim.runFor(2 * HOUR)
  expect(outcomes(sim, 'hourly').slice(2)).toEqual(Array(2).fill('skipped limit-account-per-day'))
})

test('an order decided before a reload obeys the limits at its signature', async () => {
  const sim = new Simulation({ seed: 'reload in the queue', strategies: [aStrategy()] })
  sim.ledger.setAllowance(USDC.address, WALLET, usdc(1_000))
  sim.queueDelayMs = 5_000
  sim.start()
  await sim.runFor(HOUR)
  await untilObserved(sim, 'quote-verified')
  const { strategies, account } = sim
  void sim.control.reload({ strategies, account: { ...account, ...capOf(1) } })
  await sim.runFor(MINUTE)
  expect(sim.watch.signatures).toBe(0)
  expect(outcomes(sim, 'hourly')).toEqual(['skipped limit-account-per-day'])
  expectSound(sim)
})

test('an order signed before a reload continues as decided', async () => {
  const sim = new Simulation({ seed: 'reload in flight', strategies: [aStrategy()] })
  sim.serviceFaults.fillsLate = 1
  sim.start()
  await sim.runFor(HOUR)
  await untilSigned(sim, 1)
  const { strategies, account } = sim
  void sim.control.reload({ strategies, account: { ...account, ...capOf(1) } })
  await sim.runFor(30 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
})
