import { beforeEach, expect, test } from 'vitest'
import type { TrustlessCall } from '../../../src/domain/order/call.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import {
  emptyState,
  imageOf,
  restoreState,
  type StateImage,
} from '../../../src/journal/state/state-image.ts'
import { firstFreeNonce, isOutrun } from '../../../src/venues/call/call-projection.ts'
import {
  BOUND,
  callFor,
  callIntentOf,
  executionOf,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'

let state: DaemonState

beforeEach(() => {
  state = emptyState()
  reduce(state, BOUND, 1)
  reduce(state, scheduled('alpha'), 1)
})

/** Records the call of a slot with this nonce, and proves it by default. */
function call(slot: number, nonce: bigint, { isProven = true } = {}): TrustlessCall {
  const intent = callIntentOf(slot, 'alpha')
  const made = callFor(intent, { attempt: 1, nonce })
  if (made.trust !== 'trustless') throw new Error('a call without a nonce')
  reduce(state, opened(intent), slot)
  reduce(state, { type: 'call-recorded', intentId: intent.id, call: made }, slot)
  const execution = executionOf(intent)
  if (isProven)
    reduce(state, { type: 'call-proven', intentId: intent.id, attempt: 1, execution }, slot)
  return made
}

test('the nonce after the last proven call is the first free nonce', () => {
  const first = call(1_100, 4n)
  expect(firstFreeNonce(state, first)).toBe(5n)
  call(1_102, 5n)
  expect(firstFreeNonce(state, first)).toBe(6n)
  expect(firstFreeNonce(state, { ...first, chainId: 5 })).toBe(0n)
  expect(firstFreeNonce(state, { ...first, account: `0x${'9'.repeat(40)}` })).toBe(0n)
})

test('a call is overtaken only by another call whose use of the nonce is final', () => {
  const first = call(1_100, 4n)
  const second = call(1_102, 4n, { isProven: false })
  expect(isOutrun(state, second)).toBe(false)
  const orders = [first.clientOrderId]
  reduce(state, { type: 'fills-final', orders, blockNumber: 13_000n }, 1_103)
  expect(isOutrun(state, second)).toBe(true)
  expect(isOutrun(state, first)).toBe(false)
  expect(isOutrun(state, { ...second, nonce: 5n })).toBe(false)
  expect(isOutrun(state, { ...second, nonce: 3n })).toBe(false)
})

test('used nonces survive a snapshot, and an older snapshot without them can be read', () => {
  const first = call(1_100, 4n)
  const image = imageOf(state)
  const again = emptyState()
  restoreState(again, image)
  expect(firstFreeNonce(again, first)).toBe(5n)
  const { usedNonces: _, ...older } = image
  restoreState(again, older as StateImage)
  expect(firstFreeNonce(again, first)).toBe(0n)
})

test('a nonce is free again if a reorganisation removes its call', () => {
  const first = call(1_100, 4n)
  const { id: intentId } = callIntentOf(1_100, 'alpha')
  const filled = { outcome: 'filled', reason: 'filled' } as const
  reduce(state, { type: 'intent-closed', intentId, ...filled }, 1_101)
  const reorganisation = { blockNumber: 12_350n, blockHash: `0x${'2'.repeat(64)}` } as const
  reduce(state, { type: 'fill-reopened', intentId, attempt: 1, ...reorganisation }, 1_102)
  expect(firstFreeNonce(state, first)).toBe(4n)
  expect(isOutrun(state, first)).toBe(false)
})
