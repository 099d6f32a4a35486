import { expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { World } from '../../simulation/simulation.ts'
import { callWorld, executed } from '../../support/aggregator/call-world.ts'
import {
  aSchedule,
  aStrategy,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  SELL_USDC,
} from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const FROM_ETH = aStrategy({
  name: 'from-eth',
  schedule: aSchedule('*/10 * * * *'),
  sell: ETH,
  buy: SELL_USDC,
  size: { side: 'sell', amount: milliWeth(10) },
})

test('a node with wrong numbers in half its answers halts nothing, and trading resumes once it is right', async () => {
  for (const seed of ['one', 'two', 'three']) {
    const world = new World({ seed, strategies: [FROM_ETH, aStrategy()] })
    world.start()
    await world.runFor(HOUR)
    world.chainFaults.lies = 0.5
    for (let minutes = 0; minutes < 90; minutes += 1) {
      await world.runFor(MINUTE)
      expect(world.state.halted).toBeUndefined()
    }
    world.chainFaults.lies = 0
    expect(await world.calmDown()).toBe(true)
    await world.runFor(HOUR)
    expect(outcomes(world, 'from-eth').at(-1)).toBe('filled filled')
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  }
})

test('calls resume after a node with wrong numbers, each executed once', async () => {
  const world = callWorld({ seed: 'lying for calls' })
  world.start()
  await world.runFor(HOUR)
  world.aggregation.chainFaults.lies = 0.5
  await world.runFor(6 * HOUR)
  expect(world.state.halted).toBeUndefined()
  const before = executed(world)
  world.aggregation.chainFaults.lies = 0
  expect(await world.calmDown()).toBe(true)
  await world.runFor(3 * HOUR)
  expect(executed(world)).toBeGreaterThan(before)
  expectSound(world)
})
