import { availableParallelism } from 'node:os'
import type { BacktestResult } from '../../../backtest/report/result.ts'
import type { BacktestInput } from '../../../backtest/run.ts'
import { POINTS_MAX, parseAxis, pointsOf, type SweepAxis } from '../../../backtest/sweep/axes.ts'
import type { SweepFigures } from '../../../backtest/sweep/judge.ts'
import { jobsOf, type PlayAll, type SweepJob, sweep } from '../../../backtest/sweep/sweep.ts'
import { loadStrategies } from '../../../config/strategies/load.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Modules } from '../../../ports.ts'
import { openKept, openPlayers, versionsIn } from '../../compose/sweep.ts'
import { type Io, lineTo } from '../../io.ts'
import { type BacktestOptions, FlagFault } from './flags.ts'
import { putsOf, type SweepAnswer, type SweepOrder } from './player.ts'
import { progressTo } from './progress.ts'

/** Parts that a period is cut into where nothing is said. */
const PARTS = 4

/** The fields that are varied, as flags say it; none where no sweep is asked for. Throws FlagFault. */
export function axesOf(
  { sweep: texts = [], walkForward, to }: BacktestOptions,
  strategies: readonly string[],
): readonly SweepAxis[] {
  if (texts.length === 0) {
    if (walkForward === undefined) return []
    throw new FlagFault('walk-forward', 'there is nothing to choose from', '--sweep, too')
  }
  if (to === undefined)
    throw new FlagFault('to', 'a sweep needs its end', 'a day such as --to 2026-01-01')
  const axes = texts.map((text) => {
    const axis = parseAxis(text, strategies)
    if ('message' in axis) throw new FlagFault('sweep', axis.message, axis.expected)
    return axis
  })
  const keys = axes.map(({ strategy, path }) => [strategy, ...path].join('.'))
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  if (twice !== undefined)
    throw new FlagFault('sweep', `${twice} is given twice`, 'each field once')
  if (pointsOf(axes) > POINTS_MAX)
    throw new FlagFault(
      'sweep',
      `these are ${pointsOf(axes)} combinations`,
      `${POINTS_MAX} at most`,
    )
  return axes
}

/** Values that a strategy's file may not have. */
export class ValueFault extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super('values of a sweep are wrong')
    this.problems = problems
  }
}

/** Tries each value by itself, with all else as it is, before anything is played. Throws ValueFault. */
export function requireSound(axes: readonly SweepAxis[], settings: Settings): void {
  const problems = axes.flatMap((axis) =>
    axis.values.flatMap((value) => {
      const puts = putsOf([axis], [value])
      const loaded = loadStrategies({ dir: settings.strategiesDir, settings, puts })
      return loaded.ok ? [] : loaded.problems
    }),
  )
  const once = new Map(problems.map((each) => [`${each.path} ${each.message}`, each]))
  if (once.size > 0) throw new ValueFault([...once.values()])
}

type Given = {
  readonly settings: Settings
  /** Of the files as they are. */
  readonly input: BacktestInput
  readonly modules: Modules
  readonly io: Io
}

/** Plays all combinations on all processors, and goes on with what a sweep that was stopped has played. */
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
  const kept = openKept(basisOf(order, given), { env: io.env, nowMs, tell: lineTo(io.stderr) })
  const known = new Map<string, SweepAnswer>(kept?.kept ?? [])
  const all = jobsOf(plan)
  io.stderr.write(
    `sweep: ${beginText({ all, known: known.size, threads, isKept: kept !== undefined })}\n`,
  )
  const players = openPlayers<SweepJob, SweepAnswer>(order, threads)
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
    return { ...result, sweep: swept, notes: [...result.notes, ...faultNotes(faults)] }
  } finally {
    await players.close()
  }
}

/** All that the figures of a sweep follow from, but the program itself. */
function basisOf({ axes, options }: SweepOrder, { settings, input, modules }: Given): string {
  const { strategies, account, balances, fromSeconds, untilSeconds, model, tapes } = input
  const { market, volatility, start, prices } = options
  const past = [market, volatility, start, ...tapes.map(({ pair, source }) => [pair, source])]
  const files = prices === undefined ? [] : versionsIn(prices)
  const versions = strategies.map((each) => each.kind === 'custom' && modules.versionOf(each))
  const basis = [
    ...[axes, strategies, versions, account, [...settings.prices], [...balances]],
    ...[fromSeconds, untilSeconds, model, past, files],
  ]
  return JSON.stringify(basis, (_key, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    return value instanceof Map ? [...value] : value
  })
}

function beginText(told: {
  readonly all: number
  readonly known: number
  readonly threads: number
  readonly isKept: boolean
}): string {
  const { all, known, threads, isKept } = told
  const before = known === 0 ? '' : `, ${known} of which were played before`
  const goesOn = isKept ? '; if it is stopped, the same command goes on with it' : ''
  return `${all} backtests${before}, on ${threads} ${threads === 1 ? 'thread' : 'threads'}${goesOn}`
}

function faultNotes(faults: readonly string[]): readonly string[] {
  const [first] = faults
  if (first === undefined) return []
  return [`${faults.length} combinations of the sweep are no strategies: ${first}`]
}
