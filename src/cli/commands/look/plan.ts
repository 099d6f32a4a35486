import { emptyState } from '../../../domain/book/fields.ts'
import { strangerText } from '../../../domain/nearest.ts'
import { wantedBy } from '../../../engine/view.ts'
import type { Modules } from '../../../ports.ts'
import { withModules } from '../../compose/modules.ts'
import { readState } from '../../compose/state.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { PlanData } from '../../json/plan.ts'
import {
  type ConfigOptions,
  type Loaded,
  loadForReading,
  reportProblems,
  startModules,
} from '../../load.ts'
import { readMarketNow } from '../../market.ts'
import { planData, planText } from './plan-text.ts'
import { totalsOf } from './plan-totals.ts'
import { planOf, sharedCaps } from './strategy-plan.ts'

export type PlanOptions = ConfigOptions & { readonly slots: number; readonly utc?: boolean }

/** `tranched plan [STRATEGY]`: next slots, what each would do now, and the most that it may spend. Changes nothing. */
export async function plan(
  name: string | undefined,
  options: PlanOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  return withModules(async (modules) => {
    const loaded = await startModules(loadForReading(options, io), modules)
    if (!loaded.ok) return reportProblems(loaded.problems, io, options)
    return planLoaded(name, options, { io, nowMs, modules, ...loaded })
  })
}

type Planned = Pick<Extract<Loaded, { ok: true }>, 'settings' | 'strategies'> & {
  readonly io: Io
  readonly nowMs: number
  readonly modules: Modules
}

async function planLoaded(
  name: string | undefined,
  options: PlanOptions,
  { io, nowMs, modules, settings, strategies: all }: Planned,
): Promise<ExitCode> {
  const strategies = all.filter((each) => name === undefined || each.name === name)
  if (strategies.length === 0) {
    const names = all.map((each) => each.name)
    return printFailure(io, options, { by: 'plan', message: strangerText(name ?? '', names) })
  }
  const state = (await readState(settings.stateDir))?.state ?? emptyState()
  const market = await readMarketNow(settings, wantedBy(strategies), { state, io })
  const { slots } = options
  const input = {
    settings,
    state,
    market,
    nowMs,
    slots,
    modules,
    shared: sharedCaps(settings, state),
  }
  const plans = await Promise.all(strategies.map((strategy) => planOf(strategy, input)))
  const totals = totalsOf(plans, input)
  const report = { market, plans, totals, inUtc: options.utc === true }
  if (options.json) printJson<PlanData>(io, planData(report))
  else io.stdout.write(`${planText(report, columnsOf(io))}\n`)
  return EXIT.done
}
