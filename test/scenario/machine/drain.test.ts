import { describe, expect, test } from 'vitest'
import { type ChainFaults, noChainFaults } from '../../simulation/chain/chain.ts'
import { noServiceFaults, type ServiceFaults } from '../../simulation/gasless/faults.ts'
import { World } from '../../simulation/simulation.ts'
import { aCallStrategy, callWorld, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { aStrategy, ETH, HOUR, MINUTE, milliWeth, SELL_USDC } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { runUntil, untilEvent } from '../../support/worlds/run-until.ts'

/** Bound from the stop to the end of a daemon that waits for nothing, ms. */
const AT_ONCE_MS = 1_000

/**
 * A world with two orders that are decided but unsigned, because `hold` delays them from their slot on.
 * Both strategies filled an hour before, so no approval is pending.
 */
async function withPlanned(
  hold: (world: World) => void,
  andThen: (world: World) => void = () => undefined,
): Promise<World> {
  const strategies = [aStrategy({ name: 'one' }), aStrategy({ name: 'two' })]
  const world = new World({ seed: 'planned', strategies })
  world.start()
  await world.runFor(2 * HOUR - 1)
  expect(world.watch.signatures).toBe(2)
  hold(world)
  await runUntil(world, 'two intents', () => world.state.intents.size === 2)
  andThen(world)
  await world.runFor(3_000)
  return world
}

/** Expects the daemon to end at once without a signature, and the next start to fill both orders. */
async function expectReleased(world: World): Promise<void> {
  world.stop('SIGTERM')
  await world.runFor(AT_ONCE_MS)
  expect(world.ended).toBe('returned')
  expect(states(world)).toEqual(['planned', 'planned'])
  calm(world)
  await world.runFor(20 * MINUTE)
  expect(world.watch.signatures).toBe(2)
  expect(states(world)).toEqual(['planned', 'planned'])
  world.start()
  await world.runFor(2 * MINUTE)
  for (const strategy of ['one', 'two'])
    expect(outcomes(world, strategy)).toEqual(['filled filled', 'filled filled'])
  expectSound(world)
}

function states(world: World): string[] {
  return [...world.disk.reducedState().intents.values()].map(({ state }) => state)
}

function calm(world: World): void {
  hold(world, noServiceFaults())
  Object.assign(world.chainFaults, noChainFaults())
}

type Hold = { readonly submitMs?: number; readonly quoteMs?: number } & Partial<ServiceFaults>

const HELD: readonly [string, Hold][] = [
  ['a limit holds the submissions', { submitMs: 5 * MINUTE }],
  ['a limit holds the quotes', { quoteMs: 5 * MINUTE }],
  ['the service answers nothing but 429', { rateLimited: 1 }],
  ['the service gives no quote', { down: true }],
  ['a quote hangs', { slowMs: 5 * MINUTE }],
]

function hold(world: World, { submitMs = 0, quoteMs = 0, ...faults }: Hold): void {
  world.queueDelayMs = submitMs
  world.queueDelaysMs = { quote: quoteMs }
  Object.assign(world.serviceFaults, faults)
}

describe('a drain releases unsigned orders at once', () => {
  test.each(HELD)('while %s', async (_name, held) => {
    const world = await withPlanned((world) => hold(world, held))
    await expectReleased(world)
  })

  test.each<[string, Partial<ChainFaults>]>([
    ['is down', { down: true }],
    ['hangs', { slowMs: 5 * MINUTE }],
  ])('while the node %s', async (_name, faults) => {
    const world = await withPlanned(
      (held) => hold(held, { quoteMs: 500 }),
      ({ chainFaults }) => Object.assign(chainFaults, faults),
    )
    await expectReleased(world)
  })
})

test('a drain waits for a pending wallet transaction and signs nothing after it', async () => {
  const strategy = aStrategy({
    sell: ETH,
    buy: SELL_USDC,
    size: { side: 'sell', amount: milliWeth(10) },
  })
  const world = new World({ seed: 'a wrap', strategies: [strategy] })
  world.chainFaults.minesAfterBlocksMax = 1_000_000
  world.start()
  await world.runFor(HOUR - 100)
  await untilEvent(world, 'transaction-recorded')
  world.stop('SIGTERM')
  await world.runFor(5_000)
  expect(world.ended).toBeUndefined()
  await world.runFor(MINUTE)
  expect(world.ended).toBe('returned')
  expect(states(world)).toEqual(['planned'])
  expect(world.watch.signatures).toBe(0)
})

test('a drain releases calls whose account cannot be read, and the next start makes them', async () => {
  const names = ['a', 'b']
  const world = callWorld({
    seed: 'calls',
    strategies: names.map((name) => aCallStrategy({ name })),
  })
  await untilFirstSlot(world)
  await runUntil(world, 'two intents', () => world.state.intents.size === 2)
  world.aggregation.chainFaults.down = true
  await world.runFor(2_000)
  world.stop('SIGTERM')
  await world.runFor(AT_ONCE_MS)
  expect(world.ended).toBe('returned')
  expect(states(world)).toEqual(['planned', 'planned'])
  world.aggregation.calmDown()
  world.start()
  await world.runFor(5 * MINUTE)
  for (const name of names) expect(outcomes(world, name)).toEqual(['filled filled'])
  expectSound(world)
})
