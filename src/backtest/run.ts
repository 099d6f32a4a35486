import { ETHER, NATIVE_TOKEN, type Token } from '../domain/money/token.ts'
import { assetsOf } from '../strategies/registry.ts'
import type { FillModel } from './model.ts'
import { Play } from './play.ts'
import { cachedSeries } from './prices/held.ts'
import { comparedOf, resultOf } from './report/assemble.ts'
import type { BacktestResult, ModelResult, SensitivityResult } from './report/result.ts'
import { Tally } from './report/tally.ts'
import type { SimulationInput } from './simulation.ts'

export type BacktestInput = SimulationInput & {
  /** All configured tokens, because untraded balances are shown too. */
  readonly tokens: readonly Token[]
  readonly modelSource: ModelResult['source']
  /** True to repeat it with other assumptions. */
  readonly varies: boolean
  /** Called with the share done; returns true to stop the backtest. */
  readonly progress?: (share: number) => boolean
}

/** Samples lie an hour apart, or further if there would be more than this. */
const SAMPLES_MAX = 10_000
const HOUR_SECONDS = 3_600
/** Samples lie closer if there would be fewer than this. */
const SAMPLES_MIN = 500

/** Undefined if it was stopped. */
export async function backtest(given: BacktestInput): Promise<BacktestResult | undefined> {
  const input = given.varies
    ? { ...given, priceSeries: given.priceSeries.map(cachedSeries) }
    : given
  const runs = input.varies ? VARIATIONS.length + 1 : 1
  const progress = (run: number) => (share: number) =>
    input.progress?.((run + share) / runs) ?? false
  const result = await playOnce(input, progress(0))
  if (result === undefined) return undefined
  const sensitivity: SensitivityResult[] = []
  for (const [index, { what, change }] of (input.varies ? VARIATIONS : []).entries()) {
    const model = change(input.model)
    const varied = await playOnce({ ...input, model }, progress(index + 1))
    if (varied === undefined) return undefined
    sensitivity.push({ what, value: varied.end.value, ...comparedOf(varied) })
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

async function playOnce(input: BacktestInput, progress: (share: number) => boolean) {
  const tally = new Tally(input, heldTokens(input))
  const sampleSeconds = sampleSecondsOf(input)
  const play = new Play({ ...input, listener: tally, sampleSeconds, fastForwards: true, progress })
  try {
    const isWhole = await play.run()
    return isWhole ? resultOf(tally, play.sim, input.modelSource) : undefined
  } finally {
    play.sim.board.close()
  }
}

function sampleSecondsOf({ fromSeconds, untilSeconds }: SimulationInput): number {
  const seconds = untilSeconds - fromSeconds
  const even = Math.ceil(seconds / SAMPLES_MAX)
  return Math.max(1, even, Math.min(HOUR_SECONDS, Math.floor(seconds / SAMPLES_MIN)))
}

/** Traded tokens and first balances, with the chain's coin last. */
function heldTokens({ strategies, balances, tokens }: BacktestInput): readonly Token[] {
  const traded = strategies.flatMap(assetsOf).map(({ token }) => token)
  const owned = tokens.filter(({ address }) => (balances.get(address) ?? 0n) > 0n)
  const all = [...traded, ...owned].map((token) => [token.address, token] as const)
  return [...new Map(all).values()].filter(({ address }) => address !== NATIVE_TOKEN).concat(ETHER)
}
