import { describe, expect, test } from 'vitest'
import type { DcaStrategy } from '../../../src/strategies/dca/dca-kind.ts'
import type { CrashPoint } from '../../simulation/journal.ts'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  aSchedule,
  aStrategy,
  BUY_WETH,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const SCHEDULE = aSchedule('5 0 * * *', { missed: 'latest' })
const CASES: readonly { readonly name: string; readonly strategy: DcaStrategy }[] = [
  { name: 'a plain order', strategy: aStrategy({ schedule: SCHEDULE }) },
  {
    name: 'an order that sells ETH',
    strategy: aStrategy({
      schedule: SCHEDULE,
      sell: ETH,
      buy: SELL_USDC,
      size: { side: 'sell', amount: milliWeth(20) },
    }),
  },
  {
    name: 'an order that pays with ETH for an exact amount',
    strategy: aStrategy({
      schedule: SCHEDULE,
      sell: ETH,
      buy: SELL_USDC,
      size: { side: 'buy', amount: usdc(25) },
    }),
  },
  {
    name: 'an order that buys ETH',
    strategy: aStrategy({ schedule: SCHEDULE, buy: { ...BUY_WETH, native: true } }),
  },
]

async function oneSlot(
  strategy: DcaStrategy,
  crashAt: CrashPoint | undefined,
): Promise<Simulation> {
  const sim = new Simulation({ seed: 'crash points', strategies: [strategy] })
  sim.disk.crashAt = crashAt
  sim.start()
  await sim.runFor(10 * MINUTE)
  return sim
}

describe.each(CASES)('$name', ({ strategy }) => {
  test('fills exactly once when the machine loses power at any append', async () => {
    const { appends } = (await oneSlot(strategy, undefined)).disk
    expect(appends).toBeGreaterThan(5)
    for (let append = 1; append <= appends; append += 1) {
      for (const when of ['before', 'after'] as const) {
        const sim = await oneSlot(strategy, { append, when })
        const point = `crash ${when} append ${append}`
        expect([point, outcomes(sim, 'hourly')]).toEqual([point, ['filled filled']])
        expect([point, sim.watch.signatures]).toEqual([point, 1])
        // The next daemon reads the price again and signs the recorded permit.
        const permits = eventTypes(sim).filter((type) => type === 'permit-recorded')
        expect([point, permits.length]).toEqual([point, 1])
        expectSound(sim)
        expect([point, imbalances(sim)]).toEqual([point, []])
      }
    }
  })

  test('leaves nothing open when power returns hours after its slot', async () => {
    const { appends } = (await oneSlot(strategy, undefined)).disk
    for (let append = 3; append <= appends; append += 1) {
      const sim = new Simulation({ seed: 'late power', strategies: [strategy] })
      sim.restartAfterMs = 3 * HOUR
      sim.disk.crashAt = { append, when: 'after' }
      sim.start()
      await sim.runFor(5 * HOUR)
      const point = `crash after append ${append}`
      expect([point, outcomes(sim, 'hourly').length]).toEqual([point, 1])
      const { intents, transactions } = sim.state
      // An unsent approval stays open until the wallet's next transaction.
      const open = [...transactions.values()].filter(({ record }) => record.purpose !== 'approve')
      expect([point, intents.size, open]).toEqual([point, 0, []])
      expectSound(sim)
      expect([point, imbalances(sim)]).toEqual([point, []])
    }
  })
})
