import { describe, expect, test } from 'vitest'
import { type ChainFaults, noChainFaults } from '../../simulation/chain/chain.ts'
import { noServiceFaults, type ServiceFaults } from '../../simulation/gasless/faults.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aStrategy, ETH, HOUR, MINUTE, milliWeth, SELL_USDC } from '../../support/builders.ts'
import { runUntil, untilEvent } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/** Bound from the stop to the end of a daemon that waits for nothing, ms. */
const AT_ONCE_MS = 1_000

/**
 * A simulation with two orders that are decided but unsigned, because `hold` delays them from their slot on.
 * Both strategies filled an hour before, so no approval is pending.
 */
async function withPlanned(
  hold: (sim: Simulation) => void,
  andThen: (sim: Simulation) => void = () => undefined,
): Promise<Simulation> {
  const strategies = [aStrategy({ name: 'one' }), aStrategy({ name: 'two' })]
  const sim = new Simulation({ seed: 'planned', strategies })
  sim.start()
  await sim.runFor(2 * HOUR - 1)
  expect(sim.watch.signatures).toBe(2)
  hold(sim)
  await runUntil(sim, 'two intents', () => sim.state.intents.size === 2)
  andThen(sim)
  await sim.runFor(3_000)
  return sim
}

/** Expects the daemon to end at once without a signature, and the next start to fill both orders. */
async function expectReleased(sim: Simulation): Promise<void> {
  sim.stop('SIGTERM')
  await sim.runFor(AT_ONCE_MS)
  expect(sim.ended).toBe('returned')
  expect(states(sim)).toEqual(['planned', 'planned'])
  calm(sim)
  await sim.runFor(20 * MINUTE)
  expect(sim.watch.signatures).toBe(2)
  expect(states(sim)).toEqual(['planned', 'planned'])
  sim.start()
  await sim.runFor(2 * MINUTE)
  for (const strategy of ['one', 'two'])
    expect(outcomes(sim, strategy)).toEqual(['filled filled', 'filled filled'])
  expectSound(sim)
}

function states(sim: Simulation): string[] {
  return [...sim.disk.reducedState().intents.values()].map(({ state }) => state)
}

function calm(sim: Simulation): void {
  hold(sim, noServiceFaults())
  Object.assign(sim.chainFaults, noChainFaults())
}

type Hold = { readonly submitMs?: number; readonly quoteMs?: number } & Partial<ServiceFaults>

const HELD: readonly [string, Hold][] = [
  ['a limit holds the submissions', { submitMs: 5 * MINUTE }],
  ['a limit holds the quotes', { quoteMs: 5 * MINUTE }],
  ['the service answers nothing but 429', { rateLimited: 1 }],
  ['the service gives no quote', { down: true }],
  ['a quote hangs', { slowMs: 5 * MINUTE }],
]

function hold(sim: Simulation, { submitMs = 0, quoteMs = 0, ...faults }: Hold): void {
  sim.queueDelayMs = submitMs
  sim.queueDelaysMs = { quote: quoteMs }
  Object.assign(sim.serviceFaults, faults)
}

describe('a drain releases unsigned orders at once', () => {
  test.each(HELD)('while %s', async (_name, held) => {
    const sim = await withPlanned((sim) => hold(sim, held))
    await expectReleased(sim)
  })

  test.each<[string, Partial<ChainFaults>]>([
    ['is down', { down: true }],
    ['hangs', { slowMs: 5 * MINUTE }],
  ])('while the node %s', async (_name, faults) => {
    const sim = await withPlanned(
      (held) => hold(held, { quoteMs: 500 }),
      ({ chainFaults }) => Object.assign(chainFaults, faults),
    )
    await expectReleased(sim)
  })
})

test('a drain waits for a pending wallet transaction and signs nothing after it', async () => {
  const strategy = aStrategy({
    sell: ETH,
    buy: SELL_USDC,
    size: { side: 'sell', amount: milliWeth(10) },
  })
  const sim = new Simulation({ seed: 'a wrap', strategies: [strategy] })
  sim.chainFaults.minesAfterBlocksMax = 1_000_000
  sim.start()
  await sim.runFor(HOUR - 100)
  await untilEvent(sim, 'transaction-recorded')
  sim.stop('SIGTERM')
  await sim.runFor(5_000)
  expect(sim.ended).toBeUndefined()
  await sim.runFor(MINUTE)
  expect(sim.ended).toBe('returned')
  expect(states(sim)).toEqual(['planned'])
  expect(sim.watch.signatures).toBe(0)
})

test('a drain releases calls whose account cannot be read, and the next start makes them', async () => {
  const names = ['a', 'b']
  const sim = callSimulation({
    seed: 'calls',
    strategies: names.map((name) => aCallStrategy({ name })),
  })
  await untilFirstSlot(sim)
  await runUntil(sim, 'two intents', () => sim.state.intents.size === 2)
  sim.aggregation.chainFaults.down = true
  await sim.runFor(2_000)
  sim.stop('SIGTERM')
  await sim.runFor(AT_ONCE_MS)
  expect(sim.ended).toBe('returned')
  expect(states(sim)).toEqual(['planned', 'planned'])
  sim.aggregation.calmDown()
  sim.start()
  await sim.runFor(5 * MINUTE)
  for (const name of names) expect(outcomes(sim, name)).toEqual(['filled filled'])
  expectSound(sim)
})
