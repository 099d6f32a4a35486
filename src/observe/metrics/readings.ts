import type { Token } from '../../domain/money/token.ts'
import { hasLiveAuthorization, type OrderState } from '../../domain/order/order.ts'
import type { AccountLimits } from '../../domain/settings.ts'
import { type CapUse, capsOf } from '../../journal/projections/limits.ts'
import type { PauseCause } from '../../journal/records.ts'
import type { DaemonState, OpenIntent } from '../../journal/state/daemon-state.ts'
import { wholeTokens } from '../../journal/wording/log-values.ts'
import type { Strategy } from '../../strategies/registry.ts'
import { deadlineOf } from '../../venues/projections.ts'
import { createReadGauge, type Family } from './family.ts'

/** Stands for a strategy's name; no strategy can have it. */
const ACCOUNT = '_account'

/** A trusted call has no deadline: it is overdue after being open for this long. */
const ENDLESS_MS = 3_600_000

/** Reading the caps of a thousand strategies takes a few milliseconds. */
const CAPS_FRESH_MS = 500

/** Why signing is blocked; undefined while it is not. */
type Blocks = Readonly<Record<'lock' | 'anchor' | 'halt-file', () => string | undefined>>

export type ReadingsInput = {
  readonly state: DaemonState
  readonly strategies: () => Iterable<Strategy>
  readonly account: AccountLimits
  readonly tokens: readonly Token[]
  readonly blocks: Blocks
  /** Last turn of the loop, epoch ms. */
  readonly turnedAtMs: () => number
  /** Bytes on disk by purpose, as last measured. */
  readonly stateBytes: () => Iterable<readonly [string, number]>
  /** Last update of each pair's feed, epoch seconds. */
  readonly feedUpdated: ReadonlyMap<string, number>
  readonly now: () => number
}

/** Gauges read at each scrape; they cost nothing in between. */
export function stateReadings(input: ReadingsInput): readonly Family[] {
  const { state, blocks, now } = input
  let seen: { readonly atMs: number; readonly caps: readonly CapUse[] } | undefined
  // Two metrics share one reading. A strategy's caps appear once something counts against them.
  const caps = (): readonly CapUse[] => {
    const nowMs = now()
    if (seen !== undefined && Math.abs(nowMs - seen.atMs) <= CAPS_FRESH_MS) return seen.caps
    const strategies = [...input.strategies()].filter(
      ({ name }) => state.strategies.get(name)?.lastOrderAtMs !== undefined,
    )
    const uses = capsOf(state, { ...input, strategies, nowMs })
    const caps = uses.filter(({ strategy, used }) => strategy === undefined || used > 0n)
    seen = { atMs: nowMs, caps }
    return caps
  }
  const capGauge = (name: string, help: string, amountOf: (use: CapUse) => bigint): Family => {
    const read = () =>
      caps().map((use) => {
        const { strategy = ACCOUNT, token, window } = use
        return [
          { strategy, token: token.symbol, window },
          wholeTokens(amountOf(use), token),
        ] as const
      })
    return createReadGauge({ name, help, read })
  }
  return [
    capGauge(
      'tranched_spent',
      'Amount that counts against a cap now, in whole tokens.',
      ({ used }) => used,
    ),
    capGauge('tranched_cap', 'Caps of the operator files, in whole tokens.', ({ cap }) => cap),
    createReadGauge({
      name: 'tranched_open_intents',
      help: 'Intents without a recorded outcome, by the state of their order.',
      read: () => openByState(state),
    }),
    createReadGauge({
      name: 'tranched_unresolved_overdue_seconds',
      help: 'Time by which the oldest unresolved order has passed the deadline of its authorization.',
      read: () => [[{}, overdueSeconds(state, now())]],
    }),
    createReadGauge({
      name: 'tranched_halt_cause',
      help: '1 for the cause of the halt in force.',
      read: () => CAUSES.map((cause) => [{ cause }, state.halted?.cause === cause ? 1 : 0]),
    }),
    createReadGauge({
      name: 'tranched_contracts_changed',
      help: 'Contracts with changed code: nothing is signed with them until it is accepted.',
      read: () => [[{}, [...state.contracts.values()].filter(({ changed }) => changed).length]],
    }),
    createReadGauge({
      name: 'tranched_barred',
      help: '1 while the lock, the anchor or the file HALT blocks every signature.',
      read: () =>
        Object.entries(blocks).map(([what, blocked]) => [
          { what },
          blocked() === undefined ? 0 : 1,
        ]),
    }),
    createReadGauge({
      name: 'tranched_last_turn_timestamp_seconds',
      help: 'When the loop of the daemon last turned, in epoch seconds.',
      read: () => [[{}, input.turnedAtMs() / 1_000]],
    }),
    createReadGauge({
      name: 'tranched_state_bytes',
      help: 'Size of the state directory on disk.',
      read: () => [...input.stateBytes()].map(([what, bytes]) => [{ what }, bytes]),
    }),
    createReadGauge({
      name: 'tranched_feed_age_seconds',
      help: 'Age of the newest price that a feed gave.',
      read: () =>
        [...input.feedUpdated].map(([pair, at]) => [{ pair }, Math.max(0, now() / 1_000 - at)]),
    }),
  ]
}

const CAUSES: readonly PauseCause[] = ['operator', 'failure-streak', 'evidence']

const STATES: readonly OrderState[] = ['planned', 'exposed', 'accepted', 'lapsing', 'filled']

function openByState({ intents }: DaemonState): readonly (readonly [{ state: string }, number])[] {
  const counts = new Map<OrderState, number>()
  for (const { state } of intents.values()) counts.set(state, (counts.get(state) ?? 0) + 1)
  return STATES.map((state) => [{ state }, counts.get(state) ?? 0])
}

function overdueSeconds({ intents }: DaemonState, nowMs: number): number {
  let longestMs = 0
  for (const open of intents.values()) {
    const dueMs = dueOf(open)
    if (dueMs !== undefined) longestMs = Math.max(longestMs, nowMs - dueMs)
  }
  return longestMs / 1_000
}

/** When the order is due to end, epoch ms; undefined until something is signed. */
function dueOf(open: OpenIntent): number | undefined {
  if (!hasLiveAuthorization(open.state)) return undefined
  const deadlineSeconds = deadlineOf(open)
  return deadlineSeconds === undefined ? open.openedAtMs + ENDLESS_MS : deadlineSeconds * 1_000
}
