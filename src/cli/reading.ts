import type { Problem } from '../config/yaml/problem.ts'
import { ETHER } from '../domain/money/token.ts'
import type { Settings } from '../domain/settings.ts'
import { strangerText } from '../domain/text/nearest.ts'
import { isAbout, type ReadRecord } from '../journal/events/registry.ts'
import { type CapUse, capsOf } from '../journal/projections/limits.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import type { JournalView } from '../store/file/journal-snapshot.ts'
import type { JournalIndex } from '../store/index/journal-index.ts'
import { readLock } from '../store/lock/state-lock.ts'
import type { Strategy } from '../strategies/registry.ts'
import { askDaemon } from './compose/daemons.ts'
import { indexAtHand, readState } from './compose/state.ts'
import type { DaemonStatus } from './daemon/handle.ts'
import { type ConfigOptions, loadForReading, noState, writtenStateDir } from './load-files.ts'
import { type ExitCode, type Io, lineTo, renderAll } from './process/io.ts'
import { Refusal, refusalOf } from './process/refusal.ts'

/** Input of a command that only reads. Problems in the files hide nothing that the state has. */
export type Reading = {
  readonly stateDir: string
  readonly settings: Settings | undefined
  readonly strategies: readonly Strategy[]
  readonly problems: readonly Problem[]
  readonly view: JournalView
}

/**
 * Reads the state of a config, and afterwards prints problems in the files on stderr. If the config is invalid, its own
 * `stateDir` or `--state-dir` suffices.
 */
export async function whileReading(
  options: ConfigOptions,
  io: Io,
  show: (reading: Reading) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = loadForReading(options, io)
  const { settings } = loaded
  const strategies = loaded.ok ? loaded.strategies : (loaded.sound ?? [])
  const problems = loaded.ok ? [] : loaded.problems
  const typed = options.stateDir ?? (io.env['TRANCHED_STATE_DIR'] || undefined)
  const stateDir = settings?.stateDir ?? typed ?? writtenStateDir(options, io)
  if (stateDir === undefined) throw refusalOf(problems)
  const view = await readState(stateDir)
  if (view === undefined) throw noState(stateDir, problems)
  const code = await show({ stateDir, settings, strategies, problems, view })
  if (problems.length > 0) io.stderr.write(`${renderAll(problems, io)}\n`)
  return code
}

/** The journal's index, including archived records; missing ones are reported on stderr. */
export function indexOf(
  { view, stateDir, settings }: Pick<Reading, 'view' | 'stateDir' | 'settings'>,
  io: Io,
): Promise<JournalIndex> {
  const archive = settings?.journal.archive
  return indexAtHand(view, { stateDir, archive, report: lineTo(io.stderr) })
}

/** The records of one slot, oldest first. */
export async function recordsOf(
  own: { readonly strategy: string; readonly slotSeconds: number },
  reading: Reading,
  io: Io,
): Promise<readonly ReadRecord[]> {
  const { strategy, slotSeconds } = own
  const slot = { strategy, firstSeconds: slotSeconds, lastSeconds: slotSeconds }
  const read: ReadRecord[] = []
  for await (const each of (await indexOf(reading, io)).records([slot]))
    if (isAbout(each, own)) read.push(each)
  return read
}

/** Use of the caps of all strategies, or of one; empty if the config is invalid. */
export function capsIn(reading: Reading, nowMs: number, name?: string): readonly CapUse[] {
  const { settings, view } = reading
  if (settings === undefined) return []
  const strategies = reading.strategies.filter((each) => name === undefined || each.name === name)
  const tokens = [...settings.tokens.values(), ETHER]
  return capsOf(view.state, { strategies, account: settings.limits, tokens, nowMs })
}

/** Throws a Refusal that suggests the nearest name if neither the files nor the state have this strategy. */
export function requireStrategy(name: string, { strategies, view }: Reading, by: string): void {
  const known = new Set([...view.state.strategies.keys(), ...strategies.map((each) => each.name)])
  if (!known.has(name)) throw new Refusal(strangerText(name, known), { by })
}

const ANSWER_MS_MAX = 2_000

/** A running daemon's status; undefined if none runs. */
export type Daemon = DaemonStatus | 'silent' | undefined

export async function daemonOf(stateDir: string): Promise<Daemon> {
  if (readLock(stateDir) === undefined) return undefined
  const reply = await askDaemon(stateDir, { command: 'status' }, ANSWER_MS_MAX)
  if (reply.tag !== 'answered' || !reply.answer.ok) return 'silent'
  return reply.answer.result as DaemonStatus
}

/** What an order waits for, by the running daemon. */
export function waitsOf({ intent }: OpenIntent, daemon: Daemon): string | undefined {
  return typeof daemon === 'object' ? daemon.orders?.[intent.id] : undefined
}
