import { describe, expect, test } from 'vitest'
import type { EventOf, JournalEvent } from '../../../src/journal/events/registry.ts'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { World } from '../../simulation/simulation.ts'
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
import { runUntil } from '../../support/worlds/run-until.ts'

/** A minute of blocks: deeper than a wrap is when its order continues. */
const DEEP = { finality: 30, agree: 1 }

const FROM_ETH = aStrategy({
  name: 'from-eth',
  schedule: aSchedule('0 * * * *'),
  sell: ETH,
  buy: SELL_USDC,
  size: { side: 'sell', amount: milliWeth(10) },
})

/** A world in which a wallet transaction of an order was just mined and journaled. */
async function mined(purpose: 'wrap' | 'approve', seed: string): Promise<World> {
  const world = new World({ seed, strategies: [FROM_ETH], rule: DEEP })
  world.start()
  await world.runFor(HOUR - 100)
  await runUntil(world, purpose, () => endOf(world, purpose) !== undefined, 50)
  return world
}

const all = <Type extends JournalEvent['type']>(world: World, type: Type): EventOf<Type>[] =>
  world.disk.events().filter((event) => event.type === type) as EventOf<Type>[]

function endOf(world: World, purpose: string): EventOf<'transaction-ended'> | undefined {
  const ids = all(world, 'transaction-recorded').flatMap(({ transaction }) =>
    transaction.purpose === purpose ? [transaction.id] : [],
  )
  return all(world, 'transaction-ended').find(({ id }) => ids.includes(id))
}

describe('a reorg that drops a mined wallet transaction from every node', () => {
  test.each(['wrap', 'approve'] as const)(
    'makes the daemon send the same %s again, and the wallet continues',
    async (purpose) => {
      const world = await mined(purpose, `lost ${purpose}`)
      const before = endOf(world, purpose)
      world.ledger.reorg({ blocks: 3, againAfterMs: undefined, losesOwn: true })
      await world.runFor(5 * MINUTE)
      const reopened = all(world, 'transaction-reopened').map(({ id }) => id)
      expect(reopened).toContain(before?.id)
      const ends = all(world, 'transaction-ended').filter(({ id }) => id === before?.id)
      expect(ends.map(({ hash, status }) => [hash, status])).toEqual([
        [before?.hash, 'mined'],
        [before?.hash, 'mined'],
      ])
      // The same bytes at the same fee: no replacement was recorded.
      const versions = all(world, 'transaction-recorded').map(({ transaction }) => transaction.id)
      expect(new Set(versions).size).toBe(versions.length)
      await world.runFor(2 * HOUR)
      expect(world.state.transactions.size).toBe(0)
      expect(world.state.unfinalTransactions.size).toBe(0)
      expect(outcomes(world, 'from-eth').slice(-2)).toEqual(['filled filled', 'filled filled'])
      expect(imbalances(world)).toEqual([])
      expectSound(world)
    },
  )

  test('is no longer watched for once the transaction is final', async () => {
    const world = await mined('wrap', 'final')
    await world.runFor(5 * MINUTE)
    expect(world.state.unfinalTransactions.size).toBe(0)
    const final = all(world, 'transactions-final').flatMap(({ ids }) => ids)
    expect(final).toContain(endOf(world, 'wrap')?.id)
    expect(world.observations.some(({ type }) => type === 'transaction-reopened')).toBe(false)
    expectSound(world)
  })

  test('is detected at the next start when the daemon was down', async () => {
    const world = await mined('wrap', 'down')
    const id = endOf(world, 'wrap')?.id
    world.crash()
    world.ledger.reorg({ blocks: 3, againAfterMs: undefined, losesOwn: true })
    await world.runFor(2 * MINUTE)
    world.start()
    await world.runFor(5 * MINUTE)
    expect(all(world, 'transaction-reopened').map((each) => each.id)).toContain(id)
    await world.runFor(3 * HOUR)
    expect(world.state.transactions.size).toBe(0)
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })
})
