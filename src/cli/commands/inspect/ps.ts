import { messageOf } from '../../../domain/errors.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { emptyState } from '../../../journal/state/state-image.ts'
import { haltOf, type RunningDaemon, runningDaemons } from '../../compose/daemons.ts'
import { stateAtHand } from '../../compose/state.ts'
import type { PsData } from '../../json/inspect-outputs.ts'
import { columnsOf, type ExitCode, type Io, print } from '../../process/io.ts'
import { Refusal } from '../../process/refusal.ts'
import { isoOf } from '../../text/amount-data.ts'
import { type Column, tableLines } from '../../text/table.ts'

/** `tranched ps`: all running daemons whose state this user may read. Needs no config, and contacts no daemon. */
export async function ps(
  options: { readonly json?: boolean },
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const running = runningDaemons()
  if (!running.ok) throw new Refusal(running.why, { by: 'ps' })
  const daemons = await Promise.all(running.daemons.map(rowOf))
  return print<PsData>(io, options, { daemons }, () =>
    linesOf(daemons, { nowMs, width: columnsOf(io) }),
  )
}

type Row = PsData['daemons'][number]

async function rowOf({ stateDir, config, mode, pid, startedAtMs }: RunningDaemon): Promise<Row> {
  // An unreadable state does not hide its daemon.
  const found = await stateAtHand(stateDir).then(
    (state) => ({ state, fault: null }),
    (error: unknown) => ({ state: emptyState(), fault: messageOf(error) }),
  )
  const { bound, halted, strategies } = found.state
  const namesOf = (key: 'paused' | 'held') =>
    [...strategies].flatMap(([name, record]) => (record[key] === undefined ? [] : [name]))
  return {
    stateDir,
    config: config ?? null,
    mode: mode ?? bound?.mode ?? null,
    pid,
    startedAt: isoOf(startedAtMs),
    wallet: bound?.owner ?? null,
    halted: halted?.detail ?? haltOf(stateDir) ?? null,
    paused: namesOf('paused'),
    held: namesOf('held'),
    fault: found.fault,
  }
}

function linesOf(
  daemons: readonly Row[],
  { nowMs, width }: { readonly nowMs: number; readonly width: number },
): readonly string[] {
  if (daemons.length === 0) return ['no daemon of yours is running']
  const columns: readonly Column<Row>[] = [
    { title: 'PID', cell: ({ pid }) => `${pid}`, right: true },
    { title: 'FOR', cell: ({ startedAt }) => durationText(nowMs - Date.parse(startedAt)) },
    { title: 'MODE', cell: ({ mode }) => mode ?? '-' },
    { title: '', cell: statusText },
    { title: 'WALLET', cell: ({ wallet }) => wallet ?? '-' },
    { title: 'STATE', cell: ({ stateDir }) => stateDir },
    { title: 'CONFIG', cell: ({ config }) => config ?? '-' },
  ]
  return tableLines(columns, daemons, width)
}

function statusText({ halted, paused, held, fault }: Row): string {
  if (halted !== null) return 'HALTED'
  if (fault !== null) return 'state unreadable'
  const parts = [
    ...(paused.length > 0 ? [`${paused.length} paused`] : []),
    ...(held.length > 0 ? [`${held.length} held`] : []),
  ]
  return parts.join(', ')
}
