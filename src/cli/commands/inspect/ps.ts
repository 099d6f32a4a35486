import { emptyState } from '../../../domain/book/fields.ts'
import type { StrategyRecord } from '../../../domain/book/state.ts'
import { haltOf, type RunningDaemon, readState, runningDaemons } from '../../compose/state.ts'
import { durationText } from '../../describe.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { PsData } from '../../json/look.ts'
import { type Column, tableLines } from '../../table.ts'

/** `tranched ps`: every daemon that runs and whose state this user may read. Needs no config, and asks no daemon. */
export async function ps(
  options: { readonly json?: boolean },
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const running = runningDaemons()
  if (!running.ok) return printFailure(io, options, { by: 'ps', message: running.why })
  const daemons = await Promise.all(running.daemons.map(rowOf))
  if (options.json) printJson<PsData>(io, { ok: true, daemons, problems: [] })
  else io.stdout.write(`${textOf(daemons, { nowMs, width: columnsOf(io) })}\n`)
  return EXIT.done
}

type Row = PsData['daemons'][number]

async function rowOf({ stateDir, config, mode, pid, startedAtMs }: RunningDaemon): Promise<Row> {
  const found = await stateIn(stateDir)
  const { bound, halted, strategies } = found.state
  const haltFile = haltOf(stateDir)
  return {
    stateDir,
    config: config ?? null,
    mode: mode ?? bound?.mode ?? null,
    pid,
    startedAt: new Date(startedAtMs).toISOString(),
    wallet: bound?.owner ?? null,
    halted: halted?.detail ?? haltFile ?? null,
    paused: namesOf(strategies, ({ paused }) => paused),
    held: namesOf(strategies, ({ held }) => held),
    fault: found.fault,
  }
}

/** Strategies of which something is so. */
function namesOf(
  strategies: ReadonlyMap<string, StrategyRecord>,
  what: (record: StrategyRecord) => unknown,
): readonly string[] {
  return [...strategies].flatMap(([name, record]) => (what(record) === undefined ? [] : [name]))
}

/** A state that cannot be read hides no daemon. */
async function stateIn(stateDir: string) {
  try {
    const view = await readState(stateDir)
    return { state: view?.state ?? emptyState(), fault: null }
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error)
    return { state: emptyState(), fault }
  }
}

function textOf(
  daemons: readonly Row[],
  { nowMs, width }: { readonly nowMs: number; readonly width: number },
): string {
  if (daemons.length === 0) return 'no daemon of yours is running'
  const columns: readonly Column<Row>[] = [
    { title: 'PID', cell: ({ pid }) => `${pid}`, right: true },
    { title: 'FOR', cell: ({ startedAt }) => durationText(nowMs - Date.parse(startedAt)) },
    { title: 'MODE', cell: ({ mode }) => mode ?? '-' },
    { title: '', cell: statusText },
    { title: 'WALLET', cell: ({ wallet }) => wallet ?? '-' },
    { title: 'STATE', cell: ({ stateDir }) => stateDir },
    { title: 'CONFIG', cell: ({ config }) => config ?? '-' },
  ]
  return tableLines(columns, daemons, width).join('\n')
}

function statusText({ halted, paused, held, fault }: Row): string {
  if (halted !== null) return 'HALTED'
  if (fault !== null) return 'state unreadable'
  const parts = [
    ...(paused.length === 0 ? [] : [`${paused.length} paused`]),
    ...(held.length === 0 ? [] : [`${held.length} held`]),
  ]
  return parts.join(', ')
}
