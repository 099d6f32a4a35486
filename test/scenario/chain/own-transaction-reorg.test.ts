import { describe, expect, test } from 'vitest'
import type { EventOf, JournalEvent } from '../../../src/journal/events/registry.ts'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  aSchedule,
  aStrategy,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  SELL_USDC,
} from '../../support/builders.ts'
import { runUntil } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/** A minute of blocks: deeper than a wrap is when its order continues. */
const DEEP = { finality: 30, agree: 1 }

const FROM_ETH = aStrategy({
  name: 'from-eth',
  schedule: aSchedule('0 * * * *'),
  sell: ETH,
  buy: SELL_USDC,
  size: { side: 'sell', amount: milliWeth(10) },
})

/** A simulation in which a wallet transaction of an order was just mined and journaled. */
async function mined(purpose: 'wrap' | 'approve', seed: string): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies: [FROM_ETH], rule: DEEP })
  sim.start()
  await sim.runFor(HOUR - 100)
  await runUntil(sim, purpose, () => endOf(sim, purpose) !== undefined, 50)
  return sim
}

const all = <Type extends JournalEvent['type']>(sim: Simulation, type: Type): EventOf<Type>[] =>
  sim.disk.events().filter((event) => event.type === type) as EventOf<Type>[]

function endOf(sim: Simulation, purpose: string): EventOf<'transaction-ended'> | undefined {
  const ids = all(sim, 'transaction-recorded').flatMap(({ transaction }) =>
    transaction.purpose === purpose ? [transaction.id] : [],
  )
  return all(sim, 'transaction-ended').find(({ id }) => ids.includes(id))
}

describe('a reorg that drops a mined wallet transaction from every node', () => {
  test.each(['wrap', 'approve'] as const)(
    'makes the daemon send the same %s again, and the wallet continues',
    async (purpose) => {
      const sim = await mined(purpose, `lost ${purpose}`)
      const before = endOf(sim, purpose)
      sim.ledger.reorg({ blocks: 3, againAfterMs: undefined, losesOwn: true })
      await sim.runFor(5 * MINUTE)
      const reopened = all(sim, 'transaction-reopened').map(({ id }) => id)
      expect(reopened).toContain(before?.id)
      const ends = all(sim, 'transaction-ended').filter(({ id }) => id === before?.id)
      expect(ends.map(({ hash, status }) => [hash, status])).toEqual([
        [before?.hash, 'mined'],
        [before?.hash, 'mined'],
      ])
      // The same bytes at the same fee: no replacement was recorded.
      const versions = all(sim, 'transaction-recorded').map(({ transaction }) => transaction.id)
      expect(new Set(versions).size).toBe(versions.length)
      await sim.runFor(2 * HOUR)
      expect(sim.state.transactions.size).toBe(0)
      expect(sim.state.unfinalTransactions.size).toBe(0)
      expect(outcomes(sim, 'from-eth').slice(-2)).toEqual(['filled filled', 'filled filled'])
      expect(imbalances(sim)).toEqual([])
      expectSound(sim)
    },
  )

  test('is no longer watched for once the transaction is final', async () => {
    const sim = await mined('wrap', 'final')
    await sim.runFor(5 * MINUTE)
    expect(sim.state.unfinalTransactions.size).toBe(0)
    const final = all(sim, 'transactions-final').flatMap(({ ids }) => ids)
    expect(final).toContain(endOf(sim, 'wrap')?.id)
    expect(sim.observations.some(({ type }) => type === 'transaction-reopened')).toBe(false)
    expectSound(sim)
  })

  test('is detected at the next start when the daemon was down', async () => {
    const sim = await mined('wrap', 'down')
    const id = endOf(sim, 'wrap')?.id
    sim.crash()
    sim.ledger.reorg({ blocks: 3, againAfterMs: undefined, losesOwn: true })
    await sim.runFor(2 * MINUTE)
    sim.start()
    await sim.runFor(5 * MINUTE)
    expect(all(sim, 'transaction-reopened').map((each) => each.id)).toContain(id)
    await sim.runFor(3 * HOUR)
    expect(sim.state.transactions.size).toBe(0)
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })
})
