import { relative } from 'node:path'
import { looseFiles } from '../../../config/loose-files.ts'
import type { loadSettings } from '../../../config/settings/load-settings.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import { scheduleWarnings } from '../../../domain/schedule/calendar.ts'
import type { Mode, Settings, WalletSource } from '../../../domain/settings.ts'
import type { Key } from '../../../ports.ts'
import type { JournalKey } from '../../../signing/keys/journal-key.ts'
import type { Scrubber } from '../../../system/scrubber.ts'
import { withModules } from '../../compose/modules.ts'
import { readTokens } from '../../compose/page.ts'
import { readKey } from '../../compose/wallets.ts'
import { type ConfigOptions, loadForReading, type Sound, startModules } from '../../load-files.ts'
import type { Io } from '../../process/io.ts'
import { type Check, type Checks, fault, fine, ofProblem, unknown, warning } from './check.ts'

type Found = Extract<ReturnType<typeof loadSettings>, { ok: true }>

/** Reads the files that a run would read. Starts modules as `validate` does, and stops them. */
export async function inspectFiles(
  { settings, warnings }: Found,
  options: ConfigOptions,
  { io, nowSeconds }: { readonly io: Io; readonly nowSeconds: number },
) {
  const loaded = loadForReading(options, io)
  const strategies = loaded.ok ? loaded.strategies : []
  return withModules(async (modules) => {
    const isSandbox = settings.mode === 'sandbox'
    const loose = isSandbox ? undefined : looseFiles(settings, strategies, modules.reachOf)
    // In live mode, loads no module while other users can write the files.
    const mayLoad = settings.mode !== 'live' || loose === undefined || loose.length === 0
    const started = mayLoad ? await startModules(loaded, modules) : loaded
    const own = new Set(warnings.map(({ path, message }) => `${path} ${message}`))
    const isNew = ({ path, message }: Problem): boolean => !own.has(`${path} ${message}`)
    const checks = checkFiles({
      settings,
      warnings,
      strategies: loaded.ok ? { ...loaded, warnings: loaded.warnings.filter(isNew) } : loaded,
      schedules: strategies.flatMap(({ name: strategy, schedule }) =>
        scheduleWarnings(schedule, nowSeconds).map((message) => ({ strategy, message })),
      ),
      modules: loaded.ok && !started.ok ? started.problems : [],
      loose,
    })
    return { checks, strategies }
  })
}

export type FileInput = {
  readonly settings: Pick<Settings, 'file' | 'mode' | 'strategiesDir'>
  /** Warnings about the config file. */
  readonly warnings: readonly Problem[]
  readonly strategies:
    | Omit<Sound, 'settings'>
    | { readonly ok: false; readonly problems: readonly Problem[] }
  /** Warnings about times that do not exist in a schedule's zone. */
  readonly schedules: readonly { readonly strategy: string; readonly message: string }[]
  /** Problems of modules that could not be started. */
  readonly modules: readonly Problem[]
  /** Files that other users could write (rule T11); undefined in a sandbox, where this is not checked. */
  readonly loose: readonly Problem[] | undefined
}

export function checkFiles(input: FileInput): readonly Check[] {
  const { settings, warnings, modules, loose } = input
  return [
    ...warnings.map((problem) => ofProblem('config', 'warning', problem)),
    fine('config', `${nameOf(settings.file)}: mode ${settings.mode}`),
    checkStrategies(input),
    ...modules.map((problem) => ofProblem('modules', 'fault', problem)),
    loose === undefined ? [] : checkLoose(settings.mode, loose),
  ].flat()
}

const WRITE_ONE = 'write a strategy there, or set `enabled: true` in one'

function checkStrategies({ settings, schedules, strategies: found }: FileInput): Checks {
  if (!found.ok) return found.problems.map((problem) => ofProblem('strategies', 'fault', problem))
  const { strategies, warnings } = found
  const enabled = strategies.filter((strategy) => strategy.enabled).length
  const where = nameOf(settings.strategiesDir)
  const otherTime = 'if it matters, set another time in its `schedule`'
  return [
    ...warnings.map((problem) => ofProblem('strategies', 'warning', problem)),
    ...schedules.map(({ strategy, message }) =>
      warning('strategies', `${strategy}: ${message}`, otherTime),
    ),
    enabled === 0
      ? warning('strategies', `${where}: no strategy is enabled, so nothing is traded`, WRITE_ONE)
      : fine('strategies', `${where}: ${strategies.length} read, ${enabled} enabled`),
  ]
}

