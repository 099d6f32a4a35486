import { DAY_MS } from '../../../domain/cap-windows.ts'
import { ETHER, type Token } from '../../../domain/money/token.ts'
import type { Address } from '../../../domain/money/units.ts'
import { reasonText } from '../../../domain/order/reason.ts'
import { nextOpening } from '../../../domain/schedule/due.ts'
import type { Settings } from '../../../domain/settings.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { briefDecimal } from '../../../domain/text/grouped.ts'
import { approvalsIn } from '../../../engine/limits/approvals.ts'
import { heldText } from '../../../engine/limits/hold.ts'
import type { SlotEnd } from '../../../journal/events/strategy/slots.ts'
import { usedInWindow } from '../../../journal/projections/limits.ts'
import { purchaseOf } from '../../../journal/projections/purchases.ts'
import type { OpenIntent, Pause, StrategyRecord } from '../../../journal/state/daemon-state.ts'
import { instantText } from '../../../observe/wording.ts'
import type { JournalView } from '../../../store/file/journal-snapshot.ts'
import { stateFiles } from '../../../store/file/state-files.ts'
import { readLock } from '../../../store/lock/state-lock.ts'
import { kindOf, type Strategy } from '../../../strategies/registry.ts'
import { isFinished, scheduleOf } from '../../../strategies/spending/slots-ahead.ts'
import { readRecentEvents } from '../../../ui/page/server/recent.ts'
import { deadlineOf } from '../../../venues/projections.ts'
import { haltOf } from '../../compose/daemons.ts'
import { readinessOf } from '../../compose/state.ts'
import type { StatusData } from '../../json/inspect-outputs.ts'
import type { AmountData } from '../../json/shapes.ts'
import type { ConfigOptions } from '../../load-files.ts'
import { columnsOf, type ExitCode, type Io, print } from '../../process/io.ts'
import { type Daemon, daemonOf, type Reading, waitsOf, whileReading } from '../../reading.ts'
import { amountData, counted, isoOf, shortText } from '../../text/amount-data.ts'
import { type Column, tableLines } from '../../text/table.ts'

/** `tranched status`: the daemon, open orders, and each strategy's slots. Asks the daemon only for its own status. */
export function status(options: ConfigOptions, io: Io, nowMs: number): Promise<ExitCode> {
  return whileReading(options, io, async (reading) => {
    const { stateDir, settings, strategies, view } = reading
    const names = new Set([...view.state.strategies.keys(), ...strategies.map(({ name }) => name)])
    const journal = { stateDir, archive: settings?.journal.archive }
    const slots = lastSlotsIn(journal, [...names])
    const [daemon, lastSlots] = await Promise.all([daemonOf(stateDir), slots])
    const starting =
      daemon === 'silent' && settings !== undefined ? await readinessOf(settings) : undefined
    const report = reportOf({ ...reading, lastSlots, daemon, starting, nowMs })
    const { problems } = reading
    return print<StatusData>(io, options, { ...report, problems }, () =>
      linesOf(report, { nowMs, columns: columnsOf(io), hasProblems: problems.length > 0 }),
    )
  })
}

type StrategyReport = StatusReport['strategies'][number]
type OpenReport = StatusReport['openIntents'][number]

