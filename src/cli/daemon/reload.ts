import type { ModuleHost } from '../../adapters/modules/host.ts'
import type { Log } from '../../adapters/tell/log.ts'
import { settingsChanges } from '../../config/settings/changes.ts'
import { renderProblem } from '../../config/yaml/problem.ts'
import type { Observation } from '../../domain/observation.ts'
import type { AccountLimits, Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { DaemonControl } from '../../engine/daemon.ts'
import { type Loaded, logWarnings } from '../load.ts'
import { changesBetween, readTexts, type StrategyChange } from './strategy-changes.ts'

export type ReloadResult =
  | {
      readonly ok: true
      readonly changes: readonly StrategyChange[]
      /** What changed of the config's limits, in sentences. */
      readonly limits: readonly string[]
    }
  | { readonly ok: false; readonly detail: string }

/** Files that are not in force, because they were refused. */
export type StaleFiles = {
  readonly sinceMs: number
  readonly files: number
  readonly detail: string
}

export type ReloadInput = {
  /** What is in force. */
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly modules: Pick<ModuleHost, 'retain' | 'versionOf'>
  /** Reads all files again, just as at the start. */
  readonly load: () => Promise<Loaded>
  readonly control: Pick<DaemonControl, 'reload'>
  readonly registerStrategies: (strategies: readonly Strategy[]) => void
  /** Hears of all files that are in force from now on, disabled strategies included. */
  readonly taken: (files: {
    readonly strategies: readonly Strategy[]
    readonly account: AccountLimits
  }) => void
  readonly observe: (event: Observation) => void
  readonly log: Log
  readonly nowMs: () => number
}

export type Reloader = {
  reload(): Promise<ReloadResult>
  /** Since when files wait, and why; undefined while all that was read is in force. */
  stale(): StaleFiles | undefined
}

type Refusal = { readonly files: number; readonly detail: string }

/**
 * Reads the operator's files again, one reading after the other. They are taken all together or not at all: strategies that
 * were checked against other limits or tokens would run under those that they were not checked against. Of the config the
 * limits are taken; whatever else changed there takes a restart, and until then all the old files hold.
 */
export function createReloader(input: ReloadInput): Reloader {
  const { log, observe } = input
  const { retain, versionOf } = input.modules
  const enabledOf = (all: readonly Strategy[]) => all.filter(({ enabled }) => enabled)
  let settings = input.settings
  let texts = readTexts(input.strategies, versionOf)
  let attended = enabledOf(input.strategies)
  let stale: StaleFiles | undefined
  let last: Promise<unknown> = Promise.resolve()

  const refuse = ({ files, detail }: Refusal): ReloadResult => {
    stale = { sinceMs: stale?.sinceMs ?? input.nowMs(), files, detail }
    observe({ type: 'files-stale', files, detail })
    return { ok: false, detail }
  }

  const reload = async (): Promise<ReloadResult> => {
    try {
      return await read()
    } finally {
      // Modules of files that were not taken, and of those that were replaced.
      retain(attended)
    }
  }
  const read = async (): Promise<ReloadResult> => {
    const loaded = await input.load()
    if (!loaded.ok) return refuse(refusalOf(loaded.problems))
    const { limits, others } = settingsChanges(settings, loaded.settings)
    const after = readTexts(loaded.strategies, versionOf)
    const changes = changesBetween(texts, after)
    if (others.length > 0) return refuse(restartFor(others, changes.length))
    input.registerStrategies(loaded.strategies)
    const strategies = enabledOf(loaded.strategies)
    try {
      await input.control.reload({ strategies, account: loaded.settings.limits })
    } catch (error) {
      const files = Math.max(1, changes.length)
      return refuse({ files, detail: error instanceof Error ? error.message : String(error) })
    }
    settings = loaded.settings
    attended = strategies
    texts = after
    stale = undefined
    input.taken({ strategies: loaded.strategies, account: loaded.settings.limits })
    observe({ type: 'files-stale', files: 0, detail: '' })
    logWarnings(log, loaded.warnings)
    for (const text of limits) log.info(`reloaded ${text}`, { event: 'reloaded' })
    for (const { strategy, text } of changes)
      log.info(`reloaded ${strategy}: ${text}`, { event: 'reloaded', strategy })
    return { ok: true, changes, limits }
  }

  return {
    reload() {
      const result = last.then(reload, reload)
      last = result.catch(() => undefined)
      return result
    },
    stale: () => stale,
  }
}

function refusalOf(problems: Extract<Loaded, { ok: false }>['problems']): Refusal {
  return {
    files: new Set(problems.map(({ file }) => file)).size,
    detail: problems.map((problem) => renderProblem(problem, { color: false })).join('\n\n'),
  }
}

function restartFor(keys: readonly string[], strategies: number): Refusal {
  const also = strategies === 0 ? '' : `, those of ${strategies} changed strategies as well`
  return {
    files: 1 + strategies,
    detail: `the config has changed where it takes a restart: ${keys.join(', ')}. Restart to apply it; until then all the old files hold${also}`,
  }
}
