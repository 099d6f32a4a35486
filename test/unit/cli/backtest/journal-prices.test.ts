import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../../src/journal/events/registry.ts'
import { BOUND } from '../../../support/state/journal-events.ts'
import { openForTest } from '../../../support/state/state-directory.ts'
import { aFolder, hour, outcomesOf } from './backtest-fixture.ts'

/** A slot of a USDC/WETH strategy, decided at the given price in USDC. */
function decided(at: number, price: number, key = 'USDC/WETH', feed = 'WETH/USDC'): JournalEvent {
  return {
    ...{ type: 'slot-closed', strategy: 'other', slotSeconds: hour(at) },
    ...{ outcome: 'skipped', reason: 'inside-band' },
    inputs: {
      ...{ blockNumber: 1n, blockTimeSeconds: hour(at), available: {}, memory: {} },
      prices: {
        [key]: {
          num: BigInt(price) * 10n ** 6n,
          den: 10n ** 18n,
          updatedAtSeconds: hour(at) - 60,
          feeds: [feed],
        },
      },
    },
  }
}

async function aJournal(events: readonly JournalEvent[]) {
  const folder = aFolder({})
  const { journal, close } = await openForTest(`${folder.dir}/state`)
  const scheduled: JournalEvent = {
    ...{ type: 'strategy-scheduled', strategy: 'other', scheduleKey: '0 * * * *' },
    fromSeconds: hour(0) - 1,
  }
  for (const event of [BOUND, scheduled, ...events]) await journal.append(event)
  await close()
  return folder
}

test('prices recorded by a daemon drive other strategies, with gaps where it recorded none', async () => {
  const { report, type, dir } = await aJournal([
    decided(0, 2000),
    decided(1, 2010),
    decided(2, 2020),
    decided(5, 2050),
  ])
  const data = await report({ prices: 'journal', spread: 0 })
  expect(data.prices).toEqual([
    {
      ...{ pair: 'WETH/USDC', rounds: 4 },
      source: `the journal in ${dir}/state up to 2025-01-01T04:59:00.000Z`,
    },
  ])
  expect(data.fills.map(({ marketPrice }) => marketPrice)).toEqual(['2000', '2010', '2020', '2050'])
  expect(outcomesOf(data)).toEqual({ filled: 4, 'price-stale': 2 })
  expect(data.notes.join('\n')).toMatch(
    /WETH\/USDC: for .*% of the period the newest price was older/,
  )
  expect((await type({ prices: 'journal' })).stdout).toMatch(/4 rounds of the journal in/)
})

test('a journal without the pair, without any price, or absent is rejected', async () => {
  const other = await aJournal([decided(0, 1, 'USDC/DAI', 'DAI/USDC')])
  const stderrOf = async (folder: Pick<typeof other, 'type'>) => {
    const { code, stderr } = await folder.type({ prices: 'journal' })
    expect(code).toBe(2)
    return stderr
  }
  expect(await stderrOf(other)).toMatch(/^backtest: --prices: .* has no price of WETH in USDC/)
  expect(await stderrOf(await aJournal([]))).toMatch(/no decision in the journal .* from a price/)
  expect(await stderrOf(aFolder({}))).toMatch(/--prices: there is no journal in .*state/)
})
