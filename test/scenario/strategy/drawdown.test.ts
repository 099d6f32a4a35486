import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { aThreshold, below, trailing } from '../../unit/strategies/decide-fixture.ts'

test('a fall by the drawdown limit pauses the strategy, across a restart, until a resume resets the peak', async () => {
  const strategy = aThreshold({
    limits: { ...OPEN, drawdownBps: 2_000 },
    rungs: [trailing(6_000)],
  })
  const sim = new Simulation({ seed: 'drawdown', strategies: [strategy] })
  const last = () => outcomes(sim, 'stop').at(-1)
  sim.start()
  sim.market.setPrice(5_000n)
  await sim.runFor(3 * MINUTE)
  sim.market.setPrice(4_500n)
  await sim.runFor(2 * MINUTE)
  expect(last()).toBe('skipped not-triggered')

  sim.crash()
  sim.start()
  // 50 WETH and 100,000 USDC: from 350,000 at the highest to 270,000.
  sim.market.setPrice(3_400n)
  await sim.runFor(2 * MINUTE)
  const paused = sim.state.strategies.get('stop')?.paused
  expect(paused?.cause).toBe('drawdown')
  expect(paused?.detail).toMatch(
    /^its tokens are worth 270,000 USDC, 22\.85% below the highest, 350,000 USDC/,
  )
  expect(outcomes(sim, 'stop').filter((each) => each === 'skipped drawdown')).toHaveLength(1)
  sim.crash()
  sim.start()
  sim.market.setPrice(5_000n)
  await sim.runFor(3 * MINUTE)
  expect(last()).toBe('skipped paused')

  sim.market.setPrice(3_400n)
  const resumed = sim.control.resume('stop')
  await sim.runFor(3 * MINUTE)
  await resumed
  expect(last()).toBe('skipped not-triggered')
  sim.market.setPrice(3_000n)
  await sim.runFor(2 * MINUTE)
  expect(last()).toBe('skipped not-triggered')
  sim.market.setPrice(2_200n)
  await sim.runFor(2 * MINUTE)
  expect(sim.state.strategies.get('stop')?.paused?.cause).toBe('drawdown')
  expectSound(sim)
})

test("a strategy's memory of armed levels and of its peak value survives fills and restarts", async () => {
  const strategy = aThreshold({
    limits: { ...OPEN, drawdownBps: 2_000 },
    rungs: [below(2_400)],
    rearmBps: 2_000,
  })
  const sim = new Simulation({ seed: 'side by side', strategies: [strategy] })
  const memory = () => sim.state.strategies.get('stop')?.memory ?? {}
  const fills = () => outcomes(sim, 'stop').filter((each) => each === 'filled filled').length
  sim.start()
  await sim.runFor(2 * MINUTE)
  const peak = memory()['drawdown.peak']
  expect(peak).toBe('225000000000')

  sim.market.setPrice(2_300n)
  await sim.runFor(2 * MINUTE)
  expect(fills()).toBe(1)
  sim.crash()
  sim.start()
  await sim.runFor(3 * MINUTE)
  expect(fills()).toBe(1)
  expect(memory()['drawdown.peak']).toBe(peak)
  expect(Object.keys(memory())).toHaveLength(3)

  sim.market.setPrice(1_500n)
  await sim.runFor(2 * MINUTE)
  expect(sim.state.strategies.get('stop')?.paused?.detail).toContain('225,000 USDC')
  expectSound(sim)
})
