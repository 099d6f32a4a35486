import type { JournalView } from '../../../adapters/state/journal-file.ts'
import { programKey, unsoldOf } from '../../../decide/twap.ts'
import type { OpenIntent, Pause, StrategyRecord } from '../../../domain/book/state.ts'
import { deadlineOf } from '../../../domain/book/venues.ts'
import { nextSlot } from '../../../domain/schedule/calendar.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import { ETHER } from '../../../domain/token.ts'
import { formatAmount } from '../../../domain/units.ts'
import { scheduleOf } from '../../../engine/view.ts'
import { askDaemon } from '../../compose/control.ts'
import { haltOf, holderOf, readState } from '../../compose/state.ts'
import type { DaemonStatus } from '../../daemon/attend.ts'
import { describeStrategy, durationText } from '../../describe.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../io.ts'
import {
  type ConfigOptions,
  loadForReading,
  renderAll,
  reportProblems,
  settingsForReading,
  stateMissing,
} from '../../load.ts'

/** A daemon that works answers at once. */
const ANSWER_MS_MAX = 2_000

/**
 * `tranched status`: who runs, what is open, what each strategy did and when it is next due. Reads files, and asks the daemon
 * for what only it knows.
 */
export async function status(options: ConfigOptions, io: Io, nowMs: number): Promise<ExitCode> {
  const loaded = loadForReading(options, io)
  // Of strategies that cannot be read everything else is known all the same.
  const found = loaded.ok ? loaded : settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  const strategies = loaded.ok ? loaded.strategies : []
  const problems = loaded.ok ? [] : loaded.problems
  const view = await readState(settings.stateDir)
  if (view === undefined) {
    const code = reportProblems([stateMissing(settings.stateDir)], io, options)
    return code === EXIT.badConfig ? EXIT.failed : code
  }
  const daemon = await daemonOf(settings)
  const report = reportOf({ settings, strategies, view, daemon, nowMs })
  if (options.json) printJson(io, { ...report, problems })
  else io.stdout.write(`${textOf(report, nowMs)}\n`)
  if (problems.length > 0 && !options.json) io.stderr.write(`${renderAll(problems, io)}\n`)
  return EXIT.done
}

/** What a running daemon says of itself; `silent` when it says nothing. */
type Daemon = DaemonStatus | 'silent' | undefined

async function daemonOf({ stateDir }: Settings): Promise<Daemon> {
  if (holderOf(stateDir) === undefined) return undefined
  const asked = await askDaemon(stateDir, { command: 'status' }, ANSWER_MS_MAX)
  if (asked.tag !== 'answered' || !asked.answer.ok) return 'silent'
  return asked.answer.result as DaemonStatus
}

type Report = ReturnType<typeof reportOf>

function reportOf(input: {
  settings: Settings
  strategies: readonly Strategy[]
  view: JournalView
  daemon: Daemon
  nowMs: number
}) {
  const { settings, strategies, view, daemon, nowMs } = input
  const holder = holderOf(settings.stateDir)
  return {
    mode: settings.mode,
    stateDir: settings.stateDir,
    running: holder === undefined ? null : { pid: holder.pid, startedAtMs: holder.startedAtMs },
    /** Null where no daemon runs. */
    answers: daemon === undefined ? null : daemon !== 'silent',
    /** Files that the daemon refused when it read them again. */
    staleFiles: (typeof daemon === 'object' && daemon.stale) || null,
    wallet: view.state.bound?.owner ?? null,
    halted: view.state.halted ?? null,
    haltFile: haltOf(settings.stateDir) ?? null,
    openIntents: [...view.state.intents.values()].map(openReport),
    strategies: strategies.map((strategy) => strategyReport(strategy, { view, settings, nowMs })),
  }
}

function openReport(open: OpenIntent) {
  return {
    intentId: open.intent.id,
    state: open.state,
    attempt: open.attempt,
    orderId: open.orderId ?? null,
    deadlineSeconds: deadlineOf(open) ?? null,
    openedAtMs: open.openedAtMs,
    /** An operator's word, by which it closes. */
    settled: open.settled ?? null,
  }
}