function linesOf(
  report: StatusReport,
  { nowMs, columns, hasProblems }: Record<'nowMs' | 'columns', number> & { hasProblems: boolean },
): readonly string[] {
  const ago = (at: string): string => durationText(nowMs - Date.parse(at))
  const { running, openIntents, strategies } = report
  const where = `(${report.mode ?? 'unknown mode'}, state in ${report.stateDir})`
  const lines = [
    running === null
      ? `not running ${where}`
      : `running for ${ago(running.startedAt)}, pid ${running.pid} ${where}`,
    `wallet ${report.wallet ?? 'not bound yet'}, ${counted(openIntents.length, 'order')} open`,
  ]
  if (report.halted !== null)
    lines.push(
      `HALTED ${ago(report.halted.at)} ago: ${report.halted.detail}; \`tranched resume\` lifts it`,
    )
  else if (report.haltFile !== null)
    lines.push(`HALTED: ${report.haltFile}; \`tranched resume\` lifts it`)
  for (const { name, at, detail } of report.changedContracts)
    lines.push(
      `CODE CHANGED ${ago(at)} ago, ${name}: ${detail}; \`tranched approve ${name}\` accepts it`,
    )
  lines.push(...notReadyLines(report))
  const { staleFiles } = report
  if (staleFiles !== null)
    lines.push(
      `NOT RELOADED for ${ago(staleFiles.refusedAt)}, the previous files stay in force: ${hasProblems ? 'see the problems below' : staleFiles.detail}`,
    )
  lines.push(...openIntents.map(openLine))
  const table: readonly Column<StrategyReport>[] = [
    { title: 'STRATEGY', cell: ({ name }) => name },
    { title: 'FILLS', cell: ({ fills }) => `${fills}`, right: true, optional: true },
    { title: 'TODAY/CAP', cell: dayText },
    { title: running === null ? 'DUE, IF RUN' : 'NEXT', cell: (each) => nextText(each, nowMs) },
    { title: 'LAST', cell: (each) => lastText(each, ago), below: true },
  ]
  const rows = tableLines(table, strategies, columns)
  const notes = strategies.flatMap((each) => noteLines(each, ago))
  return [...lines, ...(rows.length === 0 ? [] : ['', ...rows]), ...notes]
}

function openLine({ intentId, state, attempt, settled, waits }: OpenReport): string {
  if (settled) return `  ${intentId}: settled, closes when the daemon runs`
  return `  ${intentId}: ${state}, attempt ${attempt}${waits === null ? '' : `, ${waits}`}`
}

/** The services and nodes that are down, as the page shows them. */
function notReadyLines({ answers, ready }: StatusReport): readonly string[] {
  if (answers === false && ready === null)
    return ['the daemon does not answer: it is starting, stopping or hung']
  return (ready?.reasons ?? []).map((reason) => `NOT READY: ${reason}`)
}

function lastText({ lastSlot, lastFillAt }: StrategyReport, ago: (at: string) => string): string {
  if (lastSlot === null) return '-'
  const { outcome, reason } = lastSlot
  const at = (outcome === 'filled' && lastFillAt) || lastSlot.at
  return `${outcome} ${ago(at)} ago${reason === null ? '' : `: ${reasonText(reason)}`}`
}

function dayText({ day }: StrategyReport): string {
  const texts = day.map(({ used, cap }) => {
    const most = cap === null ? '' : `/${briefDecimal(cap.amount)}`
    return `${briefDecimal(used.amount)}${most} ${used.token}`
  })
  return texts.length === 0 ? '-' : texts.join(', ')
}

function nextText(
  { enabled, finished, paused, held, nextSlotAt }: StrategyReport,
  nowMs: number,
): string {
  if (enabled === null && nextSlotAt === null) return 'unknown'
  if (finished) return 'finished'
  if (enabled === false) return 'disabled'
  if (paused !== null) return 'PAUSED'
  if (held !== null) return 'HELD'
  if (nextSlotAt === null) return 'no slot'
  const leftMs = Date.parse(nextSlotAt) - nowMs
  return leftMs < 0 ? `waits, due ${durationText(-leftMs)} ago` : `in ${durationText(leftMs)}`
}

function noteLines(
  { name, paused, held, unsold, entry }: StrategyReport,
  ago: (at: string) => string,
): readonly string[] {
  const notes: string[] = []
  if (paused !== null) notes.push(`${name}: PAUSED ${ago(paused.at)} ago: ${paused.detail}`)
  if (held !== null) notes.push(`${name}: HELD ${ago(held.at)} ago: ${heldText(name, held.detail)}`)
  if (unsold !== null) notes.push(`${name}: NOT SOLD ${shortText(unsold)}, though it is completed`)
  if (entry !== null) {
    const { of, held: bought, cost } = entry
    notes.push(
      bought.amount === '0'
        ? `${name}: no entry price, because ${of} holds no ${bought.token} that it bought`
        : `${name}: entry price from ${of}, which paid ${shortText(cost)} for ${shortText(bought)}`,
    )
  }
  return notes
}

