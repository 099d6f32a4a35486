import type { JournalKey } from '../../../../adapters/keys/journal-key.ts'
import type { Scrubber } from '../../../../adapters/tell/scrubber.ts'
import { looseFiles } from '../../../../config/loose-files.ts'
import type { loadSettings } from '../../../../config/settings/load.ts'
import { scheduleWarnings } from '../../../../domain/schedule/calendar.ts'
import type { Settings } from '../../../../domain/settings.ts'
import type { Strategy } from '../../../../domain/strategy.ts'
import type { Key } from '../../../../ports.ts'
import { withModules } from '../../../compose/modules.ts'
import { readKey } from '../../../compose/wallets.ts'
import type { Io } from '../../../io.ts'
import { type ConfigOptions, loadForReading, startModules } from '../../../load.ts'
import type { Check } from '../check.ts'
import { judgeFiles, judgeKeys, type KeyFacts } from '../judge/files.ts'

type Found = Extract<ReturnType<typeof loadSettings>, { ok: true }>

export type FilesLooked = {
  readonly checks: readonly Check[]
  readonly strategies: readonly Strategy[]
}

/** Reads what a run would read, starts modules as `validate` does, and ends them. */
export async function lookAtFiles(
  { settings, warnings }: Found,
  options: ConfigOptions,
  { io, nowSeconds }: { readonly io: Io; readonly nowSeconds: number },
): Promise<FilesLooked> {
  const loaded = loadForReading(options, io)
  const strategies = loaded.ok ? loaded.strategies : []
  return withModules(async (modules) => {
    const isSandbox = settings.mode === 'sandbox'
    const loose = isSandbox ? undefined : looseFiles(settings, strategies, modules.reachOf)
    // A module that others may write is not even loaded.
    const mayLoad = settings.mode !== 'live' || loose === undefined || loose.length === 0
    const started = mayLoad ? await startModules(loaded, modules) : loaded
    const own = new Set(warnings.map(({ path, message }) => `${path} ${message}`))
    const checks = judgeFiles({
      settings,
      warnings,
      strategies: loaded.ok
        ? {
            ok: true,
            strategies,
            warnings: loaded.warnings.filter(({ path, message }) => !own.has(`${path} ${message}`)),
          }
        : loaded,
      schedules: strategies.flatMap(({ name: strategy, schedule }) =>
        scheduleWarnings(schedule, nowSeconds).map((message) => ({ strategy, message })),
      ),
      modules: loaded.ok && !started.ok ? started.problems : [],
      loose,
    })
    return { checks, strategies }
  })
}

export type KeysLooked = {
  readonly checks: readonly Check[]
  readonly trader: Key | undefined
  readonly operator: Key | undefined
  /** Undefined where the trader's key is not at hand, or signs nothing. */
  readonly journalKey: JournalKey | undefined
}

/** Opens both wallets' keys by what stands in the config; nobody is asked for anything. */
export async function lookAtKeys(
  settings: Settings,
  { scrubber, io }: { readonly scrubber: Scrubber; readonly io: Io },
): Promise<KeysLooked> {
  const { gasless, aggregator } = settings
  const facts: KeyFacts[] = []
  const open = async (wallet: string) => {
    const source = settings.wallets.get(wallet)
    if (source === undefined) return undefined
    if (source.type === 'privateKeyEnv' && (io.env[source.name] ?? '') === '') {
      facts.push({ wallet, source, read: { ok: 'unset', name: source.name } })
      return undefined
    }
    const read = await readKey(settings, wallet, { scrubber, io })
    if (!read.ok) {
      facts.push({ wallet, source, read })
      return undefined
    }
    facts.push({ wallet, source, read: { ok: true, address: read.key.address } })
    return read
  }
  const trader = await open(gasless.wallet)
  const operator = aggregator && (await open(aggregator.wallet))
  return {
    checks: judgeKeys(facts),
    trader: trader?.key,
    operator: operator?.key,
    journalKey: trader?.journalKey,
  }
}
