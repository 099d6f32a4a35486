import { changesIn, type Flat, flattened, settingsChanges } from '../../config/settings/changes.ts'
import { renderProblem } from '../../config/yaml/problem.ts'
import { parseConfigText } from '../../config/yaml/tree.ts'
import { readDiskFile, readText } from '../../config/yaml/yaml-files.ts'
import { messageOf } from '../../domain/errors.ts'
import type { ModuleStrategy } from '../../domain/module.ts'
import type { AccountLimits, Settings } from '../../domain/settings.ts'
import type { DaemonControl } from '../../engine/daemon.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Log } from '../../observe/log.ts'
import { termsOf } from '../../signing/terms.ts'
import type { ModuleHost } from '../../strategies/custom/host/host.ts'
import { asksModule, type Strategy } from '../../strategies/registry.ts'
import { type Loaded, logWarnings } from '../load-files.ts'

export type ReloadResult =
  | {
      readonly ok: true
      readonly changes: readonly StrategyChange[]
      readonly limits: readonly string[]
    }
  | { readonly ok: false; readonly detail: string }

/** Refused files, which are not in force. */
export type StaleFiles = {
  readonly sinceMs: number
  readonly files: number
  readonly detail: string
}

export type ReloadInput = {
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly modules: Pick<ModuleHost, 'retain' | 'versionOf'>
  readonly load: () => Promise<Loaded>
  readonly control: Pick<DaemonControl, 'reload'>
  readonly registerStrategies: (strategies: readonly Strategy[]) => void
  /** Called with all files in force, disabled strategies included. */
  readonly taken: (files: {
    readonly strategies: readonly Strategy[]
    readonly account: AccountLimits
  }) => void
  readonly observe: (event: RuntimeEvent) => void
  readonly log: Log
  readonly nowMs: () => number
}

export type Reloader = ReturnType<typeof createReloader>

type Refusal = { readonly files: number; readonly detail: string }

/**
 * Reloads the operator's files, one reload after the other. Takes all files or none: strategies checked against other limits
 * or tokens must not run. From the config takes only limits. Other changes need a restart, until which all old files hold.
 */
export function createReloader(input: ReloadInput) {
  const { log, observe } = input
  const { retain, versionOf } = input.modules
  const enabledOf = (all: readonly Strategy[]) => all.filter(({ enabled }) => enabled)
  let settings = input.settings
  let texts = readTexts(input.strategies, versionOf)
  let active = enabledOf(input.strategies)
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
      // Ends modules of refused and of replaced files.
      retain(active)
    }
  }
  const read = async (): Promise<ReloadResult> => {
    const loaded = await input.load()
    if (!loaded.ok) {
      const { problems } = loaded
      const lines = problems.map((problem) => renderProblem(problem, { color: false }))
      const files = new Set(problems.map(({ file }) => file)).size
      return refuse({ files, detail: lines.join('\n\n') })
    }
    const { limits, others } = settingsChanges(settings, loaded.settings)
    const after = readTexts(loaded.strategies, versionOf)
    const changes = changesBetween(texts, after)
    if (others.length > 0) return refuse(restartFor(others, changes.length))
    input.registerStrategies(loaded.strategies)
    const strategies = enabledOf(loaded.strategies)
    try {
      await input.control.reload({ strategies, account: loaded.settings.limits })
    } catch (error) {
      return refuse({ files: Math.max(1, changes.length), detail: messageOf(error) })
    }
    settings = loaded.settings
    active = strategies
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
    reload(): Promise<ReloadResult> {
      const result = last.then(reload, reload)
      last = result.catch(() => undefined)
      return result
    },
    /** Undefined while the last read files are in force. */
    stale: (): StaleFiles | undefined => stale,
    /** The enabled strategies in force. */
    active: (): readonly Strategy[] => active,
  }
}

function restartFor(keys: readonly string[], strategies: number): Refusal {
  const also = strategies === 0 ? '' : `, including those of ${strategies} changed strategies`
  return {
    files: 1 + strategies,
    detail: `these config changes need a restart: ${keys.join(', ')}. Restart to apply them; until then all old files stay in force${also}`,
  }
}

const VERSION_SHOWN = 12

type StrategyTexts = ReadonlyMap<string, StrategyText>

type StrategyText = {
  readonly fields: Flat
  /** Terms of its orders; undefined while it is disabled. */
  readonly terms: string | undefined
}

/** For orders decided by other terms, or of a removed strategy. */
const DROPPED = 'its unsigned orders are dropped'

type StrategyChange = { readonly strategy: string; readonly text: string }

function readTexts(strategies: readonly Strategy[], versionOf: VersionOf): StrategyTexts {
  return new Map(
    strategies.map((strategy) => {
      const fields = fieldsOf(strategy, versionOf)
      const terms = strategy.enabled ? termsOf(strategy, versionOf) : undefined
      return [strategy.name, { fields, terms }]
    }),
  )
}

/** Version of a module with its imports; undefined if unknown. */
type VersionOf = (strategy: ModuleStrategy) => string | undefined

function fieldsOf(strategy: Strategy, versionOf: VersionOf): Flat {
  const text = readText(strategy.file, readDiskFile)
  const texts = flattened(text.ok ? parseConfigText(strategy.file, text.text).document.tree : {})
  if (!asksModule(strategy)) return texts
  // A rewritten module counts as changed, even under the same path.
  const version = versionOf(strategy)?.slice(0, VERSION_SHOWN)
  return texts.set('module', `${strategy.module} (${version ?? 'not started'})`)
}

function changesBetween(before: StrategyTexts, after: StrategyTexts): StrategyChange[] {
  const changes: StrategyChange[] = []
  for (const strategy of before.keys())
    if (!after.has(strategy)) changes.push({ strategy, text: `removed; ${DROPPED}` })
  for (const [strategy, { fields, terms }] of after) {
    const old = before.get(strategy)
    if (old === undefined) {
      changes.push({ strategy, text: 'added' })
      continue
    }
    const changed = changesIn(old.fields, fields)
    const isDropped = old.terms !== undefined && old.terms !== terms
    if (changed.length === 0 && !isDropped) continue
    const what = changed.map(({ text }) => text).join(', ') || 'config entries that it uses'
    changes.push({ strategy, text: isDropped ? `${what}; ${DROPPED}` : what })
  }
  return changes
}