/** Each strategy's last ended slot, if the newest journal files contain it. */
async function lastSlotsIn(
  journal: { readonly stateDir: string; readonly archive: string | undefined },
  strategies: readonly string[],
): Promise<ReadonlyMap<string, SlotEnd>> {
  const { stateDir, archive } = journal
  const place = { dir: stateFiles(stateDir).journal, archive }
  const { slots } = await readRecentEvents(place, { fills: 0, strategies, skips: false })
  // Newest first: the last entry of a map counts.
  return new Map(slots.toReversed().map((slot) => [slot.strategy, slot]))
}

type StatusInput = Reading & {
  readonly lastSlots: ReadonlyMap<string, SlotEnd>
  readonly daemon: Daemon
  /** Of a daemon whose socket does not answer. */
  readonly starting: StatusReport['ready'] | undefined
  readonly nowMs: number
}

export type StatusReport = Omit<StatusData, 'ok' | 'problems'>

/** If files have problems, also reports strategies that only the state knows. */
function reportOf(input: StatusInput): StatusReport {
  const { stateDir, settings, strategies, problems, view, daemon } = input
  const { state } = view
  const holder = readLock(stateDir)
  const stale = typeof daemon === 'object' ? daemon.stale : undefined
  const files = new Map(strategies.map((each) => [each.name, each]))
  const ofState = problems.length === 0 ? [] : state.strategies.keys()
  const names = [...new Set([...files.keys(), ...ofState])]
  return {
    mode: settings?.mode ?? state.bound?.mode ?? null,
    stateDir,
    running: holder ? { pid: holder.pid, startedAt: isoOf(holder.startedAtMs) } : null,
    answers: daemon === undefined ? null : daemon !== 'silent',
    ready: (typeof daemon === 'object' ? daemon.ready : input.starting) ?? null,
    staleFiles: stale
      ? { files: stale.files, refusedAt: isoOf(stale.sinceMs), detail: stale.detail }
      : null,
    wallet: state.bound?.owner ?? null,
    halted: pauseReport(state.halted),
    haltFile: haltOf(stateDir) ?? null,
    changedContracts: approvalsIn(state).flatMap(({ kind, name, sinceMs, detail }) =>
      kind === 'contract' ? [{ name, at: isoOf(sinceMs), detail }] : [],
    ),
    openIntents: [...state.intents.values()].map((open) => openReport(open, daemon)),
    strategies: names.map((name) => strategyReport(name, files.get(name), input)),
  }
}

function pauseReport(pause: Pause | undefined): StatusReport['halted'] {
  if (pause === undefined) return null
  const { atMs, cause, detail } = pause
  return { at: isoOf(atMs), cause, detail }
}

function openReport(open: OpenIntent, daemon: Daemon): OpenReport {
  const { settled } = open
  const deadline = deadlineOf(open)
  return {
    intentId: open.intent.id,
    state: open.state,
    attempt: open.attempt,
    orderId: open.orderId ?? null,
    deadlineAt: deadline === undefined ? null : instantText(deadline),
    openedAt: isoOf(open.openedAtMs),
    waits: waitsOf(open, daemon) ?? null,
    settled: settled
      ? { as: settled.as, txHash: (settled.as === 'executed' && settled.txHash) || null }
      : null,
  }
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
    does: strategy === undefined ? null : kindOf(strategy).describe(strategy),
    fills: record?.fills ?? 0,
    paused: pauseReport(record?.paused),
    held: record?.held ? { at: isoOf(record.held.atMs), detail: record.held.detail } : null,
    failureStreak: record?.failureStreak ?? 0,
    spent: amounts(record?.spent ?? new Map(), input.settings),
    day: dayReport(name, strategy, input),
    openSlots: record?.openSlots.length ?? 0,
    unsold: unsoldReport(strategy, record),
    entry: entryReport(strategy, view),
    lastFillAt: record?.lastFillAtMs === undefined ? null : isoOf(record.lastFillAtMs),
    lastSlot:
      last === undefined
        ? null
        : {
            at: instantText(last.lastSeconds),
            outcome: last.outcome,
            reason: last.reason === last.outcome ? null : last.reason,
            detail: last.detail ?? null,
          },
    finished: strategy !== undefined && isFinished(view.state, strategy),
    nextSlotAt: slotByDaemon(name, strategy, input) ?? nextOf(strategy, record, input),
  }
}

