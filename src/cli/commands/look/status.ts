import { reasonText } from '../../../domain/reason-words.ts'
import { briefDecimal } from '../../../domain/units.ts'
import { heldText } from '../../../engine/hold.ts'
import { shortText } from '../../amount-data.ts'
import { askDaemon } from '../../compose/control.ts'
import { lastSlotsIn } from '../../compose/lately.ts'
import { holderOf } from '../../compose/state.ts'
import type { DaemonStatus } from '../../daemon/attend.ts'
import { durationText } from '../../describe.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printJson } from '../../io.ts'
import type { StatusData } from '../../json/look.ts'
import { type ConfigOptions, problemsData } from '../../load.ts'
import { whileReading } from '../../reading.ts'
import { type Column, tableLines } from '../../table.ts'
import { type Daemon, reportOf, type StatusReport } from './status-report.ts'

/** A daemon that works answers at once. */
const ANSWER_MS_MAX = 2_000

/**
 * `tranched status`: who runs, what is open, what each strategy did and when it is next due. Reads files, and asks the daemon
 * for what only it knows.
 */
export function status(options: ConfigOptions, io: Io, nowMs: number): Promise<ExitCode> {
  return whileReading(options, io, async (reading) => {
    const { stateDir, settings, strategies, view } = reading
    const names = new Set([...view.state.strategies.keys(), ...strategies.map(({ name }) => name)])
    const journal = { stateDir, archive: settings?.journal.archive }
    const [daemon, lastSlots] = await Promise.all([
      daemonOf(stateDir),
      lastSlotsIn(journal, [...names]),
    ])
    const report = reportOf({ ...reading, lastSlots, daemon, nowMs })
    if (options.json)
      printJson<StatusData>(io, { ok: true, ...report, problems: problemsData(reading.problems) })
    else
      io.stdout.write(
        `${linesOf(report, { nowMs, columns: columnsOf(io), isToldBelow: reading.problems.length > 0 }).join('\n')}\n`,
      )
    return EXIT.done
  })
}

async function daemonOf(stateDir: string): Promise<Daemon> {
  if (holderOf(stateDir) === undefined) return undefined
  const asked = await askDaemon(stateDir, { command: 'status' }, ANSWER_MS_MAX)
  if (asked.tag !== 'answered' || !asked.answer.ok) return 'silent'
  return asked.answer.result as DaemonStatus
}

type StrategyReport = StatusReport['strategies'][number]

type LinesOptions = {
  readonly nowMs: number
  readonly columns: number
  /** What is wrong with the files is told after it. */
  readonly isToldBelow: boolean
}

function linesOf(
  report: StatusReport,
  { nowMs, columns, isToldBelow }: LinesOptions,
): readonly string[] {
  const ago = (at: string): string => durationText(nowMs - Date.parse(at))
  const { running, openIntents, strategies } = report
  const where = `(${report.mode ?? 'unknown mode'}, state in ${report.stateDir})`
  const lines = [
    running === null
      ? `not running ${where}`
      : `running for ${ago(running.startedAt)}, pid ${running.pid} ${where}`,
    `wallet ${report.wallet ?? 'not bound yet'}, ${openIntents.length === 1 ? '1 order' : `${openIntents.length} orders`} open`,
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
  if (report.answers === false)
    lines.push('the daemon gives no answer: it is starting, stopping or hanging')
  const { staleFiles } = report
  if (staleFiles !== null)
    lines.push(
      `NOT RELOADED for ${ago(staleFiles.refusedAt)}, older files are in force: ${isToldBelow ? 'see what is wrong below' : staleFiles.detail}`,
    )
  for (const open of openIntents) lines.push(`  ${open.intentId}: ${openText(open)}`)
  const table: readonly Column<StrategyReport>[] = [
    { title: 'STRATEGY', cell: ({ name }) => name },
    { title: 'LAST', cell: (each) => lastText(each, ago), gives: true },
    { title: 'FILLS', cell: ({ fills }) => `${fills}`, right: true, optional: true },
    { title: 'TODAY/CAP', cell: dayText },
    {
      title: running === null ? 'DUE, IF RUN' : 'NEXT',
      cell: (each) => nextText(each, nowMs),
    },
  ]
  const rows = tableLines(table, strategies, columns)
  const notes = strategies.flatMap((each) => noteLines(each, ago))
  return [...lines, ...(rows.length === 0 ? [] : ['', ...rows]), ...notes]
}

function openText({ state, attempt, settled }: StatusReport['openIntents'][number]): string {
  if (settled !== null) return 'settled, closes when the daemon runs'
  return `${state}, attempt ${attempt}`
}

/** What became of the last slot, and why where it was no fill. */
function lastText({ lastSlot }: StrategyReport, ago: (at: string) => string): string {
  if (lastSlot === null) return '-'
  const { at, outcome, reason } = lastSlot
  return `${outcome} ${ago(at)} ago${reason === null ? '' : `: ${reasonText(reason)}`}`
}

function dayText({ day }: StrategyReport): string {
  const texts = day.map(({ used, cap }) => {
    const most = cap === null ? '' : `/${briefDecimal(cap.amount)}`
    return `${briefDecimal(used.amount)}${most} ${used.token}`
  })
  return texts.length === 0 ? '-' : texts.join(', ')
}

function nextText({ enabled, paused, held, nextSlotAt }: StrategyReport, nowMs: number): string {
  if (enabled === null) return 'unknown'
  if (!enabled) return 'disabled'
  if (paused !== null) return 'PAUSED'
  if (held !== null) return 'HELD'
  if (nextSlotAt === null) return 'no slot'
  return `in ${durationText(Date.parse(nextSlotAt) - nowMs)}`
}

/** What does not fit into a row. */
function noteLines(
  { name, paused, held, unsold, entry }: StrategyReport,
  ago: (at: string) => string,
): readonly string[] {
  const notes: string[] = []
  if (paused !== null) notes.push(`${name}: PAUSED ${ago(paused.at)} ago: ${paused.detail}`)
  if (held !== null) notes.push(`${name}: HELD ${ago(held.at)} ago: ${heldText(name, held.detail)}`)
  if (unsold !== null) notes.push(`${name}: NOT SOLD ${shortText(unsold)}, it is over`)
  if (entry !== null) notes.push(`${name}: ${entryText(entry)}`)
  return notes
}

function entryText({ of, held, cost }: NonNullable<StrategyReport['entry']>): string {
  return held.amount === '0'
    ? `${of} holds no ${held.token} that it has bought: there is no entry to measure from`
    : `its entry is that of ${shortText(held)}, for which ${of} has paid ${shortText(cost)}`
}
