import type { JournalEvent } from '../../../src/domain/book/journal.ts'
import type { DaemonState, OpenSwap, StrategyRecord } from '../../../src/domain/book/state.ts'
import type { OrderState } from '../../../src/domain/order.ts'
import { BOUND, bytes32, exposed, fillOf, intentOf, opened, scheduled } from './journal-story.ts'

const NAMES = ['alpha', 'beta']

/** Events that the state allows now: the moves of a random daemon. `now` is the next slot number. */
export function legalEvents(state: DaemonState, now: number): readonly JournalEvent[] {
  const idle: JournalEvent[] = NAMES.map((name) => scheduled(name)).filter(
    (event) => 'strategy' in event && !state.strategies.has(event.strategy),
  )
  if (state.bound === undefined) idle.push(BOUND)
  return [
    ...idle,
    ...[...state.strategies].flatMap(([name, record]) => slotMoves(state, name, record, now)),
    ...swapsOf(state).flatMap(orderMoves),
    ...swapsOf(state).map(
      ({ intent }): JournalEvent => ({
        type: 'transaction-recorded',
        transaction: {
          id: `${intent.id}:wrap`,
          purpose: 'wrap',
          intentId: intent.id,
          chainId: 8453,
          from: intent.owner,
          nonce: 4,
          to: intent.sell.token.address,
          data: '0xd0e30db0',
          value: 10n ** 18n,
          gas: 50_000n,
          maxFeePerGas: 2n ** 64n + BigInt(now),
          maxPriorityFeePerGas: 1n,
          hash: bytes32(now),
        },
      }),
    ),
    ...[...state.transactions.keys()].map(
      (id): JournalEvent => ({
        type: 'transaction-ended',
        id,
        status: 'lost',
        hash: bytes32(1),
        blockNumber: undefined,
      }),
    ),
  ]
}

function slotMoves(
  state: DaemonState,
  strategy: string,
  record: StrategyRecord,
  now: number,
): JournalEvent[] {
  const busy = new Set(
    [...state.intents.values()]
      .filter(({ intent }) => intent.strategy === strategy)
      .map(({ intent }) => intent.slotSeconds),
  )
  const closed = { type: 'slot-closed', strategy, outcome: 'skipped', reason: 'paused' } as const
  return [
    opened(intentOf(now, strategy)),
    { ...closed, slotSeconds: now },
    { type: 'slots-missed', strategy, firstSeconds: now, lastSeconds: now, count: undefined },
    ...record.openSlots
      .filter(({ slotSeconds }) => !busy.has(slotSeconds))
      .map(({ slotSeconds }): JournalEvent => ({ ...closed, slotSeconds })),
  ]
}

function swapsOf(state: DaemonState): readonly OpenSwap[] {
  return [...state.intents.values()].filter((open) => open.venue === 'gasless')
}

function orderMoves(open: OpenSwap): JournalEvent[] {
  const own = { intentId: open.intent.id, attempt: open.attempt }
  const ended: JournalEvent = { type: 'order-ended', ...own, status: 'failed', message: '12n' }
  const filled: JournalEvent = { type: 'fill-proven', ...own, fill: fillOf(open.intent) }
  const block = { blockNumber: 9n, blockTimeSeconds: 9 }
  const dead: JournalEvent = { type: 'authorization-dead', ...own, how: 'expired', ...block }
  const moves: Record<OrderState, JournalEvent[]> = {
    planned: [exposed(open.intent, open.attempt), closing(open)],
    exposed: [
      { type: 'authorization-withdrawn', ...own, reason: 'chain-stale' },
      { type: 'order-accepted', ...own, orderId: '\\7n' },
      ended,
      filled,
      dead,
    ],
    accepted: [ended, filled, dead],
    lapsing: [filled, dead],
    filled: [closing(open)],
    closed: [],
  }
  return moves[open.state]
}

function closing(open: OpenSwap): JournalEvent {
  return {
    type: 'intent-closed',
    intentId: open.intent.id,
    outcome: open.state === 'filled' ? 'filled' : 'failed',
    reason: open.state === 'filled' ? 'filled' : 'too-late',
  }
}
