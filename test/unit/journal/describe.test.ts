import { describe, expect, test } from 'vitest'
import { InvariantError } from '../../../src/domain/errors.ts'
import { ETHER } from '../../../src/domain/money/token.ts'
import { type IntentClosed, orderEndOf } from '../../../src/journal/events/order/outcomes.ts'
import { logNameOf } from '../../../src/journal/events/outputs.ts'
import {
  contextOf,
  isAbout,
  type JournalEvent,
  type Recorded,
  reduceRecorded,
} from '../../../src/journal/events/registry.ts'
import { slotClosed, slotEndOf, slotsMissed } from '../../../src/journal/events/strategy/slots.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import {
  BOUND,
  bytes32,
  exposed,
  filledSlot,
  fillOf,
  intentOf,
  opened,
  STRATEGY,
  scheduled,
} from '../../support/state/journal-events.ts'

const SLOT = 2_000
const intent = intentOf(SLOT)
const own = { intentId: intent.id, attempt: 1 } as const
const subject = { strategy: STRATEGY, intentId: intent.id }

/** Records of these events, in order. */
function recorded(...events: readonly JournalEvent[]): readonly Recorded[] {
  const state = emptyState()
  return events.map((event, index) =>
    reduceRecorded(state, event, { seq: index + 1, atMs: SLOT * 1_000 + index }),
  )
}

/** Context of the last of these events. */
function contextOfLast(...events: readonly JournalEvent[]): Recorded['context'] | undefined {
  return recorded(scheduled(), ...events).at(-1)?.context
}

test('every record of a filled slot has a log name', () => {
  const names = recorded(BOUND, scheduled(), ...filledSlot(SLOT)).map(({ event }) =>
    logNameOf(event),
  )
  expect(names).toEqual([
    'bound',
    'strategy-scheduled',
    'slot-opened',
    'authorization-recorded',
    'order-accepted',
    'filled',
    'intent-closed',
    'slot-closed',
  ])
})

test('a fill has its ledger entry and the time since its slot opened', () => {
  const fill = fillOf(intent)
  const proven = { type: 'fill-proven', ...own, fill } as const
  expect(contextOfLast(opened(intent), exposed(intent), proven)).toEqual({
    intent,
    entry: {
      type: 'trade',
      atMs: SLOT * 1_000 + 3,
      ...subject,
      paper: false,
      sell: intent.sell.token,
      buy: intent.buy.token,
      paid: fill.paid,
      received: fill.received,
      txHash: fill.txHash,
      vsFeedBps: undefined,
      fee: undefined,
    },
    durationMs: 2,
  })
})

test('an authorization that was withdrawn unsigned has its intent', () => {
  const withdrawn = { type: 'authorization-withdrawn', ...own, reason: 'quote-stale' } as const
  expect(contextOfLast(opened(intent), exposed(intent), withdrawn)).toEqual({ intent })
})

test.each([
  [{ as: 'executed', txHash: bytes32(9) }, 25_000_000n],
  [{ as: 'dead' }, 0n],
] as const)('a manual resolution %o has the amount that it records', (resolution, booked) => {
  const seen = { evidence: 'its nonce is used', blockNumber: 9n, blockTimeSeconds: 3_000 }
  const resolved = { type: 'order-settled', ...own, ...seen, ...resolution } as const
  const token = intent.sell.token
  expect(contextOfLast(opened(intent), exposed(intent), resolved)).toEqual({
    intent,
    token,
    booked,
  })
})

describe('the end of an intent', () => {
  const closed = { type: 'intent-closed', intentId: intent.id } as const
  const endOf = (end: Omit<IntentClosed, 'type' | 'intentId'>) => orderEndOf({ ...closed, ...end })

  test('is a refusal or a failure with a known reason and its detail', () => {
    const refused = { outcome: 'refused', reason: 'digest-mismatch', detail: 'a is not b' } as const
    expect(endOf(refused)).toEqual({
      tag: 'refused',
      reason: 'digest-mismatch',
      detail: 'a is not b',
    })
    const expired = { outcome: 'expired', reason: 'quote-stale' } as const
    expect(endOf(expired)).toEqual({ tag: 'failed', reason: 'quote-stale', detail: '' })
    expect(contextOfLast(opened(intent), { ...closed, ...expired })).toEqual({ intent })
  })

  test.each(['filled', 'skipped'] as const)('that was %s is neither', (outcome) => {
    const reason = outcome === 'filled' ? 'filled' : 'halted'
    expect(endOf({ outcome, reason })).toEqual({ tag: 'closed' })
  })
})

test('a missed run ends all of its slots, and a closed slot only itself', () => {
  const run = { firstSeconds: SLOT, lastSeconds: SLOT + 60, count: 2 }
  expect(slotEndOf(slotsMissed({ strategy: STRATEGY, ...run }))).toMatchObject({
    ...{ strategy: STRATEGY, slotSeconds: SLOT, lastSeconds: SLOT + 60, count: 2 },
    ...{ outcome: 'missed', reason: 'missed' },
  })
  const end = { outcome: 'skipped', reason: 'cooldown', detail: 'why' } as const
  expect(slotEndOf(slotClosed({ strategy: STRATEGY, slotSeconds: SLOT, ...end }))).toMatchObject({
    ...end,
    strategy: STRATEGY,
    slotSeconds: SLOT,
    lastSeconds: SLOT,
    count: 1,
  })
  expect(slotEndOf(opened(intent))).toBeUndefined()
})

