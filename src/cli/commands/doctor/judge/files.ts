import { relative } from 'node:path'
import type { Problem } from '../../../../config/yaml/problem.ts'
import type { Mode, Settings, WalletSource } from '../../../../domain/settings.ts'
import type { Strategy } from '../../../../domain/strategy.ts'
import type { Address } from '../../../../domain/units.ts'
import { type Check, fault, fine, ofProblem, unknown, warning } from '../check.ts'

/** What was read of the operator's files. */
export type FileFacts = {
  readonly settings: Pick<Settings, 'file' | 'mode' | 'strategiesDir'>
  /** Of the config file; it could be read. */
  readonly warnings: readonly Problem[]
  /** Where they cannot be read, what is wrong with them. */
  readonly strategies:
    | {
        readonly ok: true
        readonly strategies: readonly Strategy[]
        readonly warnings: readonly Problem[]
      }
    | { readonly ok: false; readonly problems: readonly Problem[] }
  /** Of times that a schedule has and the clock of its zone does not. */
  readonly schedules: readonly { readonly strategy: string; readonly message: string }[]
  /** Of modules that could not be started. */
  readonly modules: readonly Problem[]
  /** What others could write (rule T11); undefined where nobody looks, in a sandbox. */
  readonly loose: readonly Problem[] | undefined
}

/** Config, strategies, modules and who may write them. */
export function judgeFiles(facts: FileFacts): readonly Check[] {
  const { settings, warnings, strategies, modules, loose } = facts
  return [
    ...warnings.map((problem) => ofProblem('config', 'warning', problem)),
    fine('config', `${nameOf(settings.file)}: mode ${settings.mode}`),
    ...judgeStrategies(facts, strategies),
    ...modules.map((problem) => ofProblem('modules', 'fault', problem)),
    ...(loose === undefined ? [] : judgeLoose(settings.mode, loose)),
  ]
}

function judgeStrategies(
  { settings, schedules }: FileFacts,
  found: FileFacts['strategies'],
): readonly Check[] {
  if (!found.ok) return found.problems.map((problem) => ofProblem('strategies', 'fault', problem))
  const { strategies, warnings } = found
  const enabled = strategies.filter((strategy) => strategy.enabled).length
  const where = nameOf(settings.strategiesDir)
  const count =
    enabled === 0
      ? warning(
          'strategies',
          `${where}: no strategy is enabled, so nothing is traded`,
          'write a strategy there, or set `enabled: true` in one',
        )
      : fine('strategies', `${where}: ${strategies.length} read, ${enabled} enabled`)
  return [
    ...warnings.map((problem) => ofProblem('strategies', 'warning', problem)),
    ...schedules.map(({ strategy, message }) =>
      warning(
        'strategies',
        `${strategy}: ${message}`,
        'nothing, or another time in its `schedule`',
      ),
    ),
    count,
  ]
}

/** A live daemon does not start with them. */
function judgeLoose(mode: Mode, loose: readonly Problem[]): readonly Check[] {
  const verdict = mode === 'live' ? 'fault' : 'warning'
  if (loose.length > 0)
    return loose.map((problem) => {
      const { remedy, ...check } = ofProblem('loose-files', verdict, problem)
      return { ...check, remedy: `\`${remedy}\`` }
    })
  return [fine('loose-files', 'nobody else can write what the daemon goes by')]
}

/** A path as a person types it, where that is shorter. */
function nameOf(path: string): string {
  const near = relative('', path)
  return near !== '' && near.length < path.length ? near : path
}

/** How the key of a wallet was read, without anybody being asked for a password. */
export type KeyFacts = {
  /** As the config calls it. */
  readonly wallet: string
  readonly source: WalletSource
  readonly read:
    | { readonly ok: true; readonly address: Address }
    | { readonly ok: false; readonly problem: Problem }
    /** The variable is not set here; the daemon may have another environment. */
    | { readonly ok: 'unset'; readonly name: string }
}

export function judgeKeys(keys: readonly KeyFacts[]): readonly Check[] {
  return [...keys.map(judgeKey), ...judgeShared(keys)]
}

function judgeKey({ wallet, source, read }: KeyFacts): Check {
  switch (read.ok) {
    case true:
      return fine('key', `${wallet}: ${read.address}, ${HOW[source.type]}`)
    case false: {
      const { message, expected } = read.problem
      return fault('key', `${wallet}: ${message}`, quotedCommand(expected))
    }
    case 'unset':
      return unknown(
        'key',
        `${wallet}: environment variable ${read.name} is not set here, so its key was not looked at`,
        'run doctor in the environment of the daemon',
      )
  }
}

const HOW: Readonly<Record<WalletSource['type'], string>> = {
  keystore: 'its keystore opens',
  privateKeyFile: 'its key file reads',
  privateKeyEnv: 'from the environment',
  address: 'an address without a key',
}

function quotedCommand(remedy: string): string {
  return /^(chmod|chown) /.test(remedy) ? `\`${remedy}\`` : remedy
}

/** Code that is delegated to one could empty the other (rules A5 and T11). */
function judgeShared(keys: readonly KeyFacts[]): readonly Check[] {
  const known = keys.flatMap(({ wallet, read }) =>
    read.ok === true ? [{ wallet, address: read.address }] : [],
  )
  const [first, second] = known
  if (first === undefined || second === undefined) return []
  if (first.address !== second.address)
    return [fine('shared-key', `${first.wallet} and ${second.wallet} have a key each`)]
  const says = `${first.wallet} and ${second.wallet} have one key: code delegated to the one could empty the other`
  return [fault('shared-key', says, 'make another wallet: `tranched wallet new --out FILE`')]
}
