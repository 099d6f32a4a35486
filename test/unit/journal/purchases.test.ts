import { expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import { purchaseOf } from '../../../src/journal/projections/purchases.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import {
  bytes32,
  exposed,
  filledSlot,
  fillOf,
  intentOf,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'

const BUYER = 'weekly-eth'
const SELLER = 'exit'
const buying = intentOf(1_000)
const { sell: usdc, buy: weth } = buying
const PAIR = { bought: weth.token, paidIn: usdc.token }

/** Sells this amount of WETH on behalf of the buyer. */
function sale(slotSeconds: number, amount: bigint): readonly JournalEvent[] {
  const base = intentOf(slotSeconds, SELLER)
  const entry = { of: BUYER, paidIn: usdc.token }
  const intent = { ...base, sell: weth, buy: usdc, entry, maxSell: baseUnits(amount) }
  const own = { intentId: intent.id, attempt: 1 }
  const fill = { ...fillOf(intent), paid: baseUnits(amount), received: baseUnits(9_000_000n) }
  return [
    opened(intent),
    exposed(intent),
    { type: 'order-accepted', ...own, orderId: 'sale' },
    { type: 'fill-proven', ...own, fill },
    { type: 'intent-closed', intentId: intent.id, outcome: 'filled', reason: 'filled' },
    { type: 'slot-closed', strategy: SELLER, slotSeconds, outcome: 'filled', reason: 'filled' },
  ]
}

function after(...events: readonly JournalEvent[]) {
  const state = emptyState()
  const all = [scheduled(BUYER), scheduled(SELLER), ...events]
  for (const [at, event] of all.entries()) reduce(state, event, 5_000_000 + at)
  return purchaseOf(state, BUYER, PAIR)
}

const { paid, received } = fillOf(buying)

test('purchases of a strategy add up and count for no other strategy', () => {
  expect(after(...filledSlot(2_000), ...filledSlot(3_000))).toEqual({
    amount: 2n * received,
    cost: 2n * paid,
  })
  expect(after(...filledSlot(2_000, SELLER))).toEqual({ amount: 0n, cost: 0n })
})

test('a sale on behalf of the buyer removes its share of the cost, so the average never falls', () => {
  const left = after(...filledSlot(2_000), ...sale(3_000, received / 3n))
  expect(left.amount).toBe(received - received / 3n)
  const exact = (paid * (received - received / 3n)) / received
  expect(exact - left.cost >= 0n && exact - left.cost <= 1n).toBe(true)
})

test('selling more than the purchases leaves nothing, and the next purchase starts a new entry price', () => {
  expect(after(...filledSlot(2_000), ...sale(3_000, received * 2n))).toEqual({
    amount: 0n,
    cost: 0n,
  })
  expect(after(...filledSlot(2_000), ...sale(3_000, received), ...filledSlot(4_000))).toEqual({
    amount: received,
    cost: paid,
  })
})

function reopened(slotSeconds: number, strategy: string): JournalEvent {
  const { id: intentId } = intentOf(slotSeconds, strategy)
  return {
    ...{ type: 'fill-reopened', intentId, attempt: 1 },
    ...{ blockNumber: 12_350n, blockHash: bytes32(99) },
  }
}

test('a reorganisation that removes a purchase or a sale restores the purchases before it', () => {
  expect(after(...filledSlot(2_000), reopened(2_000, BUYER))).toEqual({ amount: 0n, cost: 0n })
  const sold = [...filledSlot(2_000), ...sale(3_000, received / 3n), reopened(3_000, SELLER)]
  expect(after(...sold)).toEqual({ amount: received, cost: paid })
})
