import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { looseFiles } from '../config/loose-files.ts'
import type { ConfigSettings } from '../config/settings/build.ts'
import { findStateDir } from '../config/settings/find-state-dir.ts'
import { loadSettings, peekMode } from '../config/settings/load-settings.ts'
import type { Overrides } from '../config/settings/overrides.ts'
import { type Problem, problemOf } from '../config/yaml/problem.ts'
import { withoutKeys } from '../domain/text/outside-text.ts'
import type { Log } from '../observe/log.ts'
import { SANDBOX_TEMPLATE } from '../sandbox/template.ts'
import type { ModuleHost } from '../strategies/custom/host/host.ts'
import { loadModules } from '../strategies/files/load-modules.ts'
import { loadStrategies } from '../strategies/files/load-strategies.ts'
import type { Strategy } from '../strategies/registry.ts'
import { EXIT, type Io } from './process/io.ts'
import { type Refusal, refusalOf } from './process/refusal.ts'
import { withSmallHeap } from './process/v8-settings.ts'

/** Options of every command that reads a config. */
export type ConfigOptions = Overrides & { readonly config: string; readonly json?: boolean }

/** Options of a command for one daemon or one state. */
export type TargetOptions = ConfigOptions & {
  /** True if a flag or the environment names the target; otherwise it is the running daemon. */
  readonly isNamed: boolean
}

export type Sound = {
  readonly ok: true
  readonly settings: ConfigSettings
  readonly strategies: readonly Strategy[]
  readonly warnings: readonly Problem[]
}

export type Loaded =
  | Sound
  | {
      readonly ok: false
      readonly problems: readonly Problem[]
      /** For readers; missing if the config itself has a mistake. */
      readonly settings?: ConfigSettings
      /** Valid strategies, for readers. */
      readonly sound?: readonly Strategy[]
    }

function withStrategies(config: ReturnType<typeof loadSettings>): Loaded {
  if (!config.ok) return config
  const { settings } = config
  const found = loadStrategies({ dir: settings.strategiesDir, settings })
  if (!found.ok) return { ...found, settings }
  const warnings = [...config.warnings, ...found.warnings]
  return { ok: true, settings, strategies: found.strategies, warnings }
}

/**
 * Loads the files of a run, and starts the modules of custom strategies. In live mode refuses files that others could write
 * (rule T11), before it loads any module.
 */
export async function loadAll(
  options: ConfigOptions,
  io: Io,
  modules: ModuleHost,
  sandbox?: unknown,
): Promise<Loaded> {
  const { config: file } = options
  const config = loadSettings({ file, env: io.env, overrides: options, sandbox })
  const loaded = withSmallHeap(() => withStrategies(config))
  if (!loaded.ok) return loaded
  const { settings } = loaded
  // A sandbox's keys are worthless, and skipping the packages speeds up its start.
  const reachOf = settings.mode === 'sandbox' ? () => [] : modules.reachOf
  const loose = looseFiles(settings, loaded.strategies, reachOf)
  if (settings.mode === 'live' && loose.length > 0) return { ok: false, problems: loose }
  const started = await startModules(loaded, modules)
  return started.ok ? { ...started, warnings: [...started.warnings, ...loose] } : started
}

/** Starts the modules. After a failure the caller ends the started ones. */
export async function startModules(loaded: Loaded, modules: ModuleHost): Promise<Loaded> {
  if (!loaded.ok) return loaded
  const problems = await loadModules(loaded.strategies, loaded.settings, modules.start)
  return problems.length === 0 ? loaded : { ok: false, problems }
}

/** For commands that only read state. The record of a sandbox's last run completes its settings. */
export function loadForReading(options: ConfigOptions, io: Pick<Io, 'env'>): Loaded {
  return withStrategies(settingsForReading(options, io))
}

/** Reads only the config, for commands that work with broken strategy files. */
export function settingsForReading(
  options: ConfigOptions,
  io: Pick<Io, 'env'>,
): ReturnType<typeof loadSettings> {
  const { config: file } = options
  const mode = peekMode({ file })
  if (!mode.ok) return mode
  const sources = { file, env: io.env, overrides: options }
  const found = loadSettings({ ...sources, sandbox: SANDBOX_TEMPLATE })
  // The record has the paths of the keys.
  const isSandbox = found.ok && mode.mode === 'sandbox'
  const record = isSandbox ? readSandboxRecord(found.settings.stateDir) : undefined
  return record === undefined ? found : loadSettings({ ...sources, sandbox: record })
}

/** The state directory of a config file that may be invalid otherwise. */
export function writtenStateDir(
  { config: file }: ConfigOptions,
  { env }: Pick<Io, 'env'>,
): string | undefined {
  return findStateDir({ file, env })
}

export function logWarnings(log: Pick<Log, 'warn'>, warnings: readonly Problem[]): void {
  for (const { file, line, path, message, expected } of warnings) {
    const place = line === 0 ? file : `${file}:${line}`
    const text = withoutKeys(`${place}: ${message}; expected ${expected}`)
    log.warn(text, { event: 'file-warning', file: withoutKeys(file), line, path })
  }
}

/** Settings from a sandbox run, kept in its state directory so that commands can read the state. */
export const SANDBOX_RECORD = 'sandbox.json'

export function sandboxRecordOf(stateDir: string): string {
  return join(stateDir, SANDBOX_RECORD)
}

export function readSandboxRecord(stateDir: string): unknown {
  try {
    return JSON.parse(readFileSync(sandboxRecordOf(stateDir), 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** A Refusal for a state directory without a state. `others`: problems in the files. */
export function noState(stateDir: string, others: readonly Problem[] = []): Refusal {
  const missing = problemOf({
    file: stateDir,
    message: 'there is no state here yet',
    expected: 'a state directory created by `tranched run`',
  })
  return refusalOf([missing, ...others], EXIT.failed)
}
