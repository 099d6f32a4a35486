import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../../src/domain/money/units.ts'
import type { CallIntent } from '../../../../src/domain/order/intent.ts'
import {
  type EventOf,
  type JournalEvent,
  postingOf,
  reduceRecorded,
} from '../../../../src/journal/events/registry.ts'
import type { GasEntry } from '../../../../src/journal/ledger/entry.ts'
import { accountOf } from '../../../../src/journal/ledger/figures.ts'
import { Ledger } from '../../../../src/journal/ledger/ledger.ts'
import type { Execution, TransactionRecord } from '../../../../src/journal/records.ts'
import { emptyState } from '../../../../src/journal/state/state-image.ts'
import { filled, happened, onRecord } from '../../../support/state/happened.ts'
import {
  BOUND,
  bytes32,
  callFor,
  callIntentOf,
  executionOf,
  exposed,
  filledSlot,
  fillOf,
  GAS_TANK,
  intentOf,
  opened,
  STRATEGY,
  scheduled,
} from '../../../support/state/journal-events.ts'

const SLOT = 2_000
const intent = intentOf(SLOT)
const own = { intentId: intent.id, attempt: 1 } as const
const order = { strategy: STRATEGY, intentId: intent.id }

/** The ledger after these events, the first at millisecond 0. */
function ledgerOf(...events: readonly JournalEvent[]): Ledger {
  const [state, ledger] = [emptyState(), new Ledger()]
  for (const [atMs, event] of [scheduled(), ...events].entries())
    ledger.post(postingOf(reduceRecorded(state, event, { seq: atMs + 1, atMs })))
  return ledger
}

function proven(at = SLOT): EventOf<'fill-proven'> {
  const { id } = intentOf(at)
  return { type: 'fill-proven', intentId: id, attempt: 1, fill: fillOf(intentOf(at)) }
}

const DEAD = { type: 'authorization-dead', ...own, blockNumber: 9n, blockTimeSeconds: 9 } as const
const REOPENED: JournalEvent = {
  ...{ ...own, blockNumber: 12_350n, blockHash: bytes32(2) },
  type: 'fill-reopened',
}

test('a fill is one trade with paid and received amounts, fee, difference to the feed and transaction', () => {
  const recorded = exposed(intent)
  if (recorded.type !== 'permit-recorded') throw new Error('it records a permit')
  // At the feed price 24.9 USDC bring 0.006 WETH.
  const feed = { num: 4_150n, den: 10n ** 12n }
  const permit = { ...recorded.permit, feed, fee: baseUnits(12_450n) }
  const { entries } = ledgerOf(opened(intent), { ...recorded, permit }, proven())
  const { paid, received, txHash } = fillOf(intent)
  expect(entries).toEqual([
    {
      ...{ type: 'trade', atMs: 3, ...order, paper: false, paid, received, txHash },
      ...{ sell: intent.sell.token, buy: intent.buy.token, fee: 12_450n, vsFeedBps: 166.66 },
    },
  ])
})

describe('a fill removed by a reorganisation', () => {
  test('leaves the ledger', () => {
    expect(ledgerOf(...filledSlot(SLOT), REOPENED).entries).toEqual([])
  })

  test('counts once when it is proven again, at the time of the second proof', () => {
    const { entries } = ledgerOf(...filledSlot(SLOT), ...filledSlot(3_000), REOPENED, proven())
    expect(entries.map((each) => [each.intentId, each.atMs])).toEqual([
      [intentOf(3_000).id, 10],
      [intent.id, 14],
    ])
    const { total } = accountOf(entries, { valueToken: intent.sell.token, timezone: 'UTC' })
    expect(total.fills).toBe(2)
    expect([...total.trades.values()]).toMatchObject([{ paid: 49_800_000n }])
  })

  test('leaves the full permit amount as unproven if its nonce was used for an unknown purpose', () => {
    const { entries } = ledgerOf(...filledSlot(SLOT), REOPENED, { ...DEAD, how: 'cancelled' })
    expect(entries).toEqual([
      { type: 'unproven', atMs: 8, ...order, token: intent.sell.token, booked: 25_000_000n },
    ])
  })
})

const SEEN = { evidence: 'its nonce is used', blockNumber: 9n, blockTimeSeconds: 9 } as const
const unprovenOrder = { type: 'unproven', ...order, token: intent.sell.token, booked: 25_000_000n }

