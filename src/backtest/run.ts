import { ETHER, NATIVE_TOKEN, type Token } from '../domain/money/token.ts'
import { assetsOf } from '../strategies/registry.ts'
import type { FillModel } from './model.ts'
import { Play } from './play.ts'
import { cachedSeries } from './prices/held.ts'
import { resultOf } from './report/assemble.ts'
import type { BacktestResult, ModelResult, SensitivityResult } from './report/result.ts'
import { Tally } from './report/tally.ts'
import type { Simulation, SimulationInput } from './simulation.ts'

export type BacktestInput = SimulationInput & {
  /** All configured tokens: untraded balances are shown, too. */
  readonly tokens: readonly Token[]
  readonly modelSource: ModelResult['source']
  /** Whether to repeat it with other assumptions. */
  readonly varies: boolean
  /** Called with the share that is done; true stops the backtest. */
  readonly progress?: (share: number) => boolean
}

/** Samples lie an hour apart, or further for at most this many. */
const SAMPLES_MAX = 10_000
const HOUR_SECONDS = 3_600
/** For short periods. */
const SAMPLES_MIN = 500

/** Undefined if it was stopped. */
export async function backtest(given: BacktestInput): Promise<BacktestResult | undefined> {
  const input = given.varies
    ? { ...given, priceSeries: given.priceSeries.map(cachedSeries) }
    : given
  const runs = input.varies ? VARIATIONS.length + 1 : 1
  const progress = (run: number) => (share: number) =>
    input.progress?.((run + share) / runs) ?? false
  const played = await playOnce(input, progress(0))
  if (played === undefined) return undefined
  const result = resultOf(played.tally, played.sim, input.modelSource)
  const sensitivity: SensitivityResult[] = []
  for (const [index, { what, change }] of (input.varies ? VARIATIONS : []).entries()) {
    const model = change(input.model)
    const varied = await playOnce({ ...input, model }, progress(index + 1))
    if (varied === undefined) return undefined
    const { end, figures, strategies } = resultOf(varied.tally, varied.sim, input.modelSource)
    sensitivity.push({
      what,
      value: end.value,
      returnPercent: figures?.returnPercent ?? null,
      drawdownPercent: figures?.drawdown.percent ?? null,
      fills: strategies.flatMap(({ trades }) => trades).reduce((sum, { fills }) => sum + fills, 0),
    })
  }
  return { ...result, sensitivity }
}

const VARIATIONS: readonly { what: string; change: (model: FillModel) => FillModel }[] = [
  { what: 'spread and fee halved', change: (model) => scaledCosts(model, 0.5) },
  { what: 'spread and fee doubled', change: (model) => scaledCosts(model, 2) },
  { what: 'latency halved', change: (model) => scaledLatency(model, 0.5) },
  { what: 'latency doubled', change: (model) => scaledLatency(model, 2) },
]

function scaledCosts(model: FillModel, by: number): FillModel {
  const scaled = (ppm: number): number => Math.min(1_000_000, Math.round(ppm * by))
  return { ...model, spreadPpm: scaled(model.spreadPpm), feePpm: scaled(model.feePpm) }
}

function scaledLatency(model: FillModel, by: number): FillModel {
  const { quoteSeconds, fillSeconds } = model
  return {
    ...model,
    quoteSeconds: Math.round(quoteSeconds * by),
    fillSeconds: Math.round(fillSeconds * by),
  }
}

async function playOnce(
  input: BacktestInput,
  progress: (share: number) => boolean,
): Promise<{ readonly tally: Tally; readonly sim: Simulation } | undefined> {
  let sim: Simulation | undefined
  const tally = new Tally(input, heldTokens(input), () => {
    if (sim === undefined) throw new Error('nothing is filled before the simulation begins')
    return sim
  })
  let isStopped = false
  const play = new Play({
    ...input,
    listener: tally,
    sampleSeconds: sampleSeconds(input),
    fastForwards: true,
    progress(share) {
      isStopped = progress(share)
      return isStopped
    },
  })
  sim = play.sim
  try {
    await play.run()
  } finally {
    sim.board.close()
  }
  return isStopped ? undefined : { tally, sim }
}

function sampleSeconds({ fromSeconds, untilSeconds }: SimulationInput): number {
  const seconds = untilSeconds - fromSeconds
  const even = Math.ceil(seconds / SAMPLES_MAX)
  return Math.max(1, even, Math.min(HOUR_SECONDS, Math.floor(seconds / SAMPLES_MIN)))
}

/** Traded tokens and first balances, the chain's coin last. */
function heldTokens({ strategies, balances, tokens }: BacktestInput): readonly Token[] {
  const traded = strategies.flatMap(assetsOf).map(({ token }) => token)
  const owned = tokens.filter(({ address }) => (balances.get(address) ?? 0n) > 0n)
  const all = [...traded, ...owned].map((token) => [token.address, token] as const)
  return [...new Map(all).values()].filter(({ address }) => address !== NATIVE_TOKEN).concat(ETHER)
}
