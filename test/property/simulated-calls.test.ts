import { describe, expect, test } from 'vitest'
import { createRandom, type SeededRandom } from '../../src/domain/random.ts'
import type { FallbackMode } from '../../src/domain/settings.ts'
import type { World } from '../../src/simulate/world.ts'
import { aCallStrategy, callWorld } from '../support/aggregator/call-world.ts'
import { aSchedule, HOUR, MINUTE } from '../support/builders.ts'
import { expectSound, outcomes } from '../support/sound.ts'

/** More worlds for a longer search: SIMULATED_WORLDS=500. */
const SEEDS = Number(process.env['SIMULATED_WORLDS'] ?? 10)
const MODES: readonly FallbackMode[] = ['off', 'rejected-only', 'after-deadline']
const STRATEGIES = [
  aCallStrategy({ name: 'often', schedule: aSchedule('*/20 * * * *') }),
  aCallStrategy({ name: 'hourly', calldata: '0x4e71d92e' }),
]

const ROUTES = [
  'sendRawTransaction',
  'getTransactionReceipt',
  'accountInfo',
  'transactionStatus',
] as const

/** One trouble begins, another ends; sometimes the machine itself fails. */
function disturb(world: World, random: SeededRandom): void {
  const { faults, chainFaults, ledger } = world.aggregation
  const half = random.chance(0.5) ? 1 : 0
  const message = 'no'
  const troubles: readonly (() => void)[] = [
    () => Object.assign(faults, { failsAfter: half, failsBefore: random.next() }),
    () => Object.assign(faults, { down: half === 1 }),
    () => Object.assign(faults, { rejection: { tag: 'rejected', message } }),
    () => Object.assign(faults, { rejection: { tag: 'rejected', message }, rejectsButTakes: true }),
    () => Object.assign(faults, { neverExecutes: half === 1 }),
    () => Object.assign(faults, { broadcastsAlone: half === 1 }),
    () => Object.assign(faults, { delayMs: random.between(0, 400_000) }),
    () => Object.assign(faults, { receipts: half === 1 ? 'null' : 'not-found' }),
    () => Object.assign(faults, { receiptsLost: random.next() }),
    () => Object.assign(faults, { namesHash: ledger.mined.at(-1)?.hash }),
    () => Object.assign(chainFaults, { down: half === 1 }),
    () => Object.assign(chainFaults, { unavailable: random.next() / 2 }),
    () => Object.assign(chainFaults, { tracesDown: half === 1, draftsDown: half === 0 }),
    () => Object.assign(chainFaults, { noGas: half === 1 }),
    () => Object.assign(chainFaults, { behind: random.between(0, 8) }),
    () => Object.assign(chainFaults, { lateAccounts: random.between(1, 3), accountLateMs: 60_000 }),
    () => {
      world.queueDelaysMs = { [ROUTES[random.between(0, 3)] ?? '']: half * 400_000 }
    },
    () => {
      ledger.losesDirect = half === 1
    },
    () => world.clock.stall(random.between(1_000, 60_000)),
    () => world.start(),
  ]
  if (random.chance(0.4)) world.aggregation.calmDown()
  troubles[random.between(0, troubles.length - 1)]?.()
}

describe('a day of calls full of troubles', () => {
  const seeds = Array.from({ length: SEEDS }, (_each, index) => index)
  test.each(seeds)('executes no call twice and accounts for each (seed %i)', async (seed) => {
    const random = createRandom(`calls ${seed}`)
    const mode = MODES[seed % MODES.length] ?? 'off'
    const world = callWorld({
      seed: `calls ${seed}`,
      strategies: STRATEGIES,
      aggregator: { fallback: { mode, deadlineMs: 180_000 } },
    })
    world.start()
    for (let steps = 0; steps < 60; steps += 1) {
      await world.runFor(random.between(1_000, 10 * MINUTE))
      disturb(world, random)
      if (random.chance(0.2)) world.start()
    }
    world.aggregation.ledger.losesDirect = false
    world.queueDelaysMs = {}
    expect(await world.calmDown()).toBe(true)
    expectSound(world)
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'often').at(-1)).toBe('filled filled')
    expectSound(world)
  })
})
