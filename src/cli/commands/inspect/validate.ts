import { relative } from 'node:path'
import { peekMode } from '../../../config/settings/load.ts'
import { unmatchedStrategies } from '../../../config/settings/notify.ts'
import { type Problem, problemOf } from '../../../config/yaml/problem.ts'
import { isBounded } from '../../../decide/plausibility.ts'
import { emptyState } from '../../../domain/book/fields.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { receiversOf } from '../../../domain/notify.ts'
import { createPricePaths } from '../../../domain/price.ts'
import { scheduleWarnings } from '../../../domain/schedule/calendar.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import { implausibleNow, termsOfPrices } from '../../../engine/hold.ts'
import { wantedBy } from '../../../engine/view.ts'
import { SANDBOX_TEMPLATE } from '../../../sandbox/template.ts'
import { withModules } from '../../compose/modules.ts'
import { readState } from '../../compose/state.ts'
import { keyProblems } from '../../compose/wallets.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../io.ts'
import type { ValidateData } from '../../json/look.ts'
import {
  type ConfigOptions,
  type Loaded,
  loadAll,
  problemsData,
  renderWarnings,
  reportProblems,
  settingsForReading,
} from '../../load.ts'
import { readPricesNow } from '../../market.ts'

/** A node that hangs must not hold up a check of files. */
const ANSWER_MS_MAX = 3_000

export type ValidateOptions = ConfigOptions & {
  /** False leaves the keys out. */
  readonly keys?: boolean
}

/** `tranched validate`: reads everything a run would read and says all that is wrong with it, by the feeds too where a node
 * answers. Changes nothing. */
export async function validate(
  options: ValidateOptions,
  io: Io,
  nowSeconds: number,
): Promise<ExitCode> {
  const mode = peekMode({ file: options.config })
  if (!mode.ok) return reportProblems(mode.problems, io, options)
  const sandbox = mode.mode === 'sandbox' ? SANDBOX_TEMPLATE : undefined
  const loaded = await withModules((modules) => loadAll(options, io, modules, sandbox))
  const wrong = loaded.ok ? [] : loaded.problems
  const keys = options.keys === false ? [] : await wrongKeys(options, io)
  // That others may read a key is found by looking at rights, and again by opening it.
  const told = keys.filter(({ message }) => !wrong.some(({ file }) => message.startsWith(file)))
  if (!loaded.ok || told.length > 0) return reportProblems([...told, ...wrong], io, options)
  const { settings, strategies } = loaded
  const warnings = [...loaded.warnings, ...unheardOf(loaded)]
  const schedules = strategies.flatMap((strategy) => scheduleNotes(strategy, nowSeconds))
  const prices = await priceNotes(loaded)
  if (options.json) {
    printJson<ValidateData>(io, {
      ok: true,
      mode: settings.mode,
      strategies: strategies.map(({ name, kind, enabled, file }) => ({
        name,
        kind,
        enabled,
        file,
      })),
      receivers: receiversOf(settings.notify).map(({ name, routing }) => ({
        name,
        on: routing.on,
      })),
      warnings: problemsData(warnings),
      schedules,
      prices,
      problems: [],
    })
    return EXIT.done
  }
  if (warnings.length > 0) io.stderr.write(`${renderWarnings(warnings, io)}\n`)
  for (const note of [...schedules, ...prices])
    io.stderr.write(`warning: ${note.strategy}: ${note.message}\n`)
  const enabled = strategies.filter((strategy) => strategy.enabled).length
  const count = strategies.length === 1 ? '1 strategy' : `${strategies.length} strategies`
  for (const line of receiverLines(settings)) io.stdout.write(`${line}\n`)
  io.stdout.write(
    `${options.config}: ok (mode ${settings.mode}, ${count} of ${relative('', settings.strategiesDir)}, ${enabled} enabled)\n`,
  )
  return EXIT.done
}

type Note = ValidateData['prices'][number]

/** Prices of the files that look like a mistake by the feeds of now. None where no node answers, or the state cannot be read. */
async function priceNotes({
  settings,
  strategies,
}: Extract<Loaded, { ok: true }>): Promise<readonly Note[]> {
  const named = strategies.filter(isBounded)
  // A sandbox has prices only while it runs.
  if (named.length === 0 || settings.mode === 'sandbox') return []
  const state = await stateIn(settings.stateDir)
  const market = await readPricesNow(settings, wantedBy(named).pairs, ANSWER_MS_MAX)
  if (state === undefined || !market.ok) return []
  const { mode, limits: account } = settings
  const pricePath = createPricePaths(settings.prices.values())
  const context = { mode, pricePath, account, state, owner: market.owner }
  return named.flatMap((strategy) => {
    // None of them has a module.
    const terms = termsOfPrices(strategy, () => undefined, pricePath)
    const message = implausibleNow(strategy, { ...context, terms }, market.view)
    return message === undefined ? [] : [{ strategy: strategy.name, message }]
  })
}

/** Undefined where it cannot be read, of which `doctor` says more. */
async function stateIn(stateDir: string): Promise<DaemonState | undefined> {
  try {
    return (await readState(stateDir))?.state ?? emptyState()
  } catch {
    return undefined
  }
}

/** A sandbox makes its own. */
async function wrongKeys(options: ConfigOptions, io: Io): Promise<readonly Problem[]> {
  const found = settingsForReading(options, io)
  return found.ok && found.settings.mode !== 'sandbox' ? keyProblems(found.settings, io) : []
}

/** Receivers that wait for strategies of which there are none. */
function unheardOf({ settings, strategies }: Extract<Loaded, { ok: true }>): readonly Problem[] {
  const names = strategies.map(({ name }) => name)
  return unmatchedStrategies(settings.notify, names).map(({ path, glob }) =>
    problemOf({
      file: settings.file,
      path,
      message: `no strategy is called ${glob}: the receiver hears of none`,
      expected: names.length === 0 ? 'a strategy file' : `one of: ${names.join(', ')}`,
    }),
  )
}

/** Who is told of what, and what is not set up. */
function receiverLines({ mode, notify }: Settings): readonly string[] {
  const receivers = receiversOf(notify)
  if (receivers.length === 0 && mode !== 'live') return []
  if (receivers.length === 0)
    return ['notifications: nobody is told of anything; docs/notifications.md shows how']
  const missing = [
    ...(notify.heartbeat === undefined ? ['no heartbeat, so that nobody hears of silence'] : []),
    ...(notify.digest === undefined ? ['no digest'] : []),
  ]
  const names = receivers.map(({ name, routing }) => `${name} (${routing.on.length} events)`)
  return [`notifications: ${[names.join(', '), ...missing].join('; ')}`]
}

function scheduleNotes(
  { name, schedule }: Strategy,
  nowSeconds: number,
): readonly { strategy: string; message: string }[] {
  return scheduleWarnings(schedule, nowSeconds).map((message) => ({ strategy: name, message }))
}