function strategyReport(
  strategy: Strategy,
  { view, settings, nowMs }: { view: JournalView; settings: Settings; nowMs: number },
) {
  const record = view.state.strategies.get(strategy.name)
  const known = [ETHER, ...settings.tokens.values()]
  const spent = [...(record?.spent ?? [])].flatMap(([address, amount]) => {
    const token = known.find((each) => each.address === address)
    const { symbol = address, decimals = 0 } = token ?? {}
    return amount === 0n ? [] : [{ token: symbol, amount: formatAmount(amount, decimals) }]
  })
  const after = Math.max(Math.floor(nowMs / 1000), record?.lastSlotSeconds ?? 0)
  return {
    name: strategy.name,
    enabled: strategy.enabled,
    does: describeStrategy(strategy),
    fills: record?.fills ?? 0,
    paused: record?.paused ?? null,
    failureStreak: record?.failureStreak ?? 0,
    spent,
    openSlots: record?.openSlots.length ?? 0,
    unsold: record === undefined ? null : unsoldReport(strategy, record),
    lastFillAtMs: record?.lastFillAtMs ?? null,
    nextSlotSeconds: strategy.enabled
      ? (nextSlot(scheduleOf(view.state, strategy), after) ?? null)
      : null,
  }
}

/** What a program of slices that is over has not sold, in whole tokens; null for any other. */
function unsoldReport(strategy: Strategy, record: StrategyRecord) {
  if (strategy.kind !== 'twap' || record.endedProgram !== programKey(strategy)) return null
  const { address, symbol, decimals } = strategy.sell.token
  const { memory } = record
  const unsold = unsoldOf(strategy, { memory, spent: record.spent.get(address) ?? 0n })
  return unsold === 0n ? null : { token: symbol, amount: formatAmount(unsold, decimals) }
}

function textOf(report: Report, nowMs: number): string {
  const { running } = report
  const lines = [
    running === null
      ? `not running (${report.mode}, state in ${report.stateDir})`
      : `running for ${durationText(nowMs - running.startedAtMs)}, pid ${running.pid} (${report.mode}, state in ${report.stateDir})`,
    `wallet ${report.wallet ?? 'not bound yet'}, ${report.openIntents.length} open intents`,
  ]
  if (report.halted !== null)
    lines.push(`HALTED ${sinceText(report.halted, nowMs)}; \`tranched resume\` lifts it`)
  else if (report.haltFile !== null)
    lines.push(`HALTED: ${report.haltFile}; \`tranched resume\` lifts it`)
  if (report.answers === false)
    lines.push('the daemon gives no answer: it is starting, stopping or hanging')
  const { staleFiles } = report
  if (staleFiles !== null) {
    const since = durationText(nowMs - staleFiles.sinceMs)
    lines.push(`NOT RELOADED for ${since}, older files are in force: ${staleFiles.detail}`)
  }
  for (const open of report.openIntents) lines.push(`  ${open.intentId}: ${openText(open)}`)
  for (const each of report.strategies) lines.push(strategyLine(each, nowMs))
  return lines.join('\n')
}

function openText({ state, attempt, settled }: Report['openIntents'][number]): string {
  if (settled !== null) return 'settled, closes when the daemon runs'
  return `${state}, attempt ${attempt}`
}

function sinceText({ atMs, detail }: Pause, nowMs: number): string {
  return `${durationText(nowMs - atMs)} ago: ${detail}`
}

function strategyLine(each: Report['strategies'][number], nowMs: number): string {
  const spent = each.spent.map(({ token, amount }) => `${amount} ${token}`).join(', ')
  const paused = each.paused === null ? '' : `; PAUSED ${sinceText(each.paused, nowMs)}`
  const unsold =
    each.unsold === null ? '' : `; NOT SOLD ${each.unsold.amount} ${each.unsold.token}, it is over`
  const next =
    each.nextSlotSeconds === null
      ? 'not scheduled'
      : `next in ${durationText(each.nextSlotSeconds * 1000 - nowMs)}`
  const last =
    each.lastFillAtMs === null ? '' : `, last fill ${durationText(nowMs - each.lastFillAtMs)} ago`
  return `${each.name}: ${each.does}; ${each.fills} fills${spent === '' ? '' : `, spent ${spent}`}${last}; ${next}${unsold}${paused}`
}
