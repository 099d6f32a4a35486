import { describe, expect, test } from 'vitest'
import { type ChainFaults, noChainFaults } from '../../simulation/chain/chain.ts'
import { noServiceFaults, type ServiceFaults } from '../../simulation/gasless/faults.ts'
import { World } from '../../simulation/simulation.ts'
import { aCallStrategy, callWorld, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { aStrategy, ETH, HOUR, MINUTE, milliWeth, SELL_USDC } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { runUntil, untilEvent } from '../../support/worlds/run-until.ts'

/** From the stop to the end of a daemon that has nothing to wait for. */
const AT_ONCE_MS = 1_000

/**
 * A world with two orders that were decided and not signed yet, as something holds them from the moment of their slot on.
 * An hour before, both strategies filled: no approval is to be made any more.
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

/** The daemon ends at once, nothing is signed however long what held them goes on, and the next start fills both. */
async function expectLetGo(world: World): Promise<void> {
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
  ['no quote can be had', { down: true }],
  ['a quote hangs', { slowMs: 5 * MINUTE }],
]

function hold(world: World, { submitMs = 0, quoteMs = 0, ...faults }: Hold): void {
  world.queueDelayMs = submitMs
  world.queueDelaysMs = { quote: quoteMs }
  Object.assign(world.serviceFaults, faults)
}

describe('a drain lets orders go at once that have nothing signed', () => {
  test.each(HELD)('while %s', async (_name, held) => {
    const world = await withPlanned((world) => hold(world, held))
    await expectLetGo(world)
  })

  test.each<[string, Partial<ChainFaults>]>([
    ['is gone', { down: true }],
    ['hangs', { slowMs: 5 * MINUTE }],
  ])('while the node %s', async (_name, faults) => {
    const world = await withPlanned(
      (held) => hold(held, { quoteMs: 500 }),
      ({ chainFaults }) => Object.assign(chainFaults, faults),
    )
    await expectLetGo(world)
  })
})

test('a drain waits for a transaction of our own that is on its way, and signs nothing after it', async () => {
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

test('calls whose account cannot be read are let go at once, and made after the next start', async () => {
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
