import { cachedSeries, heldSeries } from '../../../backtest/prices/held.ts'
import { comparedOf } from '../../../backtest/report/assemble.ts'
import { backtest } from '../../../backtest/run.ts'
import type { SweepAxis } from '../../../backtest/sweep/axes.ts'
import type { SweepFigures, SweepJob } from '../../../backtest/sweep/sweep.ts'
import { loadModules } from '../../../strategies/files/load-modules.ts'
import { loadStrategies, type StrategyPut } from '../../../strategies/files/load-strategies.ts'
import { asksModule } from '../../../strategies/registry.ts'
import type { OpenedModules } from '../../compose/modules.ts'
import { loadForReading } from '../../load-files.ts'
import type { Io } from '../../process/io.ts'
import { chosen, inputOf, type SweepOrder } from './input.ts'

export type SweepAnswer = SweepFigures & { readonly fault: string | null }

/** Runs backtests of one order with changed values in its strategy files. */
export function openPlayer(
  order: SweepOrder,
  { io, modules }: { readonly io: Pick<Io, 'env'>; readonly modules: OpenedModules },
): (job: SweepJob) => Promise<SweepAnswer> {
  const files = loadForReading(order.options, io)
  if (!files.ok) throw new Error('the files have changed since the sweep began')
  const { settings, strategies: loaded } = files
  /** Unchanged strategies, whose modules keep running. */
  const asIs = new Map(loaded.map((strategy) => [strategy.name, strategy]))
  const read = () =>
    inputOf(settings, chosen(loaded, order.names), { ...order, modules }).priceSeries
  const priceSeries = order.held?.map(heldSeries) ?? read().map(cachedSeries)

  /** Strategies with these values in their files; the others unchanged. */
  const strategiesWith = async (values: readonly string[]) => {
    const puts = putsOf(order.axes, values)
    const changed = loadStrategies({ dir: settings.strategiesDir, settings, puts })
    if (!changed.ok) return { fault: faultText(changed.problems) }
    const names = new Set(puts.map(({ strategy }) => strategy))
    const strategies = changed.strategies.map((strategy) => {
      return names.has(strategy.name) ? strategy : (asIs.get(strategy.name) ?? strategy)
    })
    modules.retain(strategies)
    const fresh = strategies.filter((each) => !asksModule(each) || !modules.versionOf(each))
    const problems = await loadModules(fresh, settings, modules.start)
    return problems.length > 0 ? { fault: faultText(problems) } : { strategies }
  }

  return async ({ values, fromSeconds, untilSeconds }) => {
    const found = await strategiesWith(values)
    if ('fault' in found) return { ...NOTHING, fault: found.fault }
    const strategies = chosen(found.strategies, order.names)
    const input = inputOf(settings, strategies, { ...order, modules, held: [] })
    const period = { fromSeconds, untilSeconds }
    const result = await backtest({ ...input, ...period, priceSeries, varies: false })
    return result === undefined ? NOTHING : { ...comparedOf(result), fault: null }
  }
}

const NOTHING: SweepAnswer = { returnPercent: null, drawdownPercent: null, fills: 0, fault: null }

/** The fields to replace, with one value per axis. */
export function putsOf(
  axes: readonly SweepAxis[],
  values: readonly string[],
): readonly StrategyPut[] {
  return axes.map(({ strategy, path, key }, index) => {
    const text = values[index] ?? ''
    return { strategy, path, text, origin: `--sweep ${key}=${text}` }
  })
}

function faultText(problems: readonly { readonly file: string; readonly message: string }[]) {
  return problems.map(({ file, message }) => `${file}: ${message}`).join('; ')
}
