import { beforeEach, describe, expect, test } from 'vitest'
import { InvariantError } from '../../../src/domain/errors.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { SwapIntent } from '../../../src/domain/order/intent.ts'
import { nextState, type OrderState, type OrderStep } from '../../../src/domain/order/order.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import { EXPOSURE_RETENTION_MS } from '../../../src/journal/projections/order-reducer.ts'
import { nextNonceAtLeast } from '../../../src/journal/projections/transactions.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import {
  BOUND,
  callFor,
  callIntentOf,
  executionOf,
  exposed,
  fillOf,
  intentOf,
  opened,
  permitFor,
  STRATEGY,
  scheduled,
} from '../../support/state/journal-events.ts'

const NOW_MS = 1_800_000_000_000
const intent = intentOf(2_000)
const own = { intentId: intent.id, attempt: 1 }
const accepted: JournalEvent = { type: 'order-accepted', ...own, orderId: 'order-1' }
const ended: JournalEvent = { type: 'order-ended', ...own, status: 'failed', message: 'no route' }
const filled = { type: 'fill-proven', ...own, fill: fillOf(intent) } as const
const dead = {
  type: 'authorization-dead',
  ...own,
  how: 'expired',
  blockNumber: 9n,
  blockTimeSeconds: 3_000,
} as const
const closed = {
  type: 'intent-closed',
  intentId: intent.id,
  outcome: 'filled',
  reason: 'filled',
} as const
const resolution = {
  type: 'order-settled',
  ...own,
  evidence: 'its nonce is used',
  blockNumber: 9n,
  blockTimeSeconds: 3_000,
} as const

let state: DaemonState = emptyState()
const apply = (...events: readonly JournalEvent[]): void => {
  for (const event of events) reduce(state, event, NOW_MS)
}
const theIntent = () => state.intents.get(intent.id)
const theStrategy = () => state.strategies.get(STRATEGY)

beforeEach(() => {
  state = emptyState()
  apply(BOUND, scheduled())
})

describe('slots', () => {
  test('count once: opened, closed or missed slots cannot recur', () => {
    apply(opened(intent))
    expect(() => apply(opened(intent))).toThrow(InvariantError)
    expect(() => apply(opened({ ...intentOf(1_500) }))).toThrow('slot 1500 is not after 2000')
    apply({
      type: 'slots-missed',
      strategy: STRATEGY,
      firstSeconds: 2_100,
      lastSeconds: 2_500,
      count: 5,
    })
    expect(() => apply(opened(intentOf(2_300)))).toThrow('slot 2300 is not after 2500')
  })

  test('that are open end exactly once', () => {
    const slotClosed: JournalEvent = {
      type: 'slot-closed',
      strategy: STRATEGY,
      slotSeconds: 2_000,
      outcome: 'filled',
      reason: 'filled',
    }
    apply(opened(intent))
    expect(theStrategy()?.openSlots).toMatchObject([{ slotSeconds: 2_000 }])
    expect(() => apply(slotClosed)).toThrow('is still open')
    apply({ type: 'intent-closed', intentId: intent.id, outcome: 'failed', reason: 'too-late' })
    apply(slotClosed)
    expect(theStrategy()?.openSlots).toEqual([])
    expect(() => apply(slotClosed)).toThrow(InvariantError)
  })

  test('never reopen after a schedule change', () => {
    apply(opened(intent))
    const earlier = { ...scheduled(STRATEGY), fromSeconds: 1_999 } as JournalEvent
    expect(() => apply(earlier)).toThrow('are accounted for')
  })

  test('hold each of their own intents once', () => {
    const twice = { ...opened(intent), intents: [intent, intent] } as JournalEvent
    expect(() => apply(twice)).toThrow('is open already')
    const strange = { ...opened(intent), intents: [intentOf(2_001)] } as JournalEvent
    expect(() => apply(strange)).toThrow('belongs to another slot')
  })

  test('belong to scheduled strategies', () => {
    expect(() => apply(opened(intentOf(2_000, 'unknown')))).toThrow('unknown was never scheduled')
  })

  test('of a strategy keep its fill count and spending after a schedule change', () => {
    apply(opened(intent), exposed(intent), filled, {
      type: 'strategy-scheduled',
      strategy: STRATEGY,
      scheduleKey: 'new',
      fromSeconds: 9_000,
    })
    expect(theStrategy()).toMatchObject({ scheduleKey: 'new', lastSlotSeconds: 9_000, fills: 1 })
    expect([...(theStrategy()?.spent.values() ?? [])]).toEqual([24_900_000n])
  })
})