test('a transaction is recorded, then replaced under the same ID, then ended with its purpose', () => {
  const transaction: TransactionRecord = {
    id: `${intent.id}:wrap`,
    purpose: 'wrap',
    intentId: intent.id,
    chainId: 8453,
    from: intent.owner,
    nonce: 3,
    to: intent.sell.token.address,
    data: '0x',
    value: 1n,
    gas: 1n,
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
    hash: bytes32(1),
  }
  const dearer = { ...transaction, maxFeePerGas: 2n, hash: bytes32(2) }
  const steps = recorded(
    scheduled(),
    opened(intent),
    { type: 'transaction-recorded', transaction },
    { type: 'transaction-recorded', transaction: dearer },
    {
      type: 'transaction-ended',
      id: transaction.id,
      status: 'mined',
      hash: bytes32(2),
      blockNumber: 5n,
    },
  )
    .slice(2)
    .map(({ context }) => context)
  const whose = { intentId: intent.id, purpose: 'wrap' }
  expect(steps).toEqual([
    { ...whose, status: 'recorded', hash: bytes32(1) },
    { ...whose, status: 'replaced', hash: bytes32(2) },
    {
      ...{ ...whose, status: 'mined', hash: bytes32(2) },
      exchanged: {
        ...{ sell: ETHER, amount: 1n },
        buy: { ...ETHER, symbol: 'WETH', chainId: 8453, address: transaction.to },
      },
    },
  ])
})

test('a mined unwrap exchanged its token for ether; a reverted or cancelled unwrap exchanged nothing', () => {
  const id = `${intent.id}:unwrap`
  const data = `0x2e1a7d4d${123n.toString(16).padStart(64, '0')}` as const
  const unwrap: TransactionRecord = {
    ...{ id, purpose: 'unwrap', intentId: intent.id, chainId: 8453, from: intent.owner, nonce: 3 },
    ...{ to: intent.buy.token.address, data, value: 0n, gas: 1n, hash: bytes32(1) },
    ...{ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
  }
  const ended = (transaction: TransactionRecord, status: 'mined' | 'reverted') =>
    contextOfLast(
      opened(intent),
      { type: 'transaction-recorded', transaction },
      { type: 'transaction-ended', id, status, hash: bytes32(1), blockNumber: 5n },
    )
  expect(ended(unwrap, 'mined')).toMatchObject({
    exchanged: { sell: { symbol: 'WETH' }, buy: ETHER, amount: 123n },
  })
  for (const none of [
    ended(unwrap, 'reverted'),
    ended({ ...unwrap, data: '0x', isCancelling: true }, 'mined'),
    ended({ ...unwrap, data: '0x2e1a7d4d' }, 'mined'),
  ])
    expect(none).toMatchObject({ exchanged: undefined })
})

test('an indexed deposit has its amount; a deposit that is not mined cannot be indexed', () => {
  const id = 'deposit:0x01:3'
  const transaction: TransactionRecord = {
    ...{ id, purpose: 'deposit', intentId: undefined, chainId: 8453, from: intent.owner, nonce: 3 },
    ...{ to: intent.owner, data: '0x', value: 50n, gas: 1n, hash: bytes32(1) },
    ...{ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, availableBefore: 0n },
  }
  const made = { type: 'transaction-recorded', transaction } as const
  const ended = { type: 'transaction-ended', id, hash: bytes32(1), blockNumber: 5n } as const
  const indexed = { type: 'deposit-indexed', id } as const
  const mined = recorded(made, { ...ended, status: 'mined' }, indexed)
  expect(mined.at(-1)?.context).toEqual({ amount: 50n })
  expect(() => recorded(made, indexed)).toThrow(InvariantError)
})

test('an event that does not fit the state has no context', () => {
  const accepted = { type: 'order-accepted', ...own, orderId: 'o-1' } as const
  expect(() => contextOf(emptyState(), accepted, 0)).toThrow(InvariantError)
})

describe('an event is about a slot', () => {
  const slot = { strategy: STRATEGY, slotSeconds: SLOT }

  test('if it names the slot or one of its intents, or lies in a missed run', () => {
    const records = recorded(scheduled(), ...filledSlot(SLOT))
    expect(records.map((each) => isAbout(each, slot))).toEqual([false, ...Array(6).fill(true)])
    const missed = { type: 'slots-missed', strategy: STRATEGY, count: 3 } as const
    const event = { ...missed, firstSeconds: SLOT - 60, lastSeconds: SLOT + 60 }
    expect(isAbout({ event, context: {} }, slot)).toBe(true)
    expect(isAbout({ event, context: {} }, { ...slot, slotSeconds: SLOT + 61 })).toBe(false)
  })

  test('and about no other slot of this or another strategy', () => {
    const records = recorded(scheduled(), ...filledSlot(SLOT))
    const others = [
      { ...slot, slotSeconds: SLOT + 60 },
      { ...slot, slotSeconds: 200 },
      { ...slot, strategy: 'weekly' },
    ]
    for (const other of others) expect(records.filter((each) => isAbout(each, other))).toEqual([])
  })

  test('by the context of its transaction if it names no slot', () => {
    const event = { type: 'transaction-signed', id: 'approve:0x01:7', hash: bytes32(1) } as const
    const context = { intentId: intent.id, purpose: 'approve', status: 'signed' } as const
    expect(isAbout({ event, context: { ...context, hash: event.hash } }, slot)).toBe(true)
    expect(isAbout({ event, context: undefined }, slot)).toBe(false)
  })
})
