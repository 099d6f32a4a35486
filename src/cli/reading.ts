import type { JournalView } from '../adapters/state/journal-view.ts'
import { findStateDir } from '../config/settings/find-state-dir.ts'
import type { Problem } from '../config/yaml/problem.ts'
import type { JournalRecord } from '../domain/book/journal.ts'
import { type Told, tellAll } from '../domain/book/tell.ts'
import { strangerText } from '../domain/nearest.ts'
import type { Settings } from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'
import { readState, recordsAtHand } from './compose/state.ts'
import { EXIT, type ExitCode, type Io, lineTo } from './io.ts'
import {
  type ConfigOptions,
  loadForReading,
  renderAll,
  reportProblems,
  settingsForReading,
  stateMissing,
} from './load.ts'

/** What a command that only looks has before it. Whatever is wrong with the files takes nothing from what the state knows. */
export type Reading = {
  readonly stateDir: string
  /** Undefined where the config itself cannot be read. */
  readonly settings: Settings | undefined
  /** Those whose files are sound. */
  readonly strategies: readonly Strategy[]
  readonly problems: readonly Problem[]
  readonly view: JournalView
}

/**
 * Reads the state that a config names and hands it over; then tells what is wrong with the files, on stderr. A config that is
 * not valid still says where the state is, or `--state-dir` does.
 */
export async function whileReading(
  options: ConfigOptions,
  io: Io,
  look: (reading: Reading) => Promise<ExitCode>,
): Promise<ExitCode> {
  const files = filesOf(options, io)
  if (files.stateDir === undefined) return reportProblems(files.problems, io, options)
  const view = await readState(files.stateDir)
  if (view === undefined) {
    const missing = stateMissing(files.stateDir)
    reportProblems([missing, ...files.problems], io, options)
    return EXIT.failed
  }
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

/** Records that are still at hand, the archive's too; a person is told which are not. */
export function recordsIn(reading: Reading, io: Io): AsyncIterable<JournalRecord> {
  const { view, stateDir, settings } = reading
  return recordsAtHand(view, {
    ...{ stateDir, archive: settings?.journal.archive },
    tell: lineTo(io.stderr),
  })
}

/** The same, told. */
export function toldIn(reading: Reading, io: Io): AsyncIterable<Told> {
  return tellAll(recordsIn(reading, io), reading.view.state)
}

/** Why there is no strategy of a name, with the one that was probably meant; undefined where there is one, or was. */
export function unknownStrategy(name: string, { strategies, view }: Reading): string | undefined {
  const known = new Set([...view.state.strategies.keys(), ...strategies.map((each) => each.name)])
  return known.has(name) ? undefined : strangerText(name, known)
}