describe('an order', () => {
  test('counts its full permit once recorded, and its paid amount once filled', () => {
    apply(opened(intent), exposed(intent))
    const { clientOrderId } = permitFor(intent)
    expect(state.exposures.get(clientOrderId)).toMatchObject({ amount: 25_000_000n, live: true })
    apply(accepted, filled)
    expect(state.exposures.get(clientOrderId)).toMatchObject({ amount: 24_900_000n, live: false })
    expect([...state.claimedTransfers.keys()]).toEqual(fillOf(intent).transfers)
  })

  test.each([
    ['the block by which it was read', 120, 120_000],
    ['its observation here, if a node reports an earlier time', 0, 110_000],
    ['its deadline, if the block is later', 9_000_000, undefined],
    ['its deadline, if no record has its execution time', undefined, undefined],
  ])('counts for caps, once filled, from %s', (_, executedBySeconds, atMs) => {
    const { clientOrderId, deadlineSeconds } = permitFor(intent)
    apply(opened(intent))
    reduce(state, exposed(intent), 100_000)
    reduce(state, { ...filled, executedBySeconds }, 110_000)
    expect(state.exposures.get(clientOrderId)?.atMs).toBe(atMs ?? deadlineSeconds * 1_000)
  })

  test('counts for caps from its signature if the clock was set back since', () => {
    const { clientOrderId } = permitFor(intent)
    apply(opened(intent))
    reduce(state, exposed(intent), 100_000)
    reduce(state, { ...filled, executedBySeconds: 20 }, 50_000)
    expect(state.exposures.get(clientOrderId)?.atMs).toBe(100_000)
  })

  test.each([
    ['the block by which it was read', 1_200, 1_200_000],
    ['its observation here, if a node reports an earlier time', 0, 1_110_000],
    ['its deadline plus the allowed clock difference, if the block is later', 9_000_000],
    ['the same time, if no record has its execution time', undefined],
  ])('that is a call counts for caps from %s', (_, executedBySeconds, atMs?: number) => {
    const call = callIntentOf(1_100)
    const record = callFor(call, { attempt: 1, nonce: 4n })
    if (record.trust !== 'trustless') throw new Error('it has no deadline')
    const ofCall = { intentId: call.id, attempt: 1 }
    apply(opened(call))
    reduce(state, { type: 'call-recorded', intentId: call.id, call: record }, 1_100_000)
    const execution = executionOf(call)
    reduce(state, { type: 'call-proven', ...ofCall, execution, executedBySeconds }, 1_110_000)
    const { clientOrderId, deadlineSeconds } = record
    const latestMs = (deadlineSeconds + 120) * 1_000
    expect(state.exposures.get(clientOrderId)?.atMs).toBe(atMs ?? latestMs)
  })

  test.each([
    [
      'the block by which it was read',
      { executedBySeconds: 1_250, blockTimeSeconds: 1_130 },
      1_250,
    ],
    ['its observation here, if a node reports an earlier time', { executedBySeconds: 0 }, 1_111],
    ['the same time, if the node is behind', { blockTimeSeconds: 0 }, 1_111],
  ])('that is a call without a deadline counts for caps from %s', (_, times, atSeconds) => {
    const call = callIntentOf(1_101)
    const record = callFor(call, { attempt: 1, nonce: 4n })
    apply(opened(call))
    reduce(state, { type: 'call-recorded', intentId: call.id, call: record }, 1_101_000)
    const proven = { intentId: call.id, attempt: 1, execution: executionOf(call), ...times }
    reduce(state, { type: 'call-proven', ...proven }, 1_111_000)
    expect(state.exposures.get(record.clientOrderId)?.atMs).toBe(atSeconds * 1_000)
  })

  test('counts nothing once its permit is dead, and continues with the next attempt', () => {
    apply(opened(intent), exposed(intent), accepted, ended)
    expect(state.exposures.size).toBe(1)
    apply(dead)
    expect(state.exposures.size).toBe(0)
    expect(theIntent()).toMatchObject({ state: 'planned', attempt: 2, died: 'expired' })
    expect(theIntent()).toMatchObject({ permit: undefined })
    expect(() => apply(exposed(intent, 1))).toThrow('attempt 1 is not the current one')
    apply(exposed(intent, 2))
    expect(theIntent()).toMatchObject({ state: 'exposed', died: undefined, ended: undefined })
  })

  test('counts in full if its permit was used for an unknown purpose', () => {
    apply(opened(intent), exposed(intent))
    apply({ ...dead, how: 'cancelled' })
    const { clientOrderId, deadlineSeconds } = permitFor(intent)
    expect(state.exposures.get(clientOrderId)).toMatchObject({
      amount: 25_000_000n,
      live: false,
      atMs: deadlineSeconds * 1_000,
    })
    expect([...(theStrategy()?.spent.values() ?? [])]).toEqual([25_000_000n])
    expect(theIntent()).toMatchObject({ state: 'planned', attempt: 2, died: 'cancelled' })
  })

  test.each([
    ['exposed', []],
    ['accepted', [accepted]],
    ['lapsing', [accepted, ended]],
  ] as const)('that is %s counts in full if an operator resolves it as executed', (at, more) => {
    apply(opened(intent), exposed(intent), ...more)
    expect(theIntent()?.state).toBe(at)
    apply({ ...resolution, as: 'executed', txHash: undefined })
    const { clientOrderId, deadlineSeconds } = permitFor(intent)
    expect(state.exposures.get(clientOrderId)).toMatchObject({
      amount: 25_000_000n,
      live: false,
      atMs: deadlineSeconds * 1_000,
    })
    expect([...(theStrategy()?.spent.values() ?? [])]).toEqual([25_000_000n])
    expect(theIntent()).toMatchObject({ state: 'planned', settled: { as: 'executed' } })
  })

  test('counts nothing if an operator resolves it as dead', () => {
    apply(opened(intent), exposed(intent), accepted, { ...resolution, as: 'dead' })
    expect(state.exposures.size).toBe(0)
    expect(theStrategy()?.spent.size).toBe(0)
    expect(theIntent()).toMatchObject({ state: 'planned', settled: { as: 'dead' } })
  })

  test.each([
    ['executed', 'fired'],
    ['dead', 'armed'],
  ] as const)('that an operator resolves as %s leaves its strategy %s', (as, remembered) => {
    const memories = { memory: { rung: 'armed' }, memoryOnFill: { rung: 'fired' } }
    const outcome = as === 'dead' ? { as } : { as, txHash: undefined }
    const ending = { outcome: 'failed', reason: 'settled' } as const
    apply({ ...opened(intent), ...memories }, exposed(intent), { ...resolution, ...outcome })
    apply({ ...closed, ...ending })
    apply({ type: 'slot-closed', strategy: STRATEGY, slotSeconds: 2_000, ...ending })
    expect(theStrategy()).toMatchObject({ memory: { rung: remembered }, failureStreak: 1 })
  })

  test('is recorded no more after an operator has resolved it, and is resolved once', () => {
    apply(opened(intent), exposed(intent), { ...resolution, as: 'dead' })
    expect(() => apply(exposed(intent, 2))).toThrow('an operator resolved it')
    expect(() => apply({ ...resolution, as: 'dead' })).toThrow(InvariantError)
    expect(() => apply({ ...resolution, attempt: 2, as: 'dead' })).toThrow(
      'no step authorization-dead from planned',
    )
    expect(theIntent()).toMatchObject({ state: 'planned', attempt: 2 })
  })

  test('that is planned or filled cannot be resolved manually', () => {
    apply(opened(intent))
    expect(() => apply({ ...resolution, as: 'dead' })).toThrow(
      'no step authorization-dead from planned',
    )
    apply(exposed(intent), filled)
    expect(() => apply({ ...resolution, as: 'dead' })).toThrow(
      'no step authorization-dead from filled',
    )
  })

  test('cannot be closed while a signature may be live', () => {
    apply(opened(intent), exposed(intent))
    expect(() => apply(closed)).toThrow('no step intent-closed from exposed')
    apply(accepted)
    expect(() => apply(closed)).toThrow('no step intent-closed from accepted')
    apply(ended)
    expect(() => apply(closed)).toThrow('no step intent-closed from lapsing')
  })

  test('cannot be withdrawn once the service has accepted it', () => {
    apply(opened(intent), exposed(intent), accepted)
    const withdrawn: JournalEvent = {
      type: 'authorization-withdrawn',
      ...own,
      reason: 'chain-stale',
    }
    expect(() => apply(withdrawn)).toThrow(InvariantError)
  })

  test("takes at most its intent's amount, under its own ID", () => {
    apply(opened(intent))
    const event = exposed(intent)
    if (event.type !== 'permit-recorded') throw new Error('not a permit')
    const more = baseUnits(intent.maxSell + 1n)
    expect(() => apply({ ...event, permit: { ...event.permit, amount: more } })).toThrow(
      'more than the intent allows',
    )
    const foreign = { ...event.permit, clientOrderId: 'other:2000:0:1' }
    expect(() => apply({ ...event, permit: foreign })).toThrow('authorization of another order')
  })

  test('is not proven by the transfers of another order', () => {
    const next = intentOf(2_001)
    apply(opened(intent), exposed(intent), filled, closed, opened(next), exposed(next))
    const { fill } = filled as Extract<JournalEvent, { type: 'fill-proven' }>
    expect(() => apply({ type: 'fill-proven', intentId: next.id, attempt: 1, fill })).toThrow(
      'proves another order already',
    )
  })

  test('that is closed accepts no more events', () => {
    apply(opened(intent), exposed(intent), filled, closed)
    expect(state.intents.size).toBe(0)
    for (const event of [accepted, ended, filled, dead, closed, exposed(intent)])
      expect(() => apply(event)).toThrow('is not open')
  })
})

