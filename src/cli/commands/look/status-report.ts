import type { EndedSlot } from '../../../adapters/page/sightings.ts'
import type { JournalView } from '../../../adapters/state/journal-view.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import { programKey, unsoldOf } from '../../../decide/twap.ts'
import { DAY_MS, usedInWindow } from '../../../domain/book/limits.ts'
import { purchaseOf } from '../../../domain/book/purchases.ts'
import type { Hold, OpenIntent, Pause, StrategyRecord } from '../../../domain/book/state.ts'
import { deadlineOf } from '../../../domain/book/venues.ts'
import { nextSlot } from '../../../domain/schedule/calendar.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import { ETHER, type Token } from '../../../domain/token.ts'
import type { Address } from '../../../domain/units.ts'
import type { Word } from '../../../domain/word.ts'
import { approvalsIn } from '../../../engine/approvals.ts'
import { scheduleOf } from '../../../engine/view.ts'
import { amountData } from '../../amount-data.ts'
import { haltOf, holderOf } from '../../compose/state.ts'
import type { DaemonStatus } from '../../daemon/attend.ts'
import { describeStrategy, instantText } from '../../describe.ts'
import type { StatusData } from '../../json/look.ts'
import type { AmountData } from '../../json/shapes.ts'

/** What a running daemon says of itself; `silent` when it says nothing. */
export type Daemon = DaemonStatus | 'silent' | undefined

export type StatusInput = {
  readonly stateDir: string
  /** Undefined where the config cannot be read. */
  readonly settings: Settings | undefined
  readonly strategies: readonly Strategy[]
  /** What is wrong with the files: of some strategies only the state is known then. */
  readonly problems: readonly Problem[]
  readonly view: JournalView
  readonly lastSlots: ReadonlyMap<string, EndedSlot>
  readonly daemon: Daemon
  readonly nowMs: number
}

export type StatusReport = Omit<StatusData, 'ok' | 'problems'>
type StrategyReport = StatusReport['strategies'][number]

/** Who runs, what is open, and how each strategy stands. Of strategies without a sound file what the state has of them. */
export function reportOf(input: StatusInput): StatusReport {
  const { stateDir, settings, strategies, problems, view, daemon } = input
  const { state } = view
  const holder = holderOf(stateDir)
  const stale = typeof daemon === 'object' ? daemon.stale : undefined
  const files = new Map(strategies.map((each) => [each.name, each]))
  const ofState = problems.length === 0 ? [] : state.strategies.keys()
  const names = [...new Set([...files.keys(), ...ofState])]
  return {
    mode: settings?.mode ?? state.bound?.mode ?? null,
    stateDir,
    running:
      holder === undefined
        ? null
        : { pid: holder.pid, startedAt: new Date(holder.startedAtMs).toISOString() },
    answers: daemon === undefined ? null : daemon !== 'silent',
    staleFiles: stale
      ? {
          files: stale.files,
          refusedAt: new Date(stale.sinceMs).toISOString(),
          detail: stale.detail,
        }
      : null,
    wallet: state.bound?.owner ?? null,
    halted: pauseReport(state.halted),
    haltFile: haltOf(stateDir) ?? null,
    changedContracts: approvalsIn(state).flatMap(({ kind, name, sinceMs, detail }) =>
      kind === 'contract' ? [{ name, at: new Date(sinceMs).toISOString(), detail }] : [],
    ),
    openIntents: [...state.intents.values()].map(openReport),
    strategies: names.map((name) => strategyReport(name, files.get(name), input)),
  }
}

function pauseReport(pause: Pause | undefined): StatusReport['halted'] {
  if (pause === undefined) return null
  const { atMs, cause, detail } = pause
  return { at: new Date(atMs).toISOString(), cause, detail }
}

function holdReport({ atMs, detail }: Hold): NonNullable<StrategyReport['held']> {
  return { at: new Date(atMs).toISOString(), detail }
}

function openReport(open: OpenIntent): StatusReport['openIntents'][number] {
  const { settled } = open
  const deadline = deadlineOf(open)
  return {
    intentId: open.intent.id,
    state: open.state,
    attempt: open.attempt,
    orderId: open.orderId ?? null,
    deadlineAt: deadline === undefined ? null : instantText(deadline),
    openedAt: new Date(open.openedAtMs).toISOString(),
    settled: settled === undefined ? null : wordData(settled),
  }
}

