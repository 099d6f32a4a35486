import { assetsOf } from '../domain/strategy.ts'
import { ETHER, NATIVE_TOKEN, type Token } from '../domain/token.ts'
import type { FillModel } from './model.ts'
import { Play } from './play.ts'
import { heldTape } from './prices/held.ts'
import { resultOf } from './report/assemble.ts'
import type { BacktestResult, ModelResult, SensitivityResult } from './report/result.ts'
import { Tally } from './report/tally.ts'
import type { World, WorldInput } from './world.ts'

export type BacktestInput = WorldInput & {
  /** All tokens of the config: balances of others than those traded are shown, too. */
  readonly tokens: readonly Token[]
  readonly modelSource: ModelResult['source']
  /** Whether it is run again with other assumptions. */
  readonly varies: boolean
  /** Called now and then with the share of all that is done; true stops it. */
  readonly progress?: (share: number) => boolean
}

/** Samples lie an hour apart, or so that there are no more than this. */
const SAMPLES_MAX = 10_000
const HOUR_SECONDS = 3_600
/** A chart of a short time has points enough, too. */
const SAMPLES_MIN = 500

/** Plays the strategies over the past and says what they came to. Undefined where it was stopped. */
export async function backtest(given: BacktestInput): Promise<BacktestResult | undefined> {
  const input = given.varies ? { ...given, tapes: given.tapes.map(heldTape) } : given
  const runs = input.varies ? VARIATIONS.length + 1 : 1
  const progress = (run: number) => (share: number) =>
    input.progress?.((run + share) / runs) ?? false
  const played = await playOnce(input, progress(0))
  if (played === undefined) return undefined
  const result = resultOf(played.tally, played.world, input.modelSource)
  const sensitivity: SensitivityResult[] = []
  for (const [index, { what, change }] of (input.varies ? VARIATIONS : []).entries()) {
    const model = change(input.model)
    const varied = await playOnce({ ...input, model }, progress(index + 1))
    if (varied === undefined) return undefined
    const { end, figures, strategies } = resultOf(varied.tally, varied.world, input.modelSource)
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

type Variation = {
  readonly what: string
  readonly change: (model: FillModel) => FillModel
}

const VARIATIONS: readonly Variation[] = [
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
): Promise<{ readonly tally: Tally; readonly world: World } | undefined> {
  let world: World | undefined
  const tally = new Tally(input, heldTokens(input), () => {
    if (world === undefined) throw new Error('nothing is filled before the world begins')
    return world
  })
  let isStopped = false
  const play = new Play({
    ...input,
    ears: tally,
    sampleSeconds: sampleSeconds(input),
    leaps: true,
    progress(share) {
      isStopped = progress(share)
      return isStopped
    },
  })
  world = play.world
  try {
    await play.run()
  } finally {
    world.board.close()
  }
  return isStopped ? undefined : { tally, world }
}

function sampleSeconds({ fromSeconds, untilSeconds }: WorldInput): number {
  const seconds = untilSeconds - fromSeconds
  const even = Math.ceil(seconds / SAMPLES_MAX)
  return Math.max(1, even, Math.min(HOUR_SECONDS, Math.floor(seconds / SAMPLES_MIN)))
}

/** What the strategies trade and what there is at the beginning, the chain's own coin last. */
function heldTokens({ strategies, balances, tokens }: BacktestInput): readonly Token[] {
  const traded = strategies.flatMap(assetsOf).map(({ token }) => token)
  const owned = tokens.filter(({ address }) => (balances.get(address) ?? 0n) > 0n)
  const all = [...traded, ...owned].map((token) => [token.address, token] as const)
  return [...new Map(all).values()].filter(({ address }) => address !== NATIVE_TOKEN).concat(ETHER)
}
