import { type Replayed, replay } from '../../../backtest/replay.ts'
import { strangerText } from '../../../domain/nearest.ts'
import { isByTerms } from '../../../execute/authority/terms.ts'
import { withModules } from '../../compose/modules.ts'
import { readState } from '../../compose/state.ts'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { ReplayData } from '../../json/backtest-report.ts'
import {
  type ConfigOptions,
  loadForReading,
  reportProblems,
  startModules,
  stateMissing,
} from '../../load.ts'

/** Differences beyond these are counted alone. */
const SHOWN_MAX = 20

/**
 * `tranched backtest replay [STRATEGY...]`: takes the decisions of the journal again, from what they were made from, and holds them
 * against what it has. Exit code 1 where one differs.
 */
export function runReplay(
  names: readonly string[],
  options: ConfigOptions,
  io: Io,
): Promise<ExitCode> {
  return withModules(async (modules) => {
    const loaded = await startModules(loadForReading(options, io), modules)
    if (!loaded.ok) return reportProblems(loaded.problems, io, options)
    const { settings, strategies } = loaded
    const { stateDir, limits: account, journal } = settings
    const known = strategies.map(({ name }) => name)
    const strange = names.find((name) => !known.includes(name))
    if (strange !== undefined) {
      const message = strangerText(strange, known)
      return printFailure(io, options, { by: 'backtest replay', message, code: EXIT.usage })
    }
    const view = await readState(stateDir)
    if (view === undefined) {
      reportProblems([stateMissing(stateDir)], io, options)
      return EXIT.failed
    }
    // Decisions follow from all that was before them: records that are missing are told, as of any command, and end it.
    const replayed = await replay(view.records(undefined, journal.archive), {
      strategies: strategies.filter(({ name }) => names.length === 0 || names.includes(name)),
      account,
      modules,
      isByTerms: (intent, strategy) => isByTerms(intent, strategy, modules.versionOf),
    })
    return tell(replayed, options, io)
  })
}

function tell({ slots, differences, others }: Replayed, options: ConfigOptions, io: Io): ExitCode {
  const ok = differences.length === 0
  const strategies = [...slots].map(([strategy, count]) => ({ strategy, slots: count }))
  const sum = strategies.reduce((total, each) => total + each.slots, 0)
  const message = ok
    ? `${sum} decisions of ${strategies.length} strategies are taken again as they were`
    : `${differences.length} of ${sum} decisions would be others now`
  const data: ReplayData = {
    ok,
    message,
    strategies,
    others,
    differences: differences.slice(0, SHOWN_MAX).map(({ strategy, slotSeconds, was, is }) => {
      return { slot: `${strategy}:${slotSeconds}`, was, is }
    }),
    differencesLeftOut: Math.max(0, differences.length - SHOWN_MAX),
    problems: [],
  }
  if (options.json) printJson<ReplayData>(io, data)
  else for (const line of linesOf(data)) io.stdout.write(`${line}\n`)
  return ok ? EXIT.done : EXIT.failed
}

function linesOf({ message, strategies, others, ...rest }: ReplayData): readonly string[] {
  const width = Math.max(0, ...strategies.map(({ strategy }) => strategy.length))
  const left = rest.differencesLeftOut
  return [
    ...strategies.map(({ strategy, slots }) => `${strategy.padEnd(width)}  ${slots}`),
    ...rest.differences.flatMap(({ slot, was, is }) => [
      `DIFFERS  ${slot}`,
      `  was    ${was}`,
      `  is     ${is}`,
    ]),
    ...(left === 0 ? [] : [`and ${left} more`]),
    ...(others === 0
      ? []
      : [
          `${others} decisions were left out: their strategy's file is gone or says otherwise by now`,
        ]),
    message,
  ]
}
