import { type Replayed, replay } from '../../../backtest/replay.ts'
import { strangerText } from '../../../domain/text/nearest.ts'
import { isByTerms } from '../../../signing/terms.ts'
import { withModules } from '../../compose/modules.ts'
import { readState } from '../../compose/state.ts'
import type { ReplayData } from '../../json/backtest-outputs.ts'
import { type ConfigOptions, loadForReading, noState, startModules } from '../../load-files.ts'
import { type ExitCode, type Given, type Io, print } from '../../process/io.ts'
import { misused, orRefuse } from '../../process/refusal.ts'
import { labelled } from '../../text/table.ts'

/** Further differences are only counted. */
const SHOWN_MAX = 20

/** `tranched backtest replay`: repeats the journal's decisions from their inputs. Exit code 1 if one differs. */
export function runReplay(
  names: readonly string[],
  options: ConfigOptions,
  io: Io,
): Promise<ExitCode> {
  return withModules(async (modules) => {
    const loaded = await startModules(loadForReading(options, io), modules)
    const { settings, strategies } = orRefuse(loaded)
    const { stateDir, limits: account, journal } = settings
    const known = strategies.map(({ name }) => name)
    const strange = names.find((name) => !known.includes(name))
    if (strange !== undefined) throw misused(strangerText(strange, known), 'backtest replay')
    const view = await readState(stateDir)
    if (view === undefined) throw noState(stateDir)
    // A decision depends on all earlier records, so missing ones are an error.
    const replayed = await replay(view.records(undefined, journal.archive), {
      strategies: strategies.filter(({ name }) => names.length === 0 || names.includes(name)),
      account,
      modules,
      isByTerms: (intent, strategy) => isByTerms(intent, strategy, modules.versionOf),
    })
    return report(replayed, options, io)
  })
}

function report(
  { slots, differences, others }: Replayed,
  options: ConfigOptions,
  io: Io,
): ExitCode {
  const ok = differences.length === 0
  const strategies = [...slots].map(([strategy, count]) => ({ strategy, slots: count }))
  const sum = strategies.reduce((total, each) => total + each.slots, 0)
  const message = ok
    ? `${sum} decisions of ${strategies.length} strategies give the same result`
    : `${differences.length} of ${sum} decisions would differ now`
  const data = {
    ok,
    message,
    strategies,
    others,
    differences: differences.slice(0, SHOWN_MAX).map(({ strategy, slotSeconds, was, is }) => {
      return { slot: `${strategy}:${slotSeconds}`, was, is }
    }),
    differencesLeftOut: Math.max(0, differences.length - SHOWN_MAX),
  }
  return print<ReplayData>(io, options, data, linesOf)
}

function linesOf({ message, strategies, others, ...rest }: Given<ReplayData>): readonly string[] {
  const left = rest.differencesLeftOut
  const because = "their strategy's file is gone or has changed"
  return [
    ...labelled(strategies.map(({ strategy, slots }) => [strategy, `${slots}`])),
    ...rest.differences.flatMap(({ slot, was, is }) => [
      `DIFFERS  ${slot}`,
      `  was    ${was}`,
      `  is     ${is}`,
    ]),
    ...(left === 0 ? [] : [`and ${left} more`]),
    ...(others === 0 ? [] : [`${others} decisions were left out: ${because}`]),
    message,
  ]
}
