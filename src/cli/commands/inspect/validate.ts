import { relative } from 'node:path'
import type { ConfigSettings } from '../../../config/settings/build.ts'
import { peekMode } from '../../../config/settings/load-settings.ts'
import { receiversOf, unmatchedStrategies } from '../../../config/settings/notify.ts'
import { type Problem, problemOf } from '../../../config/yaml/problem.ts'
import { createPricePaths } from '../../../domain/money/price.ts'
import { scheduleWarnings } from '../../../domain/schedule/calendar.ts'
import { implausibleNow, termsOfPrices } from '../../../engine/limits/hold.ts'
import { wantedBy } from '../../../engine/market-snapshot.ts'
import { SANDBOX_TEMPLATE } from '../../../sandbox/template.ts'
import { isBounded } from '../../../strategies/decision/plausibility.ts'
import { isKindName } from '../../../strategies/registry.ts'
import { withModules } from '../../compose/modules.ts'
import { readTokens } from '../../compose/page.ts'
import { stateAtHand } from '../../compose/state.ts'
import { keyProblems } from '../../compose/wallets.ts'
import type { ValidateData } from '../../json/inspect-outputs.ts'
import { type ConfigOptions, loadAll, type Sound, settingsForReading } from '../../load-files.ts'
import { readPricesNow } from '../../market.ts'
import {
  type ExitCode,
  type Given,
  type Io,
  print,
  problemsData,
  renderAll,
} from '../../process/io.ts'
import { orRefuse, refusalOf } from '../../process/refusal.ts'

const ANSWER_MS_MAX = 3_000

export type ValidateOptions = ConfigOptions & { readonly keys?: boolean }

/** `tranched validate`: reads all that a run would, and compares prices with the feeds if a node answers. Read-only. */
export async function validate(
  options: ValidateOptions,
  io: Io,
  nowSeconds: number,
): Promise<ExitCode> {
  const { mode } = orRefuse(peekMode({ file: options.config }))
  const sandbox = mode === 'sandbox' ? SANDBOX_TEMPLATE : undefined
  const loaded = await withModules((modules) => loadAll(options, io, modules, sandbox))
  const wrong = loaded.ok ? [] : loaded.problems
  const keys = options.keys === false ? [] : await wrongKeys(options, io)
  // A loose key file is reported once for its mode, and again when its key is read.
  const unusable = keys.filter(({ message }) => !wrong.some(({ file }) => message.startsWith(file)))
  if (!loaded.ok || unusable.length > 0) throw refusalOf([...unusable, ...wrong])
  const { settings, strategies } = loaded
  const warnings = [...loaded.warnings, ...unheardOf(loaded)]
  const schedules = strategies.flatMap(({ name: strategy, schedule }) =>
    scheduleWarnings(schedule, nowSeconds).map((message) => ({ strategy, message })),
  )
  const prices = await priceNotes(loaded)
  const notes = [...schedules, ...prices]
  if (!options.json) {
    if (warnings.length > 0) io.stderr.write(`${renderAll(warnings, io, 'warning')}\n`)
    for (const note of notes) io.stderr.write(`warning: ${note.strategy}: ${note.message}\n`)
  }
  const data: Given<ValidateData> = {
    mode: settings.mode,
    strategies: strategies.flatMap(({ name, kind, enabled, file }) =>
      isKindName(kind) ? [{ name, kind, enabled, file }] : [],
    ),
    receivers: receiversOf(settings.notify).map(({ name, routing: { on } }) => ({ name, on })),
    warnings: problemsData(warnings),
    schedules,
    prices,
  }
  return print<ValidateData>(io, options, data, () => {
    const enabled = strategies.filter((strategy) => strategy.enabled).length
    const count = strategies.length === 1 ? '1 strategy' : `${strategies.length} strategies`
    const where = relative('', settings.strategiesDir)
    const parts = `mode ${settings.mode}, ${count} of ${where}, ${enabled} enabled`
    return [...receiverLines(settings), `${options.config}: ok (${parts})`]
  })
}

type Note = ValidateData['prices'][number]

/** Prices in the files that look like mistakes. Empty if no node answers or the state cannot be read. */
async function priceNotes({ settings, strategies }: Sound): Promise<readonly Note[]> {
  const named = strategies.filter(isBounded)
  if (named.length === 0 || settings.mode === 'sandbox') return []
  // `doctor` explains why a state cannot be read.
  const state = await stateAtHand(settings.stateDir).catch(() => undefined)
  const market = await readPricesNow(settings, wantedBy(named).pairs, ANSWER_MS_MAX)
  if (state === undefined || !market.ok) return []
  const { mode, limits: account } = settings
  const pricePath = createPricePaths(settings.prices.values())
  const context = { mode, pricePath, account, state, owner: market.owner }
  return named.flatMap((strategy) => {
    // Strategies with price bounds have no module.
    const terms = termsOfPrices(strategy, () => undefined, pricePath)
    const message = implausibleNow(strategy, { ...context, terms }, market.view)
    return message === undefined ? [] : [{ strategy: strategy.name, message }]
  })
}

async function wrongKeys(options: ConfigOptions, io: Io): Promise<readonly Problem[]> {
  const found = settingsForReading(options, io)
  if (!found.ok) return []
  const tokens = await readTokens(found.settings)
  const keys = found.settings.mode === 'sandbox' ? [] : await keyProblems(found.settings, io)
  return tokens.ok ? keys : [...keys, ...tokens.problems]
}

function unheardOf({ settings, strategies }: Sound): readonly Problem[] {
  const names = strategies.map(({ name }) => name)
  return unmatchedStrategies(settings.notify, names).map(({ path, glob }) =>
    problemOf({
      file: settings.file,
      path,
      message: `no strategy matches ${glob}: the receiver gets no messages`,
      expected: names.length === 0 ? 'a strategy file' : `one of: ${names.join(', ')}`,
    }),
  )
}

function receiverLines({ mode, notify }: ConfigSettings): readonly string[] {
  const receivers = receiversOf(notify)
  if (receivers.length === 0 && mode !== 'live') return []
  if (receivers.length === 0)
    return ['notifications: no receiver is configured; see docs/notifications.md']
  const missing = [
    ...(notify.heartbeat === undefined
      ? ['no heartbeat, so a daemon that goes silent is not reported']
      : []),
    ...(notify.digest === undefined ? ['no digest'] : []),
  ]
  const names = receivers.map(({ name, routing }) => `${name} (${routing.on.length} events)`)
  return [`notifications: ${[names.join(', '), ...missing].join('; ')}`]
}