test('the order table allows exactly these steps', () => {
  const states: OrderState[] = ['planned', 'exposed', 'accepted', 'lapsing', 'filled', 'closed']
  const steps: OrderStep[] = [
    'authorization-recorded',
    'authorization-withdrawn',
    'order-accepted',
    'order-ended',
    'fill-proven',
    'authorization-dead',
    'intent-closed',
  ]
  const isAllowed = (from: OrderState, step: OrderStep): boolean => {
    try {
      nextState(from, step)
      return true
    } catch {
      return false
    }
  }
  const allowed = states.map((from) => [from, steps.filter((step) => isAllowed(from, step))])
  expect(Object.fromEntries(allowed)).toEqual({
    planned: ['authorization-recorded', 'intent-closed'],
    exposed: [
      'authorization-withdrawn',
      'order-accepted',
      'order-ended',
      'fill-proven',
      'authorization-dead',
    ],
    accepted: ['order-ended', 'fill-proven', 'authorization-dead'],
    lapsing: ['fill-proven', 'authorization-dead'],
    filled: ['intent-closed'],
    closed: [],
  })
})

describe('an exposure beyond every window, by the deadline of its permit', () => {
  /** Fills the first order, and another whose permit ends `seconds` later. */
  function fillAgainAfter(seconds: number): void {
    const later = intentOf(2_000 + seconds)
    const fill = fillOf(later)
    apply(exposed(intent), filled, opened(later), exposed(later))
    apply({ type: 'fill-proven', intentId: later.id, attempt: 1, fill })
  }
  const retentionSeconds = EXPOSURE_RETENTION_MS / 1_000

  test('is forgotten at a later fill; live permits are never forgotten', () => {
    const stuck = intentOf(2_100)
    apply(opened(intent), opened(stuck), exposed(stuck))
    fillAgainAfter(retentionSeconds)
    const later = intentOf(2_000 + retentionSeconds)
    expect([...state.exposures.keys()]).toEqual([
      permitFor(stuck).clientOrderId,
      permitFor(later).clientOrderId,
    ])
  })

  test('stays until exactly that age', () => {
    apply(opened(intent))
    fillAgainAfter(retentionSeconds - 1)
    expect(state.exposures.size).toBe(2)
  })
})