describe('a manual resolution', () => {
  const resolved = (
    outcome: { as: 'dead' } | { as: 'executed'; txHash: undefined },
  ): JournalEvent => ({
    ...{ type: 'order-settled', ...own, ...SEEN, ...outcome },
  })

  test('as executed records the full permit amount as unproven', () => {
    const resolution = resolved({ as: 'executed', txHash: undefined })
    expect(ledgerOf(opened(intent), exposed(intent), resolution).entries).toEqual([
      { ...unprovenOrder, atMs: 3 },
    ])
  })

  test('as dead records nothing', () => {
    const { entries } = ledgerOf(opened(intent), exposed(intent), resolved({ as: 'dead' }))
    expect(entries).toEqual([])
  })
})

describe('an unproven entry', () => {
  const { token } = intent.sell
  const lost = { intent, token, booked: 25_000_000n }
  const cancelled = happened({ ...DEAD, how: 'cancelled' }, lost)
  const resolvedManually = happened(
    { type: 'order-settled', ...own, ...SEEN, as: 'executed', txHash: undefined },
    lost,
  )
  const { paid, received, txHash } = fillOf(intent)
  const proof = filled({
    ...{ strategy: STRATEGY, slotSeconds: SLOT, sell: token, buy: intent.buy.token },
    ...{ paid, received, txHash, vsFeedBps: undefined, durationMs: 1, atMs: 2 },
  })

  test.each([
    ['a cancelled authorization', cancelled],
    ['a manual resolution', resolvedManually],
  ])('of %s is replaced by an on-chain proof', (_, unproven) => {
    const ledger = new Ledger()
    ledger.post(postingOf(onRecord(unproven, { seq: 1, atMs: 1 })))
    expect(ledger.entries).toEqual([{ ...unprovenOrder, atMs: 1 }])
    ledger.post(postingOf(onRecord(proof, { seq: 2, atMs: 2 })))
    expect(ledger.entries).toMatchObject([{ type: 'trade', atMs: 2, paid, received }])
  })

  test('exists for a cancelled authorization, but not for an expired one', () => {
    const until = [opened(intent), exposed(intent)]
    expect(ledgerOf(...until, { ...DEAD, how: 'cancelled' }).entries).toEqual([
      { ...unprovenOrder, atMs: 3 },
    ])
    expect(ledgerOf(...until, { ...DEAD, how: 'expired' }).entries).toEqual([])
  })

  test('does not exist for a call without value', () => {
    const call = { ...callIntentOf(SLOT), value: baseUnits(0n) }
    const { entries } = ledgerOf(opened(call), recorded(call), { ...DEAD, how: 'cancelled' })
    expect(entries).toEqual([])
  })
})

function recorded(call: CallIntent): EventOf<'call-recorded'> {
  const record = callFor(call, { attempt: 1, nonce: 0n })
  return { type: 'call-recorded', intentId: call.id, call: record }
}

/** A call of an even slot, executed and closed. */
function executed(changes: Partial<Execution> = {}): readonly JournalEvent[] {
  const call = callIntentOf(SLOT)
  const execution = { ...executionOf(call), ...changes }
  return [
    opened(call),
    recorded(call),
    { type: 'call-proven', intentId: call.id, attempt: 1, execution },
    { type: 'intent-closed', intentId: call.id, outcome: 'filled', reason: 'filled' },
  ]
}

