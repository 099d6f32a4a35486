import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS } from '../../src/domain/cap-windows.ts'
import type { Token } from '../../src/domain/money/token.ts'
import { baseUnits } from '../../src/domain/money/units.ts'
import { NO_CAPS } from '../../src/domain/strategy.ts'
import { type EventOf, type JournalEvent, reduce } from '../../src/journal/events/registry.ts'
import { liveSum } from '../../src/journal/projections/exposures.ts'
import { limitHit } from '../../src/journal/projections/limits.ts'
import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import { emptyState, imageOf, restoreState } from '../../src/journal/state/state-image.ts'
import type { SeenBlock } from '../../src/ports.ts'
import { ACCOUNT } from '../simulation/stage.ts'
import { capOf, OPEN } from '../support/builders.ts'
import {
  BOUND,
  exposed,
  fillOf,
  intentOf,
  opened,
  scheduled,
} from '../support/state/journal-events.ts'

const STRATEGIES = ['alpha', 'beta']
const { token: USDC } = intentOf(0).sell
const WETH = intentOf(0).buy.token
const HOUR_MS = 3_600_000
/** Hours to the next slot, besides one second: many orders share a deadline, and slots outlast the retained history. */
const SLOT_HOURS = [0, 0, 1, 11, 24, 70]

type Choice = {
  readonly move: number
  readonly strategy: string
  readonly hours: number
  readonly amount: number
  readonly sellsWeth: boolean
}
const choice: fc.Arbitrary<Choice> = fc.record({
  move: fc.nat(),
  strategy: fc.constantFrom(...STRATEGIES),
  hours: fc.constantFrom(...SLOT_HOURS),
  amount: fc.integer({ min: 1, max: 100 }),
  sellsWeth: fc.boolean(),
})

/** Next events of a random daemon: a new order, or a step of an open order. */
function nextEvents(state: DaemonState, at: Choice): readonly JournalEvent[] {
  const open = [...state.intents.values()].filter((each) => each.venue === 'gasless')
  const chosen = open[at.move % (open.length + 1)]
  if (chosen === undefined) return [opened(orderOf(state, at))]
  const { intent, attempt } = chosen
  const own = { intentId: intent.id, attempt }
  const fill = { ...fillOf(intent), paid: baseUnits(BigInt(at.amount)) }
  const closed = { type: 'intent-closed', intentId: intent.id } as const
  const block = { blockNumber: 9n, blockTimeSeconds: 9 }
  switch (chosen.state) {
    case 'planned':
      return chosen.died === 'cancelled' || chosen.settled !== undefined
        ? [{ ...closed, outcome: 'failed', reason: 'permit-cancelled' }]
        : [exposedOf(exposed(intent, attempt), chosen.intent.sell.token)]
    case 'filled':
      return [{ ...closed, outcome: 'filled', reason: 'filled' }]
    default:
      if (at.move % 5 < 3) return [{ type: 'fill-proven', ...own, fill }]
      return [endOf({ ...own, ...block }, { isUsed: at.move % 5 < 4, isSaid: at.sellsWeth })]
  }
}

/** End of an order by chain evidence or by the operator's word. */
function endOf(
  own: Pick<EventOf<'authorization-dead'>, 'intentId' | 'attempt'> & SeenBlock,
  { isUsed, isSaid }: { readonly isUsed: boolean; readonly isSaid: boolean },
): JournalEvent {
  if (!isSaid) return { type: 'authorization-dead', ...own, how: isUsed ? 'cancelled' : 'expired' }
  const word = isUsed ? ({ as: 'executed', txHash: undefined } as const) : ({ as: 'dead' } as const)
  return { type: 'order-settled', ...own, evidence: '', ...word }
}

function orderOf(state: DaemonState, { strategy, hours, amount, sellsWeth }: Choice) {
  const last = state.strategies.get(strategy)?.lastSlotSeconds ?? 0
  const intent = intentOf(last + 1 + hours * 3_600, strategy)
  const sell = sellsWeth ? intent.buy : intent.sell
  return { ...intent, sell, maxSell: baseUnits(BigInt(amount)) }
}

