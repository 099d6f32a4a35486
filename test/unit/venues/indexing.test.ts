import { expect, test } from 'vitest'
import type { Deposit } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import {
  awaitedDeposit,
  INDEXING_MS_MAX,
  unseenDeposit,
} from '../../../src/venues/wallet/indexing.ts'
import { fakeAggregator } from './call/aggregator-fixture.ts'

const MINED: Deposit = {
  atMs: 0,
  ...{ amount: 100n, availableBefore: 10n, minedAtMs: 0 },
  ...{ account: undefined, chainId: undefined, isIndexed: false },
}

test.each([
  ['of a journal that keeps whether it was seen', {}, true],
  [
    'of one from before that was kept, which may have come and been spent',
    { isIndexed: undefined },
    false,
  ],
  ['without a figure to compare with', { availableBefore: undefined }, false],
])('a deposit %s is waited for after ten minutes: %#', (_, changes, isAwaited) => {
  const { tools } = fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })
  const state = emptyState()
  state.deposits.set('a', { ...MINED, ...changes })
  const unseen = (nowMs: number) =>
    unseenDeposit(state, tools.aggregator, { available: 10n, nowMs })
  expect(unseen(INDEXING_MS_MAX - 1)?.id).toBe('a')
  expect(unseen(INDEXING_MS_MAX)?.id).toBe(isAwaited ? 'a' : undefined)
})

test('a deposit that was mined by a clock far ahead is not waited for until that time comes', () => {
  const { tools } = fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })
  const state = emptyState()
  const seen = { available: 10n, nowMs: 60_000 }
  state.deposits.set('a', { ...MINED, minedAtMs: 60_000 })
  expect(awaitedDeposit(state, tools.aggregator, seen)?.id).toBe('a')
  state.deposits.set('a', { ...MINED, minedAtMs: 30 * 86_400_000 })
  expect(awaitedDeposit(state, tools.aggregator, seen)).toBeUndefined()
  // What nobody has seen yet is not added to all the same.
  expect(unseenDeposit(state, tools.aggregator, seen)?.id).toBe('a')
})
