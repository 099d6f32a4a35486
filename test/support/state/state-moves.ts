import type { IntentId } from '../../../src/domain/order/intent.ts'
import type { OrderState } from '../../../src/domain/order/order.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { TransactionPurpose } from '../../../src/journal/records.ts'
import type {
  DaemonState,
  OpenIntent,
  StrategyRecord,
} from '../../../src/journal/state/daemon-state.ts'
import { openCalls } from '../../../src/venues/call/call-projection.ts'
import {
  BOUND,
  bytes32,
  callFor,
  callIntentOf,
  executionOf,
  exposed,
  fillOf,
  GAS_TANK,
  intentOf,
  OWNER,
  opened,
  scheduled,
} from './journal-events.ts'

const NAMES = ['alpha', 'beta']

/** Events that the state allows now: the moves of a random daemon. `now` is the next slot number. */
export function legalEvents(state: DaemonState, now: number): readonly JournalEvent[] {
  return [
    ...settingUp(state),
    ...(state.halted === undefined
      ? [{ type: 'halted', cause: 'operator', detail: 'asked to' } as const]
      : [{ type: 'halt-lifted' } as const]),
    ...[...state.strategies].flatMap(([name, record]) => slotMoves(state, name, record, now)),
    ...[...state.intents.values()].flatMap((open) => orderMoves(state, open)),
    ...transactionMoves(state, now),
    ...finalityMoves(state),
  ]
}

function settingUp(state: DaemonState): readonly JournalEvent[] {
  const unknown: JournalEvent[] = NAMES.filter((name) => !state.strategies.has(name)).map((name) =>
    scheduled(name),
  )
  unknown.push({ type: 'loss-accepted', detail: '3 records' })
  unknown.push(comparedAt(state), delegationSigned(state), delegationCharged(state))
  unknown.push(codeOf(state))
  if (state.stateId === undefined)
    unknown.push({ type: 'state-named', stateId: 'ab' }, { type: 'begun-anew', detail: 'asked to' })
  else if (state.anchored.size === 0)
    unknown.push({ type: 'anchored', wallet: OWNER, chainId: 8453 })
  if (state.bound !== undefined) return unknown
  return [...unknown, BOUND, { ...BOUND, mode: 'dry-run' }]
}

function comparedAt({ sights }: DaemonState): JournalEvent {
  const seen = {
    sinceBlock: 3n,
    blockNumber: 5n + BigInt(sights.size),
    transactionCount: 1,
    nestedNonce: 2n,
  }
  return { type: 'wallet-compared', chainId: 8453, wallet: OWNER, ...seen }
}

function codeOf({ contracts, sights }: DaemonState): JournalEvent {
  const place = { chainId: 8453, address: GAS_TANK, name: 'aggregator.contracts.gasTank' }
  const known = contracts.get(`8453:${GAS_TANK}`)
  const fresh = { hash: bytes32(sights.size + 3), implementation: OWNER }
  if (known === undefined) return { type: 'contract-code', ...place, code: fresh, status: 'seen' }
  return known.changed === undefined
    ? { type: 'contract-code', ...place, code: fresh, status: 'changed' }
    : { type: 'contract-code', ...place, code: known.changed.code, status: 'accepted' }
}

function delegationSigned({ intents }: DaemonState): JournalEvent {
  const change = { delegate: GAS_TANK, lastNonce: intents.size }
  const draft = { authorizationNonce: intents.size, nonce: 0, gas: 1n }
  const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  return {
    ...{ type: 'delegation-signed', chainId: 8453, account: OWNER, ...change },
    draft: { ...draft, ...fees },
  }
}

