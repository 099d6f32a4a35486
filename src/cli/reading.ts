import { findStateDir } from '../config/settings/find-state-dir.ts'
import type { Problem } from '../config/yaml/problem.ts'
import type { Settings } from '../domain/settings.ts'
import { strangerText } from '../domain/text/nearest.ts'
import { describeAll } from '../journal/describe.ts'
import type { JournalRecord, ReadRecord } from '../journal/events/registry.ts'
import type { JournalView } from '../store/file/journal-snapshot.ts'
import type { Strategy } from '../strategies/registry.ts'
import { readState, recordsAtHand } from './compose/state.ts'
import { type ConfigOptions, loadForReading, noState, settingsForReading } from './load-files.ts'
import { type ExitCode, type Io, lineTo, renderAll } from './process/io.ts'
import { refusalOf } from './process/refusal.ts'

/** Input of a command that only reads. Problems of the files hide nothing that the state knows. */
export type Reading = {
  readonly stateDir: string
  readonly settings: Settings | undefined
  readonly strategies: readonly Strategy[]
  readonly problems: readonly Problem[]
  readonly view: JournalView
}

/**
 * Reads the state that a config names; prints problems of the files on stderr afterwards. An invalid config still says where the
 * state is, or `--state-dir` does.
 */
export async function whileReading(
  options: ConfigOptions,
  io: Io,
  look: (reading: Reading) => Promise<ExitCode>,
): Promise<ExitCode> {
  const files = filesOf(options, io)
  if (files.stateDir === undefined) throw refusalOf(files.problems)
  const view = await readState(files.stateDir)
  if (view === undefined) throw noState(files.stateDir, files.problems)
  const code = await look({ ...files, stateDir: files.stateDir, view })
  if (files.problems.length > 0) io.stderr.write(`${renderAll(files.problems, io)}\n`)
  return code
}

type Files = Omit<Reading, 'stateDir' | 'view'> & { readonly stateDir: string | undefined }

function filesOf(options: ConfigOptions, io: Io): Files {
  const loaded = loadForReading(options, io)
  if (loaded.ok) {
    const { settings, strategies } = loaded
    return { stateDir: settings.stateDir, settings, strategies, problems: [] }
  }
  const { problems, sound = [] } = loaded
  const found = settingsForReading(options, io)
  if (found.ok) {
    const { settings } = found
    return { stateDir: settings.stateDir, settings, strategies: sound, problems }
  }
  const typed = options.stateDir ?? (io.env['TRANCHED_STATE_DIR'] || undefined)
  const stateDir = typed ?? findStateDir({ file: options.config, env: io.env })
  return { stateDir, settings: undefined, strategies: [], problems: found.problems }
}

/** Records that are still there, archived ones too; missing ones are reported on stderr. */
function recordsIn(reading: Reading, io: Io): AsyncIterable<JournalRecord> {
  const { view, stateDir, settings } = reading
  return recordsAtHand(view, {
    ...{ stateDir, archive: settings?.journal.archive },
    report: lineTo(io.stderr),
  })
}

export function describedIn(reading: Reading, io: Io): AsyncIterable<ReadRecord> {
  return describeAll(recordsIn(reading, io), reading.view.state)
}

/** Names the nearest strategy; undefined if the name is known, now or from the past. */
export function unknownStrategy(name: string, { strategies, view }: Reading): string | undefined {
  const known = new Set([...view.state.strategies.keys(), ...strategies.map((each) => each.name)])
  return known.has(name) ? undefined : strangerText(name, known)
}
