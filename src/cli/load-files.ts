import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModuleHost } from '../adapters/modules/host.ts'
import type { Log } from '../adapters/tell/log.ts'
import { looseFiles } from '../config/loose-files.ts'
import { loadSettings, peekMode } from '../config/settings/load.ts'
import type { Overrides } from '../config/settings/overrides.ts'
import { loadStrategies } from '../config/strategies/load.ts'
import { loadModules } from '../config/strategies/load-modules.ts'
import { type Problem, problemOf, renderProblem } from '../config/yaml/problem.ts'
import { withoutKeys } from '../domain/outside-text.ts'
import type { Settings } from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'
import { SANDBOX_TEMPLATE } from '../sandbox/template.ts'
import { EXIT, type ExitCode, type Io, mayColour, printJson } from './io.ts'
import type { FailureData, ProblemData } from './json/shapes.ts'

/** Options that every command which reads a config takes. */
export type ConfigOptions = Overrides & { readonly config: string; readonly json?: boolean }

export type Loaded =
  | {
      readonly ok: true
      readonly settings: Settings
      readonly strategies: readonly Strategy[]
      readonly warnings: readonly Problem[]
    }
  | {
      readonly ok: false
      readonly problems: readonly Problem[]
      /** Strategies that nothing is wrong with, for whoever only looks. */
      readonly sound?: readonly Strategy[]
    }

/** Settings and strategies; all problems of whichever of the two fails first. */
export function load(options: ConfigOptions, io: Pick<Io, 'env'>, sandbox?: unknown): Loaded {
  const loaded = loadSettings({ file: options.config, env: io.env, overrides: options, sandbox })
  if (!loaded.ok) return loaded
  const { settings } = loaded
  const found = loadStrategies({ dir: settings.strategiesDir, settings })
  if (!found.ok) return found
  const warnings = [...loaded.warnings, ...found.warnings]
  return { ok: true, settings, strategies: found.strategies, warnings }
}

/**
 * The same for whoever lets the files decide: with the modules of custom strategies, started, and in live mode nothing where
 * others could write into what is signed by (rule T11). A module that others may write is not even loaded then.
 */
export async function loadAll(
  options: ConfigOptions,
  io: Io,
  modules: ModuleHost,
  sandbox?: unknown,
): Promise<Loaded> {
  const loaded = load(options, io, sandbox)
  if (!loaded.ok) return loaded
  const { settings } = loaded
  // A sandbox signs with keys that are worth nothing, and starts all the sooner without looking through all packages.
  const reachOf = settings.mode === 'sandbox' ? () => [] : modules.reachOf
  const loose = looseFiles(settings, loaded.strategies, reachOf)
  if (settings.mode === 'live' && loose.length > 0) return { ok: false, problems: loose }
  const started = await startModules(loaded, modules)
  return started.ok ? { ...started, warnings: [...started.warnings, ...loose] } : started
}

/** Starts the modules of what was loaded. Where one cannot be, whatever was started is the caller's to end. */
export async function startModules(loaded: Loaded, modules: ModuleHost): Promise<Loaded> {
  if (!loaded.ok) return loaded
  const problems = await loadModules(loaded.strategies, loaded.settings, modules.start)
  return problems.length === 0 ? loaded : { ok: false, problems }
}

/**
 * Settings and strategies for a command that only reads state. A sandbox file is completed with what its last run left
 * in the state directory.
 */
export function loadForReading(options: ConfigOptions, io: Pick<Io, 'env'>): Loaded {
  const found = settingsForReading(options, io)
  if (!found.ok) return found
  const { mode, stateDir } = found.settings
  if (mode !== 'sandbox') return load(options, io)
  return load(options, io, readSandboxRecord(stateDir) ?? SANDBOX_TEMPLATE)
}

/** The config file alone, for a command that has to work whatever the strategy files say. */
export function settingsForReading(
  options: ConfigOptions,
  io: Pick<Io, 'env'>,
): ReturnType<typeof loadSettings> {
  const { config: file } = options
  const mode = peekMode({ file })
  if (!mode.ok) return mode
  const sources = { file, env: io.env, overrides: options }
  if (mode.mode !== 'sandbox') return loadSettings(sources)
  const found = loadSettings({ ...sources, sandbox: SANDBOX_TEMPLATE })
  // What the last run left says where its keys are.
  const record = found.ok ? readSandboxRecord(found.settings.stateDir) : undefined
  return record === undefined ? found : loadSettings({ ...sources, sandbox: record })
}

/** Prints problems for a person or as data, and gives the exit code for a bad config. */
export function reportProblems(
  problems: readonly Problem[],
  io: Io,
  options: { readonly json?: boolean | undefined },
): ExitCode {
  if (options.json) {
    const message = 'what the files say cannot be used: see problems'
    printJson<FailureData>(io, { ok: false, message, problems: problemsData(problems) })
  } else io.stderr.write(`${renderAll(problems, io)}\n`)
  return EXIT.badConfig
}

/** Problems as every command's `--json` has them. */
export function problemsData(problems: readonly Problem[]): readonly ProblemData[] {
  return problems.map((problem) => {
    const { suggestion = null, hint = null } = problem
    const { file, message } = problem
    return { ...problem, file: withoutKeys(file), message: withoutKeys(message), suggestion, hint }
  })
}

export function renderAll(problems: readonly Problem[], io: Io): string {
  const color = mayColour(io, io.stderr)
  return problems.map((problem) => withoutKeys(renderProblem(problem, { color }))).join('\n\n')
}

/** The same of what is worth a look and stops nothing. */
export function renderWarnings(warnings: readonly Problem[], io: Io): string {
  const color = mayColour(io, io.stderr)
  const label = 'warning'
  return warnings
    .map((problem) => withoutKeys(renderProblem(problem, { color, label })))
    .join('\n\n')
}

/** The same in the log of a daemon, at its start and when files are read again. */
export function logWarnings(log: Pick<Log, 'warn'>, warnings: readonly Problem[]): void {
  for (const { file, line, path, message, expected } of warnings) {
    const place = line === 0 ? file : `${file}:${line}`
    const text = withoutKeys(`${place}: ${message}; expected ${expected}`)
    log.warn(text, { event: 'file-warning', file: withoutKeys(file), line, path })
  }
}

/** What a sandbox run leaves in its state directory of what its sandbox supplied. */
export const SANDBOX_RECORD = 'sandbox.json'

/** Where a sandbox run leaves what its sandbox supplied, so that `status` and `history` can read its state. */
export function sandboxRecordOf(stateDir: string): string {
  return join(stateDir, SANDBOX_RECORD)
}

/** Settings of a state directory's last sandbox run; undefined when there was none. */
export function readSandboxRecord(stateDir: string): unknown {
  try {
    return JSON.parse(readFileSync(sandboxRecordOf(stateDir), 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

export function stateMissing(stateDir: string): Problem {
  return problemOf({
    file: stateDir,
    message: 'there is no state here yet',
    expected: 'a state directory that `tranched run` has made',
  })
}