function wordData(word: Word): NonNullable<StatusReport['openIntents'][number]['settled']> {
  return { as: word.as, txHash: (word.as === 'executed' ? word.txHash : undefined) ?? null }
}

function strategyReport(
  name: string,
  strategy: Strategy | undefined,
  input: StatusInput,
): StrategyReport {
  const { view, lastSlots } = input
  const record = view.state.strategies.get(name)
  const last = lastSlots.get(name)
  return {
    name,
    enabled: strategy?.enabled ?? null,
    does: strategy === undefined ? null : describeStrategy(strategy),
    fills: record?.fills ?? 0,
    paused: pauseReport(record?.paused),
    held: record?.held === undefined ? null : holdReport(record.held),
    failureStreak: record?.failureStreak ?? 0,
    spent: amounts(record?.spent ?? new Map(), input.settings),
    day: dayReport(name, strategy, input),
    openSlots: record?.openSlots.length ?? 0,
    unsold: unsoldReport(strategy, record),
    entry: entryReport(strategy, view),
    lastFillAt:
      record?.lastFillAtMs === undefined ? null : new Date(record.lastFillAtMs).toISOString(),
    lastSlot:
      last === undefined
        ? null
        : {
            at: instantText(last.slotSeconds),
            outcome: last.outcome,
            reason: last.reason === last.outcome ? null : last.reason,
            detail: last.detail ?? null,
          },
    nextSlotAt: nextOf(strategy, record, input),
  }
}

/** When the next slot is due; null where none is. */
function nextOf(
  strategy: Strategy | undefined,
  record: StrategyRecord | undefined,
  { view, nowMs }: StatusInput,
): string | null {
  if (strategy?.enabled !== true) return null
  const after = Math.max(Math.floor(nowMs / 1000), record?.lastSlotSeconds ?? 0)
  const next = nextSlot(scheduleOf(view.state, strategy), after)
  return next === undefined ? null : instantText(next)
}

function tokenOf(address: Address, settings: Settings | undefined): Token | undefined {
  return [ETHER, ...(settings?.tokens.values() ?? [])].find((each) => each.address === address)
}

/** Amounts of tokens that the config names; of others it is not known in what they are. */
function amounts(
  sums: ReadonlyMap<Address, bigint>,
  settings: Settings | undefined,
): readonly AmountData[] {
  return [...sums].flatMap(([address, amount]) => {
    const token = tokenOf(address, settings)
    return token === undefined || amount === 0n ? [] : [amountData(amount, token)]
  })
}

function dayReport(
  name: string,
  strategy: Strategy | undefined,
  { view, settings, nowMs }: StatusInput,
): StrategyReport['day'] {
  if (settings === undefined) return []
  const own = strategy?.limits.perDay
  const spent = view.state.strategies.get(name)?.spent
  const addresses = new Set([...(own?.keys() ?? []), ...(spent?.keys() ?? [])])
  return [...addresses].flatMap((address) => {
    const token = tokenOf(address, settings)
    if (token === undefined) return []
    const used = usedInWindow(view.state, { token: address, strategy: name }, nowMs - DAY_MS)
    const cap = own?.get(address)
    if (used === 0n && cap === undefined) return []
    const most = cap === undefined ? null : amountData(cap, token)
    return [{ used: amountData(used, token), cap: most }]
  })
}

/** What a strategy with `entryOf` measures its levels from; null for any other. */
function entryReport(
  strategy: Strategy | undefined,
  { state }: JournalView,
): StrategyReport['entry'] {
  if (strategy?.kind !== 'threshold' || strategy.entryOf === undefined) return null
  const { base: bought, quote: paidIn } = strategy.watch
  const of = strategy.entryOf
  const { amount, cost } = purchaseOf(state, of, { bought, paidIn })
  return { of, held: amountData(amount, bought), cost: amountData(cost, paidIn) }
}

/** What a program of slices that is over has not sold; null for any other. */
function unsoldReport(
  strategy: Strategy | undefined,
  record: StrategyRecord | undefined,
): AmountData | null {
  if (strategy?.kind !== 'twap' || record === undefined) return null
  if (record.endedProgram !== programKey(strategy)) return null
  const { token } = strategy.sell
  const { memory } = record
  const unsold = unsoldOf(strategy, { memory, spent: record.spent.get(token.address) ?? 0n })
  return unsold === 0n ? null : amountData(unsold, token)
}
