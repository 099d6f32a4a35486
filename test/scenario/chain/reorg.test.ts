import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { callWorld, executed, untilFirstSlot } from '../../support/aggregator/call-world.ts'
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
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

/** A minute of blocks: deeper than a settlement is when it is reported. */
const DEEP = { finality: 30, agree: 1 }

/** A world whose first order is filled and closed, but not final. */
async function filled(strategies = [aStrategy()], seed = 'reorg', rule = DEEP): Promise<World> {
  const world = new World({ seed, strategies, rule })
  world.start()
  await world.runFor(HOUR - 100)
  await untilEvent(world, 'slot-closed')
  expect(world.state.unfinal.size).toBe(1)
  return world
}

describe('a reorg that removes a fill before it is final', () => {
  test('reopens the order, and its fill counts once when it is mined again', async () => {
    const world = await filled()
    world.ledger.reorg({ blocks: 10, againAfterMs: 7_000 })
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled', 'filled filled'])
    expect(eventTypes(world).filter((type) => type === 'fill-proven')).toHaveLength(2)
    expect(world.observations.filter(({ type }) => type === 'fill-reopened')).toHaveLength(1)
    expect(world.watch.signatures).toBe(1)
    expect(world.state.strategies.get('hourly')?.fills).toBe(1)
    expect(world.state.unfinal.size).toBe(0)
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test('is detected after an earlier check found the fill not deep enough', async () => {
    const world = await filled([aStrategy()], 'checked before', { finality: 90, agree: 1 })
    await world.runFor(100_000)
    expect(world.observations.some(({ type }) => type === 'finality')).toBe(true)
    expect(eventTypes(world)).not.toContain('fills-final')
    // The permit has expired meanwhile, so the fill cannot return.
    world.ledger.reorg({ blocks: 60, againAfterMs: undefined })
    await world.runFor(5 * MINUTE)
    expect(eventTypes(world).filter((type) => type === 'fill-reopened')).toHaveLength(1)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled', 'failed fill-reverted'])
    expect(world.state.strategies.get('hourly')?.spent.get(USDC.address)).toBe(0n)
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test('reverses the accounting of a fill that never returns, and places no other order', async () => {
    const world = await filled()
    world.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await world.runFor(10 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled', 'failed fill-reverted'])
    expect(world.watch.signatures).toBe(1)
    const record = world.state.strategies.get('hourly')
    expect(record).toMatchObject({ fills: 0, failureStreak: 1 })
    expect(record?.spent.get(USDC.address)).toBe(0n)
    expect(world.state.exposures.size).toBe(0)
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test('leaves the order in its caps until its permit expires', async () => {
    const limits = { ...OPEN, total: capOf(USDC, usdc(25)) }
    const schedule = aSchedule('*/2 * * * *')
    const world = new World({
      seed: 'capped reorg',
      strategies: [aStrategy({ limits, schedule })],
      rule: DEEP,
    })
    world.serviceFaults.quoteLifetimeMs = 600_000
    world.start()
    await untilEvent(world, 'slot-closed')
    world.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await world.runFor(8 * MINUTE)
    expect(world.state.intents.size).toBe(1)
    const [, ...later] = outcomes(world, 'hourly')
    expect(new Set(later)).toEqual(new Set(['skipped limit-total']))
    await world.runFor(10 * MINUTE)
    const all = outcomes(world, 'hourly')
    const end = all.indexOf('failed fill-reverted')
    expect(end).toBeGreaterThan(0)
    expect(all.slice(end).filter((each) => each === 'filled filled')).toHaveLength(1)
    expectSound(world)
  })

  test('is tracked across a crash', async () => {
    const world = await filled()
    world.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await untilEvent(world, 'fill-reopened')
    world.crash()
    await world.runFor(MINUTE)
    world.start()
    await world.runFor(10 * MINUTE)
    expect(outcomes(world, 'hourly').at(-1)).toBe('failed fill-reverted')
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('is detected by the next process when the machine was down', async () => {
    const world = await filled()
    world.crash()
    world.ledger.reorg({ blocks: 10, againAfterMs: 3_000 })
    await world.runFor(5 * MINUTE)
    world.start()
    await world.runFor(2 * MINUTE)
    expect(eventTypes(world)).toContain('fill-reopened')
    expect(world.state.unfinal.size).toBe(0)
    expect(world.state.strategies.get('hourly')?.fills).toBe(1)
    expectSound(world)
  })

  test('does not unwrap an amount twice', async () => {
    const toEth = aStrategy({ sell: SELL_USDC, buy: { ...BUY_WETH, native: true } })
    const world = await filled([toEth], 'native reorg')
    const weth = world.balance(BUY_WETH.token.address)
    expect(weth).toBe(world.initialWeth)
    world.ledger.reorg({ blocks: 20, againAfterMs: 3_000 })
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled', 'filled filled'])
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })
})

test('a reorg below the finality depth changes no final fill', async () => {
  const world = await filled()
  await world.runFor(3 * MINUTE)
  expect(eventTypes(world).at(-1)).toBe('fills-final')
  const spent = world.state.spent.get(USDC.address)
  world.ledger.reorg({ blocks: 100, againAfterMs: undefined })
  await world.runFor(10 * MINUTE)
  expect(eventTypes(world)).not.toContain('fill-reopened')
  expect(world.state.spent.get(USDC.address)).toBe(spent)
})

describe('a reorg that removes an executed call', () => {
  async function called(seed: string): Promise<World> {
    const world = callWorld({ seed, rule: DEEP })
    await untilFirstSlot(world)
    await untilEvent(world, 'slot-closed')
    expect(executed(world)).toBe(1)
    return world
  }

  test('is tracked until the call executes again', async () => {
    const world = await called('call reorg')
    world.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 7_000 })
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled', 'filled filled'])
    expect(executed(world)).toBe(1)
    expect(world.aggregation.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('leads to no second submission by either route when the call never returns', async () => {
    const world = await called('call gone')
    world.aggregation.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await world.runFor(30 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled', 'failed fill-reverted'])
    expect(executed(world)).toBe(0)
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    await world.runFor(HOUR)
    expect(outcomes(world, 'claim').at(-1)).toBe('filled filled')
    expectSound(world)
  })
})
