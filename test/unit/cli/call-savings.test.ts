import { expect, test } from 'vitest'
import {
  callSavings,
  checkText,
  savingsText,
} from '../../../src/cli/commands/account/gastank-text.ts'
import type { JournalRecord } from '../../../src/journal/events/registry.ts'
import type { CallCosts, Execution } from '../../../src/journal/records.ts'

const ETHER = 10n ** 18n

type Reported = Pick<CallCosts, 'saved' | 'blob' | 'fall'>

async function* calls(
  ...list: readonly (readonly [
    via: Execution['via'],
    charged: bigint | undefined,
    direct: bigint,
    reported?: Reported,
  ])[]
) {
  for (const [seq, [via, charged, direct, reported]] of list.entries()) {
    const costs = { charged, direct, ...reported }
    const execution: Execution = { txHash: '0x', blockNumber: 1n, via, costs }
    const event = { type: 'call-proven', intentId: 'a:1:0', attempt: 1, execution } as const
    yield { seq, atMs: 0, event, prev: '0x', hash: '0x' } satisfies JournalRecord
  }
}

test('sums the charges of shared calls against their direct cost', async () => {
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

test('excludes direct calls and calls with an unknown figure, and counts the latter', async () => {
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

test('reports a loss when sharing saved nothing', async () => {
  const savings = await callSavings(calls(['aggregated', 3n * ETHER, 2n * ETHER]))
  expect(savings.saved).toBe(-ETHER)
  expect(savingsText(savings)).toContain('saved nothing: 1 ETH more than direct')
  expect(savingsText(await callSavings(calls()))).toBe('no call with known costs yet')
})

test('takes the saving and blob gas reported by the service, and checks its charge', async () => {
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

test('counts the calls that reduced the balance by more than the service charged', async () => {
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

test('sums of a journal with impossible charges are still shown', async () => {
  const savings = await callSavings(calls(['aggregated', -ETHER, ETHER, { saved: ETHER }]))
  expect(savingsText(savings)).toContain('saved 1 ETH')
})

test('charges of delegations are summed separately', async () => {
  async function* delegated() {
    const of = { chainId: 1, account: `0x${'a1'.repeat(20)}` } as const
    for (const charged of [5n, 7n]) {
      const event = { type: 'delegation-charged', ...of, charged } as const
      yield { seq: 1, atMs: 0, event, prev: '0x', hash: '0x' } satisfies JournalRecord
    }
  }
  expect(await callSavings(delegated())).toMatchObject({ calls: 0, charged: 0n, delegation: 12n })
})