/** The due slot for which the daemon waits; for an unreadable file, the next slot of the version in force. */
function slotByDaemon(
  name: string,
  strategy: Strategy | undefined,
  { daemon }: StatusInput,
): string | undefined {
  if (typeof daemon !== 'object') return undefined
  const inForce = strategy === undefined ? daemon.inForce?.[name]?.nextSlot : undefined
  const slot = daemon.waiting?.[name] ?? inForce ?? undefined
  return slot === undefined ? undefined : instantText(slot)
}

function capsByDaemon(name: string, { daemon }: StatusInput): ReadonlyMap<Address, bigint> {
  const caps = (typeof daemon === 'object' && daemon.inForce?.[name]?.perDay) || {}
  return new Map(Object.entries(caps).map(([token, cap]) => [token as Address, BigInt(cap)]))
}

function nextOf(
  strategy: Strategy | undefined,
  record: StrategyRecord | undefined,
  { view, nowMs }: StatusInput,
): string | null {
  if (strategy?.enabled !== true) return null
  const { lastSlotSeconds = 0 } = record ?? {}
  const schedule = scheduleOf(view.state, strategy)
  const opens = nextOpening(strategy.name, schedule, { lastSlotSeconds, nowMs })
  return opens === undefined ? null : instantText(opens)
}

function tokenOf(address: Address, settings: Settings | undefined): Token | undefined {
  return [ETHER, ...(settings?.tokens.values() ?? [])].find((each) => each.address === address)
}

/** Omits tokens missing in the config: their decimals are unknown. */
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
  input: StatusInput,
): StrategyReport['day'] {
  const { view, settings, nowMs } = input
  if (settings === undefined) return []
  const own = strategy?.limits.perDay ?? capsByDaemon(name, input)
  const spent = view.state.strategies.get(name)?.spent
  const addresses = new Set([...own.keys(), ...(spent?.keys() ?? [])])
  return [...addresses].flatMap((address) => {
    const token = tokenOf(address, settings)
    if (token === undefined) return []
    const used = usedInWindow(view.state, { token: address, strategy: name }, nowMs - DAY_MS)
    const cap = own.get(address)
    if (used === 0n && cap === undefined) return []
    const most = cap === undefined ? null : amountData(cap, token)
    return [{ used: amountData(used, token), cap: most }]
  })
}

function entryReport(
  strategy: Strategy | undefined,
  { state }: JournalView,
): StrategyReport['entry'] {
  const entry = strategy && kindOf(strategy).entry(strategy)
  if (entry === undefined) return null
  const { of, bought, paidIn } = entry
  const { amount, cost } = purchaseOf(state, of, entry)
  return { of, held: amountData(amount, bought), cost: amountData(cost, paidIn) }
}

function unsoldReport(
  strategy: Strategy | undefined,
  record: StrategyRecord | undefined,
): AmountData | null {
  const sliced = strategy && kindOf(strategy).slicedTotal(strategy)
  if (sliced === undefined || record?.endedProgram !== sliced.key) return null
  const unsold = sliced.unsold(record)
  return unsold === 0n ? null : amountData(unsold, sliced.token)
}