describe('the claimed transfers of a fill', () => {
  const HOURS = 3_600
  const claims = (): readonly string[] => [...state.claimedTransfers.keys()]
  const fill = (of: SwapIntent): void =>
    apply(opened(of), exposed(of), {
      type: 'fill-proven',
      ...{ intentId: of.id, attempt: 1, fill: fillOf(of) },
    })
  /** Compares the wallet with its chain, at any machine time. */
  const compare = (atMs: number): void => {
    const { owner: wallet, chainId } = BOUND
    const seen = { sinceBlock: 1n, blockNumber: 9n, transactionCount: 0, nestedNonce: undefined }
    reduce(state, { type: 'wallet-compared', wallet, chainId, ...seen }, atMs)
  }
  const close = (of: SwapIntent): void => {
    apply({ type: 'intent-closed', intentId: of.id, outcome: 'filled', reason: 'filled' })
    const { clientOrderId } = permitFor(of)
    if (state.unfinal.has(clientOrderId))
      apply({ type: 'fills-final', orders: [clientOrderId], blockNumber: 13_000n })
  }
  const later = intentOf(2_000 + 7 * HOURS)

  test('stay until the wallet is compared with its chain and six hours pass by permit deadlines', () => {
    fill(intent)
    close(intent)
    fill(later)
    close(later)
    expect(claims()).toHaveLength(2 * fillOf(later).transfers.length)
    compare(0)
    expect(claims()).toEqual(fillOf(later).transfers)
  })

  test('survive a clock that runs years ahead', () => {
    fill(intent)
    close(intent)
    compare(9e15)
    expect(claims()).toEqual(fillOf(intent).transfers)
  })

  test.each([
    ['open', () => apply(opened(intentOf(2_001)), exposed(intentOf(2_001)))],
    ['filled and not final', () => fill(intentOf(2_001))],
  ])('stay while an order of the same time is %s', (_, begin) => {
    fill(intent)
    close(intent)
    begin()
    fill(later)
    close(later)
    compare(0)
    expect(claims()).toEqual(expect.arrayContaining([...fillOf(intent).transfers]))
  })
})