function exposedOf(event: JournalEvent, token: Token): JournalEvent {
  if (event.type !== 'permit-recorded') throw new Error('not a permit')
  return { ...event, permit: { ...event.permit, token: token.address } }
}

/** Amounts that count against caps, from a scan of every exposure. */
function naive(
  state: DaemonState,
  query: { token: Token; nowMs: number; strategy?: string },
): { live: bigint; day: bigint } {
  let live = 0n
  let day = 0n
  for (const exposure of state.exposures.values()) {
    if (exposure.token !== query.token.address) continue
    if (query.strategy !== undefined && exposure.strategy !== query.strategy) continue
    if (exposure.live) live += exposure.amount
    if (exposure.live || query.nowMs - exposure.atMs < DAY_MS) day += exposure.amount
  }
  return { live, day }
}

/** Used amounts as reported by caps of zero, which every order exceeds. */
function capped(state: DaemonState, query: { token: Token; nowMs: number; strategy: string }) {
  const nothing = baseUnits(0n)
  const account = { ...ACCOUNT, perDay: NO_CAPS, perOrder: NO_CAPS }
  const limits = OPEN
  const request = { ...query, amount: baseUnits(1n), limits, account }
  const perDay = capOf(query.token, nothing)
  return {
    strategy: limitHit(state, { ...request, limits: { ...limits, perDay } })?.used,
    account: limitHit(state, {
      ...request,
      account: { ...account, perDay },
    })?.used,
    live: liveSum(state, query.token.address),
    liveOfStrategy: liveSum(state, query.token.address, query.strategy),
  }
}

/** Used amounts from a scan of every exposure. */
function counted(state: DaemonState, query: { token: Token; nowMs: number; strategy: string }) {
  const { token, nowMs } = query
  const own = naive(state, query)
  const all = naive(state, { token, nowMs })
  return { strategy: own.day, account: all.day, live: all.live, liveOfStrategy: own.live }
}

/** Compares both at given moments and at the window edges of the newest exposures. */
function compareAt(state: DaemonState, moments: readonly number[]): void {
  const newest = [...state.exposures.values()].slice(-3)
  const edges = newest.flatMap(({ atMs }) => [atMs, atMs + DAY_MS - 1, atMs + DAY_MS])
  const queries = [...moments, ...edges].flatMap((nowMs) =>
    [USDC, WETH].flatMap((token) => STRATEGIES.map((strategy) => ({ token, nowMs, strategy }))),
  )
  expect(queries.map((query) => capped(state, query))).toEqual(
    queries.map((query) => counted(state, query)),
  )
}

/** Applies an event and returns the number of exposures that it made too old to retain. */
function applyCounting(state: DaemonState, event: JournalEvent, atMs: number): number {
  const before = state.exposures.size
  reduce(state, event, atMs)
  return event.type === 'fill-proven' ? before - state.exposures.size : 0
}

test('caps count the same amounts as a scan of every exposure, across clock jumps', () => {
  let forgotten = 0
  fc.assert(
    fc.property(
      fc.array(choice, { minLength: 1, maxLength: 120, size: 'max' }),
      fc.array(fc.integer({ min: -100, max: 2_000 }), { minLength: 4, maxLength: 4 }),
      fc.nat(119),
      (choices, hours, restoreAt) => {
        const jumps = hours.map((each) => each * HOUR_MS)
        const state = emptyState()
        for (const event of [BOUND, ...STRATEGIES.map((name) => scheduled(name))])
          reduce(state, event, 0)
        for (const [index, each] of choices.entries()) {
          for (const event of nextEvents(state, each))
            forgotten += applyCounting(state, event, jumps[index % 4] ?? 0)
          if (index === restoreAt) restoreState(state, imageOf(state))
          compareAt(state, jumps)
        }
      },
    ),
    { numRuns: 100 },
  )
  // Otherwise no exposure was old enough to be dropped from a sum.
  expect(forgotten).toBeGreaterThan(0)
})
