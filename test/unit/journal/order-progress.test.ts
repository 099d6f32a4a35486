import { describe, expect, test } from 'vitest'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import { doingOf, overdueAtMs } from '../../../src/journal/order-progress.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import type { DaemonState, OpenIntent } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import {
  callFor,
  callIntentOf,
  exposed,
  filledSlot,
  fillOf,
  intentOf,
  opened,
  permitFor,
  scheduled,
} from '../../support/state/journal-events.ts'

const SLOT = 1_800_000_000
const NOW_MS = SLOT * 1000
const MINUTE_MS = 60_000
const intent = intentOf(SLOT)
const own = { intentId: intent.id, attempt: 1 }
const { deadlineSeconds } = permitFor(intent)
const AFTER_MS = deadlineSeconds * 1000 + 1_000

function openAfter(...events: readonly JournalEvent[]): { state: DaemonState; open: OpenIntent } {
  const state = emptyState()
  reduce(state, scheduled(), NOW_MS)
  for (const event of events) reduce(state, event, NOW_MS)
  const [open] = state.intents.values()
  if (open === undefined) throw new Error('nothing is open')
  return { state, open }
}

function doing(
  events: readonly JournalEvent[],
  { nowMs = NOW_MS, waitsFor }: { nowMs?: number; waitsFor?: string } = {},
): string {
  const { state, open } = openAfter(...events)
  return doingOf(state, open, { nowMs, waitsFor })
}

const EXPOSED = [opened(intent), exposed(intent)]
const ACCEPTED = [
  ...EXPOSED,
  { type: 'order-accepted', ...own, orderId: 'order-7' },
] as const satisfies readonly JournalEvent[]
const ENDED = [
  ...ACCEPTED,
  { type: 'order-ended', ...own, status: 'failed', message: 'no' },
] as const satisfies readonly JournalEvent[]

describe('the progress text of an open order', () => {
  test.each<[string, readonly JournalEvent[], RegExp]>([
    ['nothing is signed', [opened(intent)], /nothing is signed yet.*turn and a quote/],
    ['its permit was recorded', EXPOSED, /is not acknowledged yet: the same bytes are sent again/],
    ['the service has accepted it', ACCEPTED, /the service has it as order-7.*every few seconds/],
    [
      'the service reports a failure',
      ENDED,
      /says it failed: until its deadline.*may still execute/,
    ],
    ['it is filled', [...ACCEPTED, filled()], /it is filled: it is being closed/],
    [
      'an attempt expired',
      [
        ...ENDED,
        {
          type: 'authorization-dead',
          ...{ ...own, how: 'expired', blockNumber: 1n, blockTimeSeconds: 1 },
        },
      ],
      /attempt 1 expired: the next one waits/,
    ],
    [
      'an operator resolved it',
      [
        ...ACCEPTED,
        {
          type: 'order-settled',
          ...{ ...own, as: 'dead', evidence: '', blockNumber: undefined },
          blockTimeSeconds: undefined,
        },
      ],
      /an operator resolved it/,
    ],
    [
      'a reorganisation removed its fill',
      [
        ...filledSlot(SLOT),
        {
          type: 'fill-reopened',
          ...{ ...own, blockNumber: 1n, blockHash: fillOf(intent).txHash },
        },
      ],
      /a reorganisation removed its fill/,
    ],
  ])('describes the state if %s', (_name, events, text) => {
    expect(doing(events)).toMatch(text)
  })

  test('refers to the chain once the deadline has passed', () => {
    for (const events of [EXPOSED, ACCEPTED, ENDED])
      expect(doing(events, { nowMs: AFTER_MS })).toMatch(/deadline has passed: a final block/)
  })

  test('names the reason for waiting', () => {
    const text = doing([opened(intent)], { waitsFor: 'waits, until 09:00 at most: chain-stale' })
    expect(text).toBe('nothing is signed: it waits, until 09:00 at most: chain-stale')
  })

  test('names the wallet transaction in progress', () => {
    const transaction: TransactionRecord = {
      id: `${intent.id}:wrap`,
      purpose: 'wrap',
      intentId: intent.id,
      chainId: 8453,
      from: intent.owner,
      nonce: 1,
      to: intent.owner,
      data: '0x',
      value: 1n,
      gas: 1n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
    }
    expect(doing([opened(intent), { type: 'transaction-recorded', transaction }])).toMatch(
      /ETH is being wrapped/,
    )
  })
})

describe('an order is overdue', () => {
  test('a quarter of an hour after its deadline is final', () => {
    const { open } = openAfter(...EXPOSED)
    const deadlineMs = deadlineSeconds * 1000
    expect(overdueAtMs(open, 0)).toBe(deadlineMs + 15 * MINUTE_MS)
    expect(overdueAtMs(open, 10)).toBe(deadlineMs + 17 * MINUTE_MS)
    expect(overdueAtMs(open, 'finalized')).toBe(deadlineMs + 45 * MINUTE_MS)
  })

  test('a quarter of an hour after its latest start, if nothing is signed', () => {
    const { open } = openAfter(opened(intent))
    expect(overdueAtMs(open, 0)).toBe(intent.startBeforeMs + 15 * MINUTE_MS)
  })

  test('an hour after its opening, if it has no deadline', () => {
    const call = callIntentOf(SLOT + 1)
    const record = callFor(call, { attempt: 1, nonce: 1n })
    expect(record.trust).toBe('trusted')
    const { open } = openAfter(opened(call), {
      type: 'call-recorded',
      intentId: call.id,
      call: record,
    })
    expect(overdueAtMs(open, 0)).toBe(NOW_MS + 75 * MINUTE_MS)
  })
})

function filled(): JournalEvent {
  return { type: 'fill-proven', ...own, fill: fillOf(intent) }
}
