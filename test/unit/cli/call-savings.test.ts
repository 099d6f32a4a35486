import { expect, test } from 'vitest'
import {
  callSavings,
  checkText,
  savingsText,
} from '../../../src/cli/commands/account/gastank-text.ts'
import type { JournalRecord } from '../../../src/journal/events/registry.ts'
import type { CallCosts, Execution } from '../../../src/journal/records.ts'

const ETHER = 10n ** 18n

type Told = Pick<CallCosts, 'saved' | 'blob' | 'fall'>

async function* calls(
  ...list: readonly (readonly [
    via: Execution['via'],
    charged: bigint | undefined,
    direct: bigint,
    told?: Told,
  ])[]
) {
  for (const [seq, [via, charged, direct, told]] of list.entries()) {
    const costs = { charged, direct, ...told }
    const execution: Execution = { txHash: '0x', blockNumber: 1n, via, costs }
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
    saved: 3n * ETHER,
    blob: 0n,
    check: { calls: 0, fell: 0n, charged: 0n },
    disputed: 0,
    unknown: 0,
    delegation: 0n,
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

test('takes the word of the service for what was saved, blob gas included, and checks its charge', async () => {
  const savings = await callSavings(
    calls(
      ['aggregated', 8n * ETHER, 9n * ETHER, { saved: 2n * ETHER, blob: ETHER, fall: 8n * ETHER }],
      ['aggregated', ETHER, ETHER, { saved: 0n }],
    ),
  )
  expect(savings).toMatchObject({ saved: 2n * ETHER, blob: ETHER, disputed: 0 })
  expect(savingsText(savings)).toContain(
    '2 calls for 9 ETH (1 ETH of it for blobs), 11 ETH directly',
  )
  expect(checkText(savings)).toBe('the balance fell by 8 ETH for 1 of them, as charged')
})

test('says how many calls took more out of the funds than the service says', async () => {
  const savings = await callSavings(
    calls(
      ['aggregated', ETHER, ETHER, { fall: 3n * ETHER }],
      ['aggregated', ETHER, ETHER, { fall: ETHER }],
    ),
  )
  expect(checkText(savings)).toBe(
    'the balance fell by 4 ETH for 2 of them, but 2 ETH was charged: 1 differ',
  )
  expect(checkText(await callSavings(calls()))).toMatch(/^no call/)
})

test('sums of a journal that was told impossible charges are still shown', async () => {
  const savings = await callSavings(calls(['aggregated', -ETHER, ETHER, { saved: ETHER }]))
  expect(savingsText(savings)).toContain('saved 1 ETH')
})

test('what delegations were charged is summed apart', async () => {
  async function* delegated() {
    const of = { chainId: 1, account: `0x${'a1'.repeat(20)}` } as const
    for (const charged of [5n, 7n]) {
      const event = { type: 'delegation-charged', ...of, charged } as const
      yield { seq: 1, atMs: 0, event, prev: '0x', hash: '0x' } satisfies JournalRecord
    }
  }
  expect(await callSavings(delegated())).toMatchObject({ calls: 0, charged: 0n, delegation: 12n })
})
