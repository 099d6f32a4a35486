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
  ['with a recorded indexing status', {}, true],
  [
    'of an older journal without that status, which may be spent already',
    { isIndexed: undefined },
    false,
  ],
  ['without a balance before it', { availableBefore: undefined }, false],
])('a deposit %s may be awaited after ten minutes: %#', (_, changes, isAwaited) => {
  const { tools } = fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })
  const state = emptyState()
  state.deposits.set('a', { ...MINED, ...changes })
  const unseen = (nowMs: number) =>
    unseenDeposit(state, tools.aggregator, { available: 10n, nowMs })
  expect(unseen(INDEXING_MS_MAX - 1)?.id).toBe('a')
  expect(unseen(INDEXING_MS_MAX)?.id).toBe(isAwaited ? 'a' : undefined)
})

test('a deposit mined under a clock far ahead is not awaited until that time', () => {
  const { tools } = fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })
  const state = emptyState()
  const seen = { available: 10n, nowMs: 60_000 }
  state.deposits.set('a', { ...MINED, minedAtMs: 60_000 })
  expect(awaitedDeposit(state, tools.aggregator, seen)?.id).toBe('a')
  state.deposits.set('a', { ...MINED, minedAtMs: 30 * 86_400_000 })
  expect(awaitedDeposit(state, tools.aggregator, seen)).toBeUndefined()
  // A deposit that has not been indexed is still not topped up again.
  expect(unseenDeposit(state, tools.aggregator, seen)?.id).toBe('a')
})