function delegationCharged({ strategies }: DaemonState): JournalEvent {
  const charged = BigInt(strategies.size) + 1n
  return { type: 'delegation-charged', chainId: 8453, account: OWNER, charged }
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
  const paused = { type: 'strategy-paused', strategy, cause: 'operator', detail: '' } as const
  const held = { type: 'strategy-held', strategy, terms: 'aa', detail: '' } as const
  const lifted = { ...held, type: 'hold-lifted', cause: 'operator' } as const
  const memory = { seen: String(now) }
  return [
    opened(intentOf(now, strategy)),
    opened(callIntentOf(now, strategy)),
    { ...opened(intentOf(now, strategy)), memory, memoryOnFill: { filled: String(now) } },
    { ...closed, slotSeconds: now, memory },
    { type: 'slots-missed', strategy, firstSeconds: now, lastSeconds: now, count: undefined },
    ...(record.openSlots.length === 0 ? [ended(strategy, now)] : []),
    record.paused === undefined ? paused : { type: 'strategy-resumed', strategy },
    record.held === undefined ? held : lifted,
    ...record.openSlots
      .filter(({ slotSeconds }) => !busy.has(slotSeconds))
      .map(
        ({ slotSeconds }): JournalEvent => ({
          ...closed,
          outcome: 'failed',
          reason: 'too-late',
          slotSeconds,
        }),
      ),
  ]
}

function ended(strategy: string, slotSeconds: number): JournalEvent {
  const { sell, maxSell: total } = intentOf(slotSeconds, strategy)
  const program = `program ${slotSeconds % 3}`
  const what = { program, token: sell.token, total, unsold: total / 3n, rule: 'spread' } as const
  return { type: 'program-ended', strategy, slotSeconds, ...what }
}

function orderMoves(state: DaemonState, open: OpenIntent): JournalEvent[] {
  const own = { intentId: open.intent.id, attempt: open.attempt }
  const ended: JournalEvent = { type: 'order-ended', ...own, status: 'failed', message: '12n' }
  const block = { blockNumber: 9n, blockTimeSeconds: 9 }
  const dead: JournalEvent = { type: 'authorization-dead', ...own, how: 'expired', ...block }
  const said = { ...own, evidence: 'its nonce is used' } as const
  const settled: JournalEvent[] = [
    { type: 'order-settled', ...said, as: 'executed', txHash: bytes32(3), ...block },
    { type: 'order-settled', ...said, as: 'executed', txHash: undefined, ...UNSEEN },
    { type: 'order-settled', ...said, as: 'dead', ...UNSEEN },
  ]
  const moves: Record<OrderState, JournalEvent[]> = {
    planned: [
      ...(open.settled === undefined ? [recording(state, open)] : []),
      closing(open),
      ...onPaper(state, open),
    ],
    exposed: [
      { type: 'authorization-withdrawn', ...own, reason: 'chain-stale' },
      { type: 'order-accepted', ...own, orderId: '\\7n' },
      ...(open.venue === 'aggregated'
        ? [{ type: 'call-signed', ...own, hash: bytes32(5) } as const]
        : []),
      ended,
      proving(open),
      dead,
      ...settled,
    ],
    accepted: [ended, proving(open), dead, ...settled],
    lapsing: [proving(open), dead, ...settled],
    filled: [closing(open)],
    closed: [],
  }
  return moves[open.state]
}

const UNSEEN = { blockNumber: undefined, blockTimeSeconds: undefined } as const

function finalityMoves(state: DaemonState): JournalEvent[] {
  const keys = [...state.unfinal.keys()]
  const reopened = [...state.unfinal.values()]
    .filter(({ open }) => !state.intents.has(open.intent.id))
    .map(
      ({ open: { intent, attempt } }): JournalEvent => ({
        type: 'fill-reopened',
        ...{ intentId: intent.id, attempt, blockNumber: 12_350n, blockHash: bytes32(2) },
      }),
    )
  if (keys.length === 0) return []
  const final = (orders: readonly string[]): JournalEvent => ({
    type: 'fills-final',
    ...{ orders, blockNumber: 13_000n },
  })
  return [...reopened, final(keys), final(keys.slice(0, 1))]
}

