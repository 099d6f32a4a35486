import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import {
  callSimulation,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import {
  aSchedule,
  aStrategy,
  BUY_WETH,
  capOf,
  HOUR,
  MINUTE,
  OPEN,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** A minute of blocks: deeper than a settlement is when it is reported. */
const DEEP = { finality: 30, agree: 1 }

/** A simulation whose first order is filled and closed, but not final. */
async function filled(
  strategies = [aStrategy()],
  seed = 'reorg',
  rule = DEEP,
): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies, rule })
  sim.start()
  await sim.runFor(HOUR - 100)
  await untilEvent(sim, 'slot-closed')
  expect(sim.state.unfinal.size).toBe(1)
  return sim
}

describe('a reorg that removes a fill before it is final', () => {
  test('reopens the order, and its fill counts once when it is mined again', async () => {
    const sim = await filled()
    sim.ledger.reorg({ blocks: 10, againAfterMs: 7_000 })
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'filled filled'])
    expect(eventTypes(sim).filter((type) => type === 'fill-proven')).toHaveLength(2)
    expect(sim.observations.filter(({ type }) => type === 'fill-reopened')).toHaveLength(1)
    expect(sim.watch.signatures).toBe(1)
    expect(sim.state.strategies.get('hourly')?.fills).toBe(1)
    expect(sim.state.unfinal.size).toBe(0)
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test('is detected after an earlier check found the fill not deep enough', async () => {
    const sim = await filled([aStrategy()], 'checked before', { finality: 90, agree: 1 })
    await sim.runFor(100_000)
    expect(sim.observations.some(({ type }) => type === 'finality')).toBe(true)
    expect(eventTypes(sim)).not.toContain('fills-final')
    // The permit has expired meanwhile, so the fill cannot return.
    sim.ledger.reorg({ blocks: 60, againAfterMs: undefined })
    await sim.runFor(5 * MINUTE)
    expect(eventTypes(sim).filter((type) => type === 'fill-reopened')).toHaveLength(1)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'failed fill-reverted'])
    expect(sim.state.strategies.get('hourly')?.spent.get(USDC.address)).toBe(0n)
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test('reverses the accounting of a fill that never returns, and places no other order', async () => {
    const sim = await filled()
    sim.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await sim.runFor(10 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'failed fill-reverted'])
    expect(sim.watch.signatures).toBe(1)
    const record = sim.state.strategies.get('hourly')
    expect(record).toMatchObject({ fills: 0, failureStreak: 1 })
    expect(record?.spent.get(USDC.address)).toBe(0n)
    expect(sim.state.exposures.size).toBe(0)
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test('leaves the order in its caps until its permit expires', async () => {
    const limits = { ...OPEN, total: capOf(USDC, usdc(25)) }
    const schedule = aSchedule('*/2 * * * *')
    const sim = new Simulation({
      seed: 'capped reorg',
      strategies: [aStrategy({ limits, schedule })],
      rule: DEEP,
    })
    sim.serviceFaults.quoteLifetimeMs = 600_000
    sim.start()
    await untilEvent(sim, 'slot-closed')
    sim.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await sim.runFor(8 * MINUTE)
    expect(sim.state.intents.size).toBe(1)
    const [, ...later] = outcomes(sim, 'hourly')
    expect(new Set(later)).toEqual(new Set(['skipped limit-total']))
    await sim.runFor(10 * MINUTE)
    const all = outcomes(sim, 'hourly')
    const end = all.indexOf('failed fill-reverted')
    expect(end).toBeGreaterThan(0)
    expect(all.slice(end).filter((each) => each === 'filled filled')).toHaveLength(1)
    expectSound(sim)
  })

  test('is tracked across a crash', async () => {
    const sim = await filled()
    sim.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await untilEvent(sim, 'fill-reopened')
    sim.crash()
    await sim.runFor(MINUTE)
    sim.start()
    await sim.runFor(10 * MINUTE)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('failed fill-reverted')
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('is detected by the next process when the machine was down', async () => {
    const sim = await filled()
    sim.crash()
    sim.ledger.reorg({ blocks: 10, againAfterMs: 3_000 })
    await sim.runFor(5 * MINUTE)
    sim.start()
    await sim.runFor(2 * MINUTE)
    expect(eventTypes(sim)).toContain('fill-reopened')
    expect(sim.state.unfinal.size).toBe(0)
    expect(sim.state.strategies.get('hourly')?.fills).toBe(1)
    expectSound(sim)
  })

  test('does not unwrap an amount twice', async () => {
    const toEth = aStrategy({ sell: SELL_USDC, buy: { ...BUY_WETH, native: true } })
    const sim = await filled([toEth], 'native reorg')
    const weth = sim.balance(BUY_WETH.token.address)
    expect(weth).toBe(sim.initialWeth)
    sim.ledger.reorg({ blocks: 20, againAfterMs: 3_000 })
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'filled filled'])
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })
})

test('a reorg below the finality depth changes no final fill', async () => {
  const sim = await filled()
  await sim.runFor(3 * MINUTE)
  expect(eventTypes(sim).at(-1)).toBe('fills-final')
  const spent = sim.state.spent.get(USDC.address)
  sim.ledger.reorg({ blocks: 100, againAfterMs: undefined })
  await sim.runFor(10 * MINUTE)
  expect(eventTypes(sim)).not.toContain('fill-reopened')
  expect(sim.state.spent.get(USDC.address)).toBe(spent)
})

describe('a reorg that removes an executed call', () => {
  async function called(seed: string): Promise<Simulation> {
    const sim = callSimulation({ seed, rule: DEEP })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'slot-closed')
    expect(executed(sim)).toBe(1)
    return sim
  }

  test('is tracked until the call executes again', async () => {
    const sim = await called('call reorg')
    sim.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 7_000 })
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'filled filled'])
    expect(executed(sim)).toBe(1)
    expect(sim.aggregation.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('leads to no second submission by either route when the call never returns', async () => {
    const sim = await called('call gone')
    sim.aggregation.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await sim.runFor(30 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'failed fill-reverted'])
    expect(executed(sim)).toBe(0)
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'claim').at(-1)).toBe('filled filled')
    expectSound(sim)
  })
})
