import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism, homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cachedSeries } from '../../../backtest/prices/held.ts'
import type { BacktestResult } from '../../../backtest/report/result.ts'
import type { BacktestInput } from '../../../backtest/run.ts'
import { POINTS_MAX, parseAxis, pointsOf, type SweepAxis } from '../../../backtest/sweep/axes.ts'
import {
  jobsOf,
  type PlayAll,
  type SweepFigures,
  type SweepJob,
  sweep,
} from '../../../backtest/sweep/sweep.ts'
import { openSweepFile, type SweepFile } from '../../../backtest/sweep/sweep-file.ts'
import { openWorkers } from '../../../backtest/sweep/workers.ts'
import { messageOf } from '../../../domain/errors.ts'
import type { PriceSeries } from '../../../domain/money/price-series.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Modules } from '../../../ports.ts'
import { loadStrategies } from '../../../strategies/files/load-strategies.ts'
import { asksModule } from '../../../strategies/registry.ts'
import { requiredPart } from '../../compose/modules.ts'
import { type Io, lineTo } from '../../process/io.ts'
import { refusalOf } from '../../process/refusal.ts'
import { VERSION_TEXT } from '../../process/version.ts'
import { counted } from '../../text/amount-data.ts'
import { type BacktestOptions, FlagFault } from './flags.ts'
import type { SweepOrder } from './input.ts'
import { putsOf, type SweepAnswer } from './player.ts'
import { progressTo } from './ticker.ts'

const PARTS = 4

/** The fields that `--sweep` varies; empty without a sweep. Throws FlagFault. */
export function axesOf(
  { sweep: texts = [], walkForward, to }: BacktestOptions,
  strategies: readonly string[],
): readonly SweepAxis[] {
  if (texts.length === 0) {
    if (walkForward === undefined) return []
    throw new FlagFault('walk-forward', 'there is no sweep to choose from', '--sweep as well')
  }
  if (to === undefined)
    throw new FlagFault('to', 'a sweep needs an end', 'a day such as --to 2026-01-01')
  const axes = texts.map((text) => {
    const axis = parseAxis(text, strategies)
    if ('message' in axis) throw new FlagFault('sweep', axis.message, axis.expected)
    return axis
  })
  const keys = axes.map(({ strategy, path }) => [strategy, ...path].join('.'))
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  if (twice !== undefined)
    throw new FlagFault('sweep', `${twice} is given twice`, 'each field once')
  const count = pointsOf(axes)
  if (count > POINTS_MAX)
    throw new FlagFault('sweep', `it has ${count} combinations`, `at most ${POINTS_MAX}`)
  return axes
}

export function requireSound(axes: readonly SweepAxis[], settings: Settings): void {
  const problems = axes.flatMap((axis) =>
    axis.values.flatMap((value) => {
      const puts = putsOf([axis], [value])
      const loaded = loadStrategies({ dir: settings.strategiesDir, settings, puts })
      return loaded.ok ? [] : loaded.problems
    }),
  )
  const once = new Map(problems.map((each) => [`${each.path} ${each.message}`, each]))
  if (once.size > 0) throw refusalOf([...once.values()])
}

type Given = {
  readonly settings: Settings
  readonly input: BacktestInput
  readonly modules: Modules
  readonly io: Io
}

