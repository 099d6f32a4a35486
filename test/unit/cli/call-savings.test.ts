import { expect, test } from 'vitest'
import { callSavings, savingsText } from '../../../src/cli/commands/call-savings.ts'
import type { Execution, JournalRecord } from '../../../src/domain/book/journal.ts'

const ETHER = 10n ** 18n

async function* calls(
  ...list: readonly (readonly [
    via: Execution['via'],
    charged: bigint | undefined,
    direct: bigint,
  ])[]
) {
  for (const [seq, [via, charged, direct]] of list.entries()) {
    const execution: Execution = {
      txHash: '0x',
      blockNumber: 1n,
      via,
      costs: { charged, direct },
    }
    const event = { type: 'call-proven', intentId: 'a:1:0', attempt: 1, execution } as const
    yield { seq, atMs: 0, event, prev: '0x', hash: '0x' } satisfies JournalRecord
  }
}

test('sums what shared calls were charged against what they would have cost directly', async () => {
  const savings = await callSavings(
    calls(['aggregated', 8n * ETHER, 10n * ETHER], ['aggregated', ETHER, 2n * ETHER]),
  )
  expect(savings).toEqual({
    calls: 2,
    charged: 9n * ETHER,
    direct: 12n * ETHER,
    saved: 3n * ETHER,
    unknown: 0,
  })
  expect(savingsText(savings)).toBe('2 calls for 9 ETH, 12 ETH directly: saved 3 ETH (25.0 %)')
})

test('leaves out direct calls and calls with an unknown figure, and says how many of these', async () => {
  const savings = await callSavings(
    calls(
      ['aggregated', ETHER, 2n * ETHER],
      ['direct', ETHER, ETHER],
      ['aggregated', undefined, ETHER],
    ),
  )
  expect(savings).toMatchObject({ calls: 1, charged: ETHER, unknown: 1 })
  expect(savingsText(savings)).toMatch(/; 1 more with unknown costs$/)
})

test('tells honestly when sharing saved nothing', async () => {
  const savings = await callSavings(calls(['aggregated', 3n * ETHER, 2n * ETHER]))
  expect(savings.saved).toBe(-ETHER)
  expect(savingsText(savings)).toContain('saved nothing: 1 ETH more than direct')
  expect(savingsText(await callSavings(calls()))).toBe('no call with known costs yet')
})