describe('wallet transactions', () => {
  const wrap = (hash: `0x${string}`, nonce = 4): JournalEvent => ({
    type: 'transaction-recorded',
    transaction: {
      id: `${intent.id}:wrap`,
      purpose: 'wrap',
      intentId: intent.id,
      chainId: 8453,
      from: intent.owner,
      nonce,
      to: intent.sell.token.address,
      data: '0xd0e30db0',
      value: 1n,
      gas: 50_000n,
      maxFeePerGas: 2n,
      maxPriorityFeePerGas: 1n,
      hash,
    },
  })
  const mined: JournalEvent = {
    type: 'transaction-ended',
    id: `${intent.id}:wrap`,
    status: 'mined',
    hash: '0x02',
    blockNumber: 5n,
  }

  test('collect all hashes under one nonce, and reject another nonce while open', () => {
    apply(opened(intent), wrap('0x01'), wrap('0x02'))
    expect(state.transactions.get(`${intent.id}:wrap`)?.hashes).toEqual(['0x01', '0x02'])
    expect(() => apply(wrap('0x03', 5))).toThrow('open with another nonce')
  })

  test('keep their outcome until the intent is closed', () => {
    apply(opened(intent), wrap('0x02'), mined)
    expect(state.transactions.size).toBe(0)
    expect(state.endedTransactions.get(`${intent.id}:wrap`)).toBe('mined')
    apply(closed)
    expect(state.endedTransactions.size).toBe(0)
    expect(() => apply(mined)).toThrow('is not open')
  })

  test('reserve their nonce, even while their outcome is uncertain', () => {
    const account = { chainId: 8453, from: intent.owner }
    apply(opened(intent), wrap('0x02'))
    expect(nextNonceAtLeast(state, account, NOW_MS)).toBe(5)
    expect(nextNonceAtLeast(state, { ...account, chainId: 1 }, NOW_MS)).toBe(0)
  })

  test('of a closed call keep hashes and outcome until its execution is final', () => {
    const made = callIntentOf(1_100, 'alpha')
    const { id: intentId, owner: from } = made
    const call = callFor(made, { attempt: 1, nonce: 4n })
    const { clientOrderId, chainId, target: to, calldata: data } = call
    const id = `${clientOrderId}:call`
    const fees = { gas: 50_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
    const transaction = { id, intentId, chainId, from, to, data, ...fees, purpose: 'call' as const }
    const execution = executionOf(made)
    apply(
      scheduled('alpha'),
      opened(made),
      { type: 'call-recorded', intentId, call },
      {
        type: 'transaction-recorded',
        transaction: { ...transaction, nonce: 4, value: 0n, hash: '0x02' },
      },
      { type: 'call-proven', intentId, attempt: 1, execution },
      { type: 'intent-closed', intentId, outcome: 'filled', reason: 'filled' },
      { type: 'transaction-ended', id, status: 'lost', hash: '0x02', blockNumber: undefined },
    )
    expect(state.directCalls.get(clientOrderId)).toEqual(['0x02'])
    expect(state.endedTransactions.get(id)).toBe('lost')
    apply({ type: 'fills-final', orders: [clientOrderId], blockNumber: 13_000n })
    expect([state.directCalls.size, state.endedTransactions.size]).toEqual([0, 0])
  })
})

test('a state is bound to only one chain', () => {
  expect(() => apply(BOUND)).toThrow('bound to a chain already')
})