export async function withSweep(
  result: BacktestResult,
  order: SweepOrder,
  given: Given,
): Promise<BacktestResult> {
  const { input, io } = given
  const { options, axes, nowMs } = order
  const { jobs: threads = availableParallelism() } = options
  const { fromSeconds, untilSeconds } = input
  const parts = options.walkForward === true ? PARTS : options.walkForward
  const metric = options.bestBy === 'drawdown' ? 'drawdownPercent' : 'returnPercent'
  const plan = { axes, metric, parts, fromSeconds, untilSeconds } as const
  const kept = openKept(basisOf(order, given), { env: io.env, nowMs, report: lineTo(io.stderr) })
  const known = new Map<string, SweepAnswer>(kept?.kept ?? [])
  const all = jobsOf(plan)
  const before = known.size === 0 ? '' : `, ${known.size} of them already played`
  const goesOn = kept ? '; if it is stopped, the same command continues it' : ''
  io.stderr.write(`sweep: ${all} backtests${before}, on ${counted(threads, 'thread')}${goesOn}\n`)
  const program = pathToFileURL(requiredPart('sweep-worker.js'))
  const players = openWorkers<SweepJob, SweepAnswer>({
    ...{ program, count: threads },
    order: withPrices(order, input.priceSeries),
  })
  const progress = progressTo(io, options)
  let played = known.size
  const faults: string[] = []
  const playAll: PlayAll = (jobs) =>
    Promise.all(
      jobs.map(async (job): Promise<SweepFigures> => {
        const key = JSON.stringify([job.fromSeconds, job.untilSeconds, ...job.values])
        const answer = known.get(key) ?? (await players.answer(job))
        if (!known.has(key)) {
          kept?.keep({ key, ...answer })
          played += 1
          progress.count(played, all)
        }
        if (answer.fault !== null) faults.push(answer.fault)
        const { returnPercent, drawdownPercent, fills } = answer
        return { returnPercent, drawdownPercent, fills }
      }),
    )
  try {
    const swept = await sweep(plan, playAll)
    progress.end()
    kept?.remove()
    const [first] = faults
    const note = `${faults.length} combinations of the sweep are not valid strategies: ${first}`
    const notes = first === undefined ? result.notes : [...result.notes, note]
    return { ...result, sweep: swept, notes }
  } finally {
    await players.close()
  }
}

/** The order with prices that threads share, unless a series is too long to be held. */
function withPrices(order: SweepOrder, priceSeries: readonly PriceSeries[]): SweepOrder {
  const held = priceSeries.flatMap((series) => cachedSeries(series).held() ?? [])
  if (held.length < priceSeries.length) return order
  const { recorded } = order
  return { ...order, held, recorded: recorded && { ...recorded, priceSeries: [] } }
}

/** Everything that determines the figures of a sweep, except the program itself. */
function basisOf({ axes, options }: SweepOrder, { settings, input, modules }: Given): string {
  const { strategies, account, balances, fromSeconds, untilSeconds, model, priceSeries } = input
  const { market, volatility, start, prices } = options
  const past = [market, volatility, start, ...priceSeries.map(({ pair, source }) => [pair, source])]
  const files = prices === undefined ? [] : versionsIn(prices)
  const versions = strategies.map((each) => asksModule(each) && modules.versionOf(each))
  const rules = [axes, strategies, versions, account, [...settings.prices], [...balances]]
  const basis = [...rules, fromSeconds, untilSeconds, model, past, files]
  return JSON.stringify(basis, (_key, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    return value instanceof Map ? [...value] : value
  })
}

/**
 * Opens the file of finished backtests in the user's cache. `basis`: everything that determines the figures, as text.
 * Undefined, with a warning, if the cache is not writable.
 */
function openKept(
  basis: string,
  { env, nowMs, report }: Pick<Io, 'env'> & { nowMs: number; report: (line: string) => void },
): SweepFile | undefined {
  const digest = createHash('sha256').update(VERSION_TEXT).update('\n').update(basis).digest('hex')
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const dir = join(cache, 'tranched/sweeps')
  try {
    return openSweepFile(dir, digest, nowMs)
  } catch (error) {
    const kept = `played backtests cannot be kept in ${dir} (${messageOf(error)})`
    report(`sweep: ${kept}: a stopped sweep starts over`)
    return undefined
  }
}

/** Name, size and time of each file; empty if the directory does not exist. */
function versionsIn(dir: string): readonly string[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir)
    .toSorted()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(dir, name))
      return `${name} ${size} ${mtimeMs}`
    })
}
