import { expect, test } from 'vitest'
import type { OperatorFiles } from '../../../src/engine/daemon.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilObserved, untilSigned } from '../../support/worlds/run-until.ts'

function capOf(amount: number) {
  return { perDay: new Map([[USDC.address, usdc(amount)]]) }
}

async function reload(world: World, files: OperatorFiles): Promise<void> {
  world.strategies = files.strategies
  world.account = files.account
  await Promise.all([world.control.reload(files), world.runFor(5_000)])
}

test('a reload applies the account limits that its strategies were checked against', async () => {
  const world = new World({
    seed: 'reload limits',
    strategies: [aStrategy()],
    account: capOf(1_000),
  })
  world.start()
  await world.runFor(2 * HOUR + MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
  await reload(world, { strategies: [aStrategy()], account: { ...world.account, ...capOf(30) } })
  await world.runFor(2 * HOUR)
  expect(outcomes(world, 'hourly').slice(2)).toEqual(Array(2).fill('skipped limit-account-per-day'))
})

test('an order decided before a reload obeys the limits at its signature', async () => {
  const world = new World({ seed: 'reload in the queue', strategies: [aStrategy()] })
  world.ledger.setAllowance(USDC.address, WALLET, usdc(1_000))
  world.queueDelayMs = 5_000
  world.start()
  await world.runFor(HOUR)
  await untilObserved(world, 'quote-verified')
  const { strategies, account } = world
  void world.control.reload({ strategies, account: { ...account, ...capOf(1) } })
  await world.runFor(MINUTE)
  expect(world.watch.signatures).toBe(0)
  expect(outcomes(world, 'hourly')).toEqual(['skipped limit-account-per-day'])
  expectSound(world)
})

test('an order signed before a reload continues as decided', async () => {
  const world = new World({ seed: 'reload in flight', strategies: [aStrategy()] })
  world.serviceFaults.fillsLate = 1
  world.start()
  await world.runFor(HOUR)
  await untilSigned(world, 1)
  const { strategies, account } = world
  void world.control.reload({ strategies, account: { ...account, ...capOf(1) } })
  await world.runFor(30 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
})