function recording(state: DaemonState, open: OpenIntent): JournalEvent {
  const { intent, attempt } = open
  if (intent.venue === 'gasless') return exposed(intent, attempt)
  // Only one signed call per nonce of the account may be live.
  const nonces = openCalls(state).map(({ call }) => (call?.trust === 'trustless' ? call.nonce : 0n))
  const [highest = 0n] = nonces.toSorted((a, b) => Number(b - a))
  const nonce = highest + 1n
  return { type: 'call-recorded', intentId: intent.id, call: callFor(intent, { attempt, nonce }) }
}

function proving({ intent, attempt }: OpenIntent): JournalEvent {
  const own = { intentId: intent.id, attempt }
  return intent.venue === 'gasless'
    ? { type: 'fill-proven', ...own, fill: fillOf(intent) }
    : { type: 'call-proven', ...own, execution: executionOf(intent) }
}

function onPaper(state: DaemonState, { intent, attempt }: OpenIntent): JournalEvent[] {
  if (state.bound?.mode !== 'dry-run') return []
  const { paid, received } =
    intent.venue === 'gasless' ? fillOf(intent) : { paid: intent.value, received: intent.value }
  return [{ type: 'paper-filled', intentId: intent.id, attempt, paid, received }]
}

function closing(open: OpenIntent): JournalEvent {
  return {
    type: 'intent-closed',
    intentId: open.intent.id,
    outcome: open.state === 'filled' ? 'filled' : 'failed',
    reason: open.state === 'filled' ? 'filled' : 'too-late',
  }
}

function transactionMoves(state: DaemonState, now: number): JournalEvent[] {
  const own = [...state.intents.values()].map((open) =>
    open.venue === 'gasless'
      ? sent({ id: `${open.intent.id}:wrap`, purpose: 'wrap', intentId: open.intent.id }, now)
      : sent(
          {
            id: `${open.intent.id}:${open.attempt}:call`,
            purpose: 'call',
            intentId: open.intent.id,
          },
          now,
        ),
  )
  const deposit = {
    id: `deposit:${GAS_TANK}:${now}`,
    purpose: 'deposit',
    intentId: undefined,
  } as const
  const ends = [...state.transactions].flatMap(([id, { hashes }]): JournalEvent[] => [
    { type: 'transaction-signed', id, hash: bytes32(now + 1) },
    ...(hashes.length > 0 ? [] : [{ type: 'transaction-ended', id, ...WITHDRAWN } as const]),
    { type: 'transaction-ended', id, status: 'lost', hash: bytes32(1), blockNumber: undefined },
    { type: 'transaction-ended', id, status: 'mined', hash: bytes32(1), blockNumber: 9n },
    {
      ...{ type: 'transaction-ended', id, status: 'mined', hash: bytes32(1), blockNumber: 9n },
      blockHash: bytes32(9),
    },
  ])
  const mined = [...state.unfinalTransactions.keys()].flatMap((id): JournalEvent[] => [
    { type: 'transactions-final', ids: [id], blockNumber: 9n },
    ...(state.transactions.has(id)
      ? []
      : [{ type: 'transaction-reopened', id, blockNumber: 9n, blockHash: bytes32(8) } as const]),
  ])
  const indexed = [...state.deposits.keys()]
    .filter((id) => !state.transactions.has(id))
    .map((id): JournalEvent => ({ type: 'deposit-indexed', id }))
  return [...own, sent(deposit, now), ...ends, ...mined, ...indexed]
}

const WITHDRAWN = { status: 'withdrawn', hash: undefined, blockNumber: undefined } as const

function sent(
  of: {
    readonly id: string
    readonly purpose: TransactionPurpose
    readonly intentId: IntentId | undefined
  },
  now: number,
): JournalEvent {
  return {
    type: 'transaction-recorded',
    transaction: {
      ...of,
      chainId: 8453,
      from: OWNER,
      nonce: 4,
      to: GAS_TANK,
      data: '0xd0e30db0',
      value: 10n ** 18n,
      gas: 50_000n,
      maxFeePerGas: 2n ** 64n + BigInt(now),
      maxPriorityFeePerGas: 1n,
      // Older versions signed before they recorded.
      hash: now % 2 === 0 ? undefined : bytes32(now),
      isCancelling: now % 3 === 0,
    },
  }
}
