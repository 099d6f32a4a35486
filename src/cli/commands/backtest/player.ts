import { cachedSeries } from '../../../backtest/prices/held.ts'
import { comparedOf } from '../../../backtest/report/assemble.ts'
import { backtest } from '../../../backtest/run.ts'
import type { SweepAxis } from '../../../backtest/sweep/axes.ts'
import type { SweepFigures } from '../../../backtest/sweep/rank.ts'
import type { SweepJob } from '../../../backtest/sweep/sweep.ts'
import type { PriceSeries } from '../../../domain/money/price-series.ts'
import type { Settings } from '../../../domain/settings.ts'
import { loadModules } from '../../../strategies/files/load-modules.ts'
import { loadStrategies, type StrategyPut } from '../../../strategies/files/load-strategies.ts'
import { asksModule, type Strategy } from '../../../strategies/registry.ts'
import type { OpenedModules } from '../../compose/modules.ts'
import { type Loaded, loadForReading } from '../../load-files.ts'
import type { Io } from '../../process/io.ts'
import { chosen, inputOf, type SweepOrder } from './input.ts'

export type SweepAnswer = SweepFigures & { readonly fault: string | null }

export class Player {
  readonly #order: SweepOrder
  readonly #settings: Settings
  readonly #modules: OpenedModules
  /** As the files are; modules of these keep running. */
  readonly #asIs: ReadonlyMap<string, Strategy>
  readonly #priceSeries: readonly PriceSeries[]

  private constructor(
    order: SweepOrder,
    given: {
      readonly settings: Settings
      readonly strategies: readonly Strategy[]
      readonly modules: OpenedModules
    },
  ) {
    const { settings, strategies, modules } = given
    this.#order = order
    this.#settings = settings
    this.#modules = modules
    this.#asIs = new Map(strategies.map((strategy) => [strategy.name, strategy]))
    const whole = inputOf(settings, chosen(strategies, order.names), { ...order, modules })
    this.#priceSeries = whole.priceSeries.map(cachedSeries)
  }

  static async open(
    order: SweepOrder,
    { io, modules }: { readonly io: Pick<Io, 'env'>; readonly modules: OpenedModules },
  ): Promise<Player | Extract<Loaded, { ok: false }>> {
    const loaded = loadForReading(order.options, io)
    if (!loaded.ok) return loaded
    const { settings, strategies } = loaded
    return new Player(order, { settings, strategies, modules })
  }

  async play({ values, fromSeconds, untilSeconds }: SweepJob): Promise<SweepAnswer> {
    const found = await this.#strategies(values)
    if ('fault' in found) return { ...NOTHING, fault: found.fault }
    const strategies = chosen(found.strategies, this.#order.names)
    const [priceSeries, modules] = [this.#priceSeries, this.#modules]
    const input = inputOf(this.#settings, strategies, { ...this.#order, modules, priceSeries })
    const result = await backtest({ ...input, fromSeconds, untilSeconds, varies: false })
    return result === undefined ? NOTHING : { ...comparedOf(result), fault: null }
  }

  /** The strategies with these values in their files; the others as they are. */
  async #strategies(
    values: readonly string[],
  ): Promise<{ readonly strategies: readonly Strategy[] } | { readonly fault: string }> {
    const puts = putsOf(this.#order.axes, values)
    const loaded = loadStrategies({
      dir: this.#settings.strategiesDir,
      settings: this.#settings,
      puts,
    })
    if (!loaded.ok) return { fault: faultText(loaded.problems) }
    const changed = new Set(puts.map(({ strategy }) => strategy))
    const strategies = loaded.strategies.map((strategy) => {
      return changed.has(strategy.name) ? strategy : (this.#asIs.get(strategy.name) ?? strategy)
    })
    this.#modules.retain(strategies)
    const { versionOf } = this.#modules
    const fresh = strategies.filter((each) => !asksModule(each) || !versionOf(each))
    const problems = await loadModules(fresh, this.#settings, this.#modules.start)
    return problems.length > 0 ? { fault: faultText(problems) } : { strategies }
  }
}

const NOTHING: SweepAnswer = { returnPercent: null, drawdownPercent: null, fills: 0, fault: null }

/** The fields to replace for one value of each axis. */
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
