import { describe, expect, test } from 'vitest'
import type { Fact } from '../../../src/domain/book/fact.ts'
import { emptyState } from '../../../src/domain/book/fields.ts'
import type { JournalEvent, TransactionRecord } from '../../../src/domain/book/journal.ts'
import { applyAndTell, isAbout, tell } from '../../../src/domain/book/tell.ts'
import { InvariantError } from '../../../src/domain/errors.ts'
import { ETHER } from '../../../src/domain/token.ts'
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
} from '../../support/state/journal-story.ts'

const SLOT = 2_000
const intent = intentOf(SLOT)
const own = { intentId: intent.id, attempt: 1 } as const
const subject = { strategy: STRATEGY, intentId: intent.id }

/** What each of some records says, in order. */
function told(...events: readonly JournalEvent[]): readonly Fact[] {
  const state = emptyState()
  return events.map((event, index) => applyAndTell(state, event, SLOT * 1_000 + index))
}

/** What the last of some records says. */
function lastOf(...events: readonly JournalEvent[]): Fact | undefined {
  return told(scheduled(), ...events).at(-1)
}

test('every record of a filled slot says one thing', () => {
  expect(told(BOUND, scheduled(), ...filledSlot(SLOT)).map(({ type }) => type)).toEqual([
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

test('a fill is told with the tokens of its intent and the time since its slot was opened', () => {
  const fill = fillOf(intent)
  const proven = { type: 'fill-proven', ...own, fill } as const
  expect(lastOf(opened(intent), exposed(intent), proven)).toEqual({
    type: 'filled',
    ...subject,
    venue: 'gasless',
    sell: intent.sell.token,
    buy: intent.buy.token,
    paid: fill.paid,
    received: fill.received,
    txHash: fill.txHash,
    durationMs: 2,
  })
})

test('what was recorded and not signed after all is told with its reason', () => {
  const withdrawn = { type: 'authorization-withdrawn', ...own, reason: 'quote-stale' } as const
  expect(lastOf(opened(intent), exposed(intent), withdrawn)).toEqual({
    type: 'authorization-withdrawn',
    ...subject,
    attempt: 1,
    reason: 'quote-stale',
  })
})

test.each([
  [{ as: 'executed', txHash: bytes32(9) }, 25_000_000n],
  [{ as: 'dead' }, 0n],
] as const)("an operator's word %o is told with what is booked by it", (word, booked) => {
  const seen = { evidence: 'its nonce is used', blockNumber: 9n, blockTimeSeconds: 3_000 }
  const settled = { type: 'order-settled', ...own, ...seen, ...word } as const
  expect(lastOf(opened(intent), exposed(intent), settled)).toEqual({
    type: 'order-settled',
    ...subject,
    attempt: 1,
    word,
    evidence: 'its nonce is used',
    token: intent.sell.token,
    booked,
  })
})

describe('the end of an intent', () => {
  const closed = { type: 'intent-closed', intentId: intent.id } as const

  test('is a refusal or a failure with its reason in a closed set and its detail', () => {
    const refused = { outcome: 'refused', reason: 'digest-mismatch', detail: 'a is not b' } as const
    expect(lastOf(opened(intent), { ...closed, ...refused })).toEqual({
      type: 'refused',
      ...subject,
      reason: 'digest-mismatch',
      detail: 'a is not b',
    })
    const expired = { outcome: 'expired', reason: 'quote-stale' } as const
    expect(lastOf(opened(intent), { ...closed, ...expired })).toEqual({
      type: 'failed',
      ...subject,
      venue: 'gasless',
      reason: 'quote-stale',
      detail: '',
    })
  })

  test.each(['filled', 'skipped'] as const)('that was %s is neither', (outcome) => {
    const reason = outcome === 'filled' ? 'filled' : 'halted'
    expect(lastOf(opened(intent), { ...closed, outcome, reason })).toEqual({
      type: 'intent-closed',
      ...subject,
      outcome,
    })
  })
})

test('a pause names its strategy, a halt none, and either ends with a word', () => {
  const why = { cause: 'failure-streak', detail: '3 in a row' } as const
  const paused = { type: 'pause', paused: true, ...why }
  const resumed = { type: 'pause', paused: false, cause: 'operator', detail: 'resumed' }
  expect(
    told(
      scheduled(),
      { type: 'strategy-paused', strategy: STRATEGY, ...why },
      { type: 'strategy-resumed', strategy: STRATEGY },
      { type: 'halted', ...why },
      { type: 'halt-lifted' },
      { type: 'halted', ...why },
      { type: 'halt-lifted', detail: 'resumed by somebody' },
    ).slice(1),
  ).toEqual([
    { ...paused, strategy: STRATEGY },
    { ...resumed, strategy: STRATEGY },
    { ...paused, strategy: undefined },
    { ...resumed, strategy: undefined },
    { ...paused, strategy: undefined },
    { ...resumed, strategy: undefined, detail: 'resumed by somebody' },
  ])
})

test('a hold is told with why, and its end with who lifted it', () => {
  const terms = { strategy: STRATEGY, terms: 'aa' }
  expect(
    told(
      scheduled(),
      { type: 'strategy-held', ...terms, detail: 'it fires at once' },
      { type: 'hold-lifted', ...terms, cause: 'operator', detail: 'approved by the operator' },
    ).slice(1),
  ).toEqual([
    { type: 'hold', strategy: STRATEGY, held: true, detail: 'it fires at once' },
    { type: 'hold', strategy: STRATEGY, held: false, detail: 'approved by the operator' },
  ])
})

test('a transaction is recorded first, then replaced under its own id, then ended with its purpose', () => {
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
  const facts = told(
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
  ).slice(2)
  const whose = { type: 'transaction', intentId: intent.id, purpose: 'wrap' }
  expect(facts).toEqual([
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

test('an unwrap that was mined turned its token into as much ether; what was reverted, or cancelled, nothing', () => {
  const id = `${intent.id}:unwrap`
  const data = `0x2e1a7d4d${123n.toString(16).padStart(64, '0')}` as const
  const unwrap: TransactionRecord = {
    ...{ id, purpose: 'unwrap', intentId: intent.id, chainId: 8453, from: intent.owner, nonce: 3 },
    ...{ to: intent.buy.token.address, data, value: 0n, gas: 1n, hash: bytes32(1) },
    ...{ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
  }
  const ended = (transaction: TransactionRecord, status: 'mined' | 'reverted') =>
    told(...[scheduled(), opened(intent), { type: 'transaction-recorded', transaction } as const], {
      type: 'transaction-ended',
      id,
      status,
      hash: bytes32(1),
      blockNumber: 5n,
    }).at(-1)
  expect(ended(unwrap, 'mined')).toMatchObject({
    exchanged: { sell: { symbol: 'WETH' }, buy: ETHER, amount: 123n },
  })
  for (const none of [
    ended(unwrap, 'reverted'),
    ended({ ...unwrap, data: '0x', isCancelling: true }, 'mined'),
    ended({ ...unwrap, data: '0x2e1a7d4d' }, 'mined'),
  ])
    expect(none).not.toHaveProperty('exchanged')
})

test('a deposit that the service shows is told with its amount, and one that is not on chain by nobody', () => {
  const id = 'deposit:0x01:3'
  const transaction: TransactionRecord = {
    ...{ id, purpose: 'deposit', intentId: undefined, chainId: 8453, from: intent.owner, nonce: 3 },
    ...{ to: intent.owner, data: '0x', value: 50n, gas: 1n, hash: bytes32(1) },
    ...{ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, availableBefore: 0n },
  }
  const recorded = { type: 'transaction-recorded', transaction } as const
  const ended = { type: 'transaction-ended', id, hash: bytes32(1), blockNumber: 5n } as const
  const indexed = { type: 'deposit-indexed', id } as const
  expect(told(recorded, { ...ended, status: 'mined' }, indexed).at(-1)).toEqual({
    type: 'deposit-indexed',
    amount: 50n,
  })
  expect(() => told(recorded, indexed)).toThrow(InvariantError)
})

test('a record that does not fit the state is told of by nobody', () => {
  const accepted = { type: 'order-accepted', ...own, orderId: 'o-1' } as const
  expect(() => tell({ event: accepted, atMs: 0 }, emptyState())).toThrow(InvariantError)
})

describe('a fact is about a slot', () => {
  const slot = { strategy: STRATEGY, slotSeconds: SLOT }

  test('when it names the slot, one of its intents, or lies in a run of missed ones', () => {
    const facts = told(scheduled(), ...filledSlot(SLOT))
    expect(facts.map((fact) => isAbout(fact, slot))).toEqual([false, ...Array(6).fill(true)])
    const missed = { type: 'slots-missed', strategy: STRATEGY, count: 3 } as const
    const run = lastOf({ ...missed, firstSeconds: SLOT - 60, lastSeconds: SLOT + 60 })
    expect(run && isAbout(run, slot)).toBe(true)
    expect(run && isAbout(run, { ...slot, slotSeconds: SLOT + 61 })).toBe(false)
  })

  test('and about no other slot, of this strategy or another', () => {
    const facts = told(scheduled(), ...filledSlot(SLOT))
    const others = [
      { ...slot, slotSeconds: SLOT + 60 },
      { ...slot, slotSeconds: 200 },
      { ...slot, strategy: 'weekly' },
    ]
    for (const other of others) expect(facts.filter((fact) => isAbout(fact, other))).toEqual([])
  })
})
