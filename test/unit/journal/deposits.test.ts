import { beforeEach, describe, expect, test } from 'vitest'
import { InvariantError } from '../../../src/domain/errors.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import { latestDeposit, minedAtMs } from '../../../src/journal/projections/deposits.ts'
import { EXPOSURE_RETENTION_MS } from '../../../src/journal/projections/order-reducer.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import {
  emptyState,
  imageOf,
  restoreState,
  type StateImage,
} from '../../../src/journal/state/state-image.ts'
import { bytes32, GAS_TANK, OWNER } from '../../support/state/journal-events.ts'

const OTHER = `0x${'99'.repeat(20)}` as const
const US = { account: OWNER, chainId: 8453 }

let state: DaemonState = emptyState()
beforeEach(() => {
  state = emptyState()
})

const at = (atMs: number, ...events: readonly JournalEvent[]): void => {
  for (const event of events) reduce(state, event, atMs)
}

function recorded(id: string, changes: Partial<TransactionRecord> = {}): JournalEvent {
  const transaction: TransactionRecord = {
    ...{ id, purpose: 'deposit', intentId: undefined, chainId: 8453, from: OWNER, nonce: 4 },
    ...{ to: GAS_TANK, data: '0xd0e30db0', value: 100n, gas: 50_000n },
    ...{ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n, hash: bytes32(1), availableBefore: 7n },
    ...changes,
  }
  return { type: 'transaction-recorded', transaction }
}

function ended(id: string, status: 'mined' | 'lost' | 'reverted' = 'mined'): JournalEvent {
  return { type: 'transaction-ended', id, status, hash: bytes32(1), blockNumber: 9n }
}

const indexed = (id: string): JournalEvent => ({ type: 'deposit-indexed', id })

describe('a deposit', () => {
  test('keeps its first record time and its mined time, even after a fee increase', () => {
    at(1_000, recorded('a'))
    at(2_000, recorded('a', { maxFeePerGas: 3n }))
    expect(latestDeposit(state, US)).toBeUndefined()
    at(9_000, ended('a'))
    expect(latestDeposit(state, US)).toMatchObject({ id: 'a', atMs: 1_000, minedAtMs: 9_000 })
  })

  test.each(['lost', 'reverted'] as const)('that was %s does not count', (status) => {
    at(1_000, recorded('a'), ended('a'), recorded('b', { nonce: 5 }), ended('b', status))
    expect(latestDeposit(state, US)?.id).toBe('a')
  })

  test("is marked as indexed together with the account's earlier deposits, and no other account's", () => {
    at(1_000, recorded('a'), ended('a'), recorded('x', { from: OTHER }), ended('x'))
    at(1_000, recorded('b'), ended('b'), recorded('c'), ended('c'))
    at(2_000, indexed('b'))
    const marks = [...state.deposits].map(([id, deposit]) => [id, deposit.isIndexed])
    expect(Object.fromEntries(marks)).toEqual({ a: true, x: false, b: true, c: false })
  })

  test('is not indexed before it is mined, nor is an unknown ID', () => {
    at(1_000, recorded('a'))
    expect(() => at(2_000, indexed('a'))).toThrow(InvariantError)
    expect(() => at(2_000, indexed('b'))).toThrow('b is not a deposit on chain')
  })

  test('is kept until it is indexed, then forgotten with age', () => {
    at(0, recorded('a'), ended('a'))
    at(EXPOSURE_RETENTION_MS, recorded('b'), ended('b', 'lost'))
    expect([...state.deposits.keys()]).toEqual(['a'])
    at(EXPOSURE_RETENTION_MS, recorded('c'), ended('c'), indexed('c'))
    at(3 * EXPOSURE_RETENTION_MS, recorded('d'))
    expect([...state.deposits.keys()]).toEqual(['d'])
  })

  test('without a balance before it is forgotten with age', () => {
    at(0, recorded('a', { availableBefore: undefined }), ended('a'))
    at(EXPOSURE_RETENTION_MS, recorded('b'))
    expect([...state.deposits.keys()]).toEqual(['b'])
  })

  test('of an older snapshot matches any account, counts as mined when recorded, and can be indexed', () => {
    const old = { atMs: 1_000, amount: 100n, availableBefore: 7n }
    const image = { ...imageOf(emptyState()), deposits: [['a', old]] }
    restoreState(state, image as unknown as StateImage)
    const latest = latestDeposit(state, US)
    expect(latest && minedAtMs(latest)).toBe(1_000)
    at(2_000, indexed('a'))
    expect(latestDeposit(state, US)?.isIndexed).toBe(true)
  })
})