/** A transaction of the wallet that was mined or reverted, for a fee. */
function transaction(
  changes: Pick<TransactionRecord, 'id' | 'purpose'> & Partial<TransactionRecord>,
  end: { readonly status?: 'mined' | 'reverted'; readonly fee?: bigint | undefined } = {},
): readonly JournalEvent[] {
  const { id } = changes
  const hash = bytes32(77)
  const record: TransactionRecord = {
    ...{ intentId: intent.id, chainId: 8453, from: intent.owner, nonce: 3, to: GAS_TANK },
    ...{ data: '0x', value: 5n, gas: 9n, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
    ...changes,
  }
  return [
    { type: 'transaction-recorded', transaction: record },
    { type: 'transaction-signed', id, hash },
    {
      ...{ type: 'transaction-ended', id, status: 'mined', hash, blockNumber: 9n, fee: 21n },
      ...end,
    },
  ]
}

describe('a call', () => {
  const call = callIntentOf(SLOT)

  test('is one entry with its value, its charge, and the blob part of that charge', () => {
    const costs = { charged: 7n, direct: 9n, blob: 2n }
    expect(ledgerOf(...executed({ costs })).entries).toEqual([
      {
        ...{ type: 'call', atMs: 3, strategy: STRATEGY, intentId: call.id, paper: false },
        ...{ venue: 'aggregated', label: 'poke()', value: 3n, charged: 7n, blob: 2n },
        txHash: executionOf(call).txHash,
      },
    ])
  })

  test('with an unknown charge has none', () => {
    const [entry] = ledgerOf(...executed({ costs: { charged: undefined, direct: 9n } })).entries
    expect(entry).toMatchObject({ type: 'call', charged: undefined })
  })

  const sent = { id: `${call.id}:1:call`, purpose: 'call', intentId: call.id } as const
  const directly = { via: 'direct', txHash: bytes32(77) } as const

  test.each(['before', 'after'])(
    'sent directly counts its gas once, if its transaction ends %s its proof',
    (when) => {
      const costs = { charged: 21n, direct: 21n }
      const [begin, end] = [executed({ ...directly, costs }), transaction(sent)]
      const events =
        when === 'after'
          ? [...begin.slice(0, 3), ...end]
          : [...begin.slice(0, 2), ...end, ...begin.slice(2)]
      const { total } = accountOf(ledgerOf(...events).entries, {
        valueToken: undefined,
        timezone: 'UTC',
      })
      expect(total).toMatchObject({ calls: 1, charged: 21n, gas: 0n })
    },
  )

  test("pays the gas of a late direct transaction in addition to the service's charge", () => {
    const events = [...executed().slice(0, 3), ...transaction(sent, { status: 'reverted' })]
    const { total } = accountOf(ledgerOf(...events).entries, {
      valueToken: undefined,
      timezone: 'UTC',
    })
    expect(total).toMatchObject({ calls: 1, charged: 7n, gas: 21n })
  })
})

describe('gas', () => {
  test('of a wrap, an approval, an unwrap or a deposit is a separate entry once mined', () => {
    for (const purpose of ['wrap', 'approve', 'unwrap'] as const) {
      const { entries } = ledgerOf(opened(intent), ...transaction({ id: `t:${purpose}`, purpose }))
      const { exchanged, ...rest } = entries[0] as GasEntry
      expect(rest).toEqual({
        ...{ type: 'gas', atMs: 4, ...order, purpose, fee: 21n, txHash: bytes32(77) },
      })
      expect(entries).toHaveLength(1)
      expect(exchanged?.amount).toBe(purpose === 'wrap' ? 5n : undefined)
    }
    const deposit = { id: 'deposit:0x01:3', purpose: 'deposit', intentId: undefined } as const
    expect(ledgerOf(...transaction(deposit)).entries).toMatchObject([
      { type: 'gas', intentId: undefined, strategy: undefined, fee: 21n },
    ])
  })

  test('of a reverted transaction counts', () => {
    const wrap = { id: 't:wrap', purpose: 'wrap' } as const
    const { entries } = ledgerOf(opened(intent), ...transaction(wrap, { status: 'reverted' }))
    expect(entries).toMatchObject([{ type: 'gas', fee: 21n }])
  })

  test('that no node reported has no entry, except for a wrap, whose fee is unknown', () => {
    const approve = { id: 't:approve', purpose: 'approve' } as const
    const none = { fee: undefined }
    expect(ledgerOf(opened(intent), ...transaction(approve, none)).entries).toEqual([])
    const wrap = { id: 't:wrap', purpose: 'wrap' } as const
    const { entries } = ledgerOf(opened(intent), ...transaction(wrap, none))
    expect(entries).toMatchObject([{ type: 'gas', fee: undefined, exchanged: { amount: 5n } }])
    const { total } = accountOf(entries, { valueToken: undefined, timezone: 'UTC' })
    expect(total.gas).toBe(0n)
  })
})

describe('on paper', () => {
  const dry = { ...BOUND, mode: 'dry-run' } as const

  test('a swap is a paper trade without a transaction', () => {
    const amounts = { paid: baseUnits(24n), received: baseUnits(6n), fee: baseUnits(1n) }
    const { entries } = ledgerOf(dry, opened(intent), { type: 'paper-filled', ...own, ...amounts })
    expect(entries).toMatchObject([
      { type: 'trade', paper: true, paid: 24n, received: 6n, fee: 1n, txHash: undefined },
    ])
  })

  test('a call has its value and no charge', () => {
    const call = callIntentOf(SLOT)
    const amounts = { paid: call.value, received: baseUnits(0n) }
    const { entries } = ledgerOf(dry, opened(call), { type: 'paper-filled', ...own, ...amounts })
    expect(entries).toMatchObject([
      { type: 'call', paper: true, value: 3n, charged: undefined, txHash: undefined },
    ])
    const { total } = accountOf(entries, { valueToken: undefined, timezone: 'UTC' })
    expect(total).toMatchObject({ calls: 1, uncharged: 0 })
  })
})