/** A live daemon does not start with loose files. */
function checkLoose(mode: Mode, loose: readonly Problem[]): Checks {
  const verdict = mode === 'live' ? 'fault' : 'warning'
  if (loose.length > 0)
    return loose.map((problem) => {
      const { remedy, ...check } = ofProblem('loose-files', verdict, problem)
      return { ...check, remedy: `\`${remedy}\`` }
    })
  return fine('loose-files', 'no other user can write the files that the daemon uses')
}

/** The path relative to the working directory, if shorter. */
function nameOf(path: string): string {
  const near = relative('', path)
  return near !== '' && near.length < path.length ? near : path
}

export type KeysRead = {
  readonly checks: readonly Check[]
  readonly trader?: Key | undefined
  readonly operator?: Key | undefined
  /** Undefined if the trader's key cannot be read, or signs nothing. */
  readonly journalKey?: JournalKey | undefined
}

/** Opens both wallets' keys from the config, and reads the page's tokens. Never asks a person for a password. */
export async function inspectKeys(
  settings: Settings,
  { scrubber, io }: { readonly scrubber: Scrubber; readonly io: Io },
): Promise<KeysRead> {
  const { gasless, aggregator, wallets } = settings
  const input: KeyInput[] = []
  const open = async (wallet: string) => {
    const source = wallets.get(wallet)
    if (source === undefined) return undefined
    const isUnset = source.type === 'privateKeyEnv' && (io.env[source.name] ?? '') === ''
    const read = isUnset
      ? ({ ok: 'unset', name: source.name } as const)
      : await readKey(settings, wallet, { scrubber, io })
    input.push({ wallet, source, read })
    return read.ok === true ? read : undefined
  }
  const trader = await open(gasless.wallet)
  const operator =
    aggregator?.wallet === gasless.wallet ? trader : aggregator && (await open(aggregator.wallet))
  const tokens = await readTokens(settings)
  const wrong = tokens.ok ? [] : tokens.problems
  return {
    checks: [...checkKeys(input), ...wrong.flatMap((each) => ofProblem('key', 'fault', each))],
    trader: trader?.key,
    operator: operator?.key,
    journalKey: trader?.journalKey,
  }
}

export type KeyInput = {
  /** The wallet's name in the config. */
  readonly wallet: string
  readonly source: WalletSource
  readonly read:
    | { readonly ok: true; readonly key: Pick<Key, 'address'> }
    | { readonly ok: false; readonly problem: Problem }
    /** The variable is not set here; the daemon's environment may differ. */
    | { readonly ok: 'unset'; readonly name: string }
}

export function checkKeys(keys: readonly KeyInput[]): readonly Check[] {
  return [...keys.map(checkKey), checkShared(keys)].flat()
}

const HOW: Readonly<Record<WalletSource['type'], string>> = {
  keystore: 'its keystore opens',
  privateKeyFile: 'its key file is valid',
  privateKeyEnv: 'from the environment',
  address: 'an address without a key',
}

function checkKey({ wallet, source, read }: KeyInput): Check {
  switch (read.ok) {
    case true:
      return fine('key', `${wallet}: ${read.key.address}, ${HOW[source.type]}`)
    case false: {
      const { message, expected } = read.problem
      const remedy = /^(chmod|chown) /.test(expected) ? `\`${expected}\`` : expected
      return fault('key', `${wallet}: ${message}`, remedy)
    }
    case 'unset': {
      const says = `${wallet}: environment variable ${read.name} is not set here, so its key was not checked`
      return unknown('key', says, 'run doctor in the same environment as the daemon')
    }
  }
}

/** Code delegated to one wallet could empty the other (rules A5 and T11). */
function checkShared(keys: readonly KeyInput[]): Checks {
  const [first, second] = keys.flatMap(({ wallet, read }) =>
    read.ok === true ? [{ wallet, address: read.key.address }] : [],
  )
  if (first === undefined || second === undefined) return []
  if (first.address !== second.address)
    return fine('shared-key', `${first.wallet} and ${second.wallet} have different keys`)
  const says = `${first.wallet} and ${second.wallet} share one key: code delegated to one could empty the other`
  return fault('shared-key', says, 'create another wallet: `tranched wallet new --out FILE`')
}
