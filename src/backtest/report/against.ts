import { NATIVE_TOKEN } from '../../domain/money/token.ts'
import type { Address } from '../../domain/money/units.ts'
import { costsOf, type FillModel, PPM } from '../model.ts'
import type { Curve } from './curves.ts'
import type { AgainstResult } from './result.ts'
import type { Samples, Trades } from './tally.ts'

/** Another use of the same money, as a curve of its value in whole value tokens. */
export type Alternative = { readonly name: AgainstResult['name']; readonly values: Curve }

/** Whole tokens moved from one token to another. */
type Flow = { readonly sell: Address; readonly buy: Address; readonly amount: number }

type AlternativeInput = {
  readonly samples: Samples
  /** First holdings, whole tokens. */
  readonly begin: ReadonlyMap<Address, number>
  readonly trades: readonly Trades[]
  readonly model: FillModel
}

const DAY_SECONDS = 86_400

/**
 * `holding`: no trades. `lump-sum`: sells the amounts that the strategies sold of the first holdings, at the beginning, for
 * the tokens that they bought. `plain-dca`: the same in equal daily parts. The last two at the model's costs, without gas.
 */
export function alternativesOf(input: AlternativeInput): readonly Alternative[] {
  const { samples, begin } = input
  const holding: Alternative = { name: 'holding', values: valued(samples, begin, () => false) }
  const flows = flowsOf(input)
  const first = samples.atSeconds.findIndex((_, index) => isPriced(samples, flows, index))
  if (flows.length === 0 || first < 0) return [holding]
  const days = dayIndexes(samples, first)
  return [
    holding,
    { name: 'lump-sum', values: invested(input, flows, [first]) },
    { name: 'plain-dca', values: invested(input, flows, days) },
  ]
}

/** Sales of each token, at most its first holding. */
function flowsOf({ trades, begin, samples }: AlternativeInput): readonly Flow[] {
  const known = trades.filter(({ sell, buy }) => keyOf(sell, samples) !== keyOf(buy, samples))
  const sold = new Map<Address, number>()
  const wholeOf = ({ sell, sold: amount }: Trades): number =>
    Number(amount) / 10 ** sell.token.decimals
  for (const each of known) {
    const key = keyOf(each.sell, samples)
    sold.set(key, (sold.get(key) ?? 0) + wholeOf(each))
  }
  return known.flatMap((each): Flow[] => {
    const sell = keyOf(each.sell, samples)
    const all = sold.get(sell) ?? 0
    const share = all === 0 ? 0 : Math.min(1, (begin.get(sell) ?? 0) / all)
    const amount = wholeOf(each) * share
    return amount > 0 ? [{ sell, buy: keyOf(each.buy, samples), amount }] : []
  })
}

/** The samples' key of an asset. The chain's coin has a separate one. */
function keyOf({ token, native }: Trades['sell'], { worths }: Samples): Address {
  return native && worths.has(NATIVE_TOKEN) ? NATIVE_TOKEN : token.address
}

function isPriced({ worths }: Samples, flows: readonly Flow[], index: number): boolean {
  return flows.every(
    ({ sell, buy }) =>
      worths.get(sell)?.[index] !== undefined && worths.get(buy)?.[index] !== undefined,
  )
}

/** The first sample of every day. */
function dayIndexes({ atSeconds }: Samples, first: number): readonly number[] {
  const begin = atSeconds[first] ?? 0
  let day = -1
  return atSeconds.flatMap((at, index) => {
    const each = Math.floor((at - begin) / DAY_SECONDS)
    if (index < first || each === day || at === atSeconds.at(-1)) return []
    day = each
    return [index]
  })
}

function invested(
  { samples, begin, model }: AlternativeInput,
  flows: readonly Flow[],
  indexes: readonly number[],
): Curve {
  const holdings = new Map(begin)
  const parts = new Set(indexes)
  return valued(samples, holdings, (index) => {
    if (!parts.has(index)) return false
    for (const { sell, buy, amount } of flows) {
      const part = amount / parts.size
      const value = part * (samples.worths.get(sell)?.[index] ?? 0)
      const price = samples.worths.get(buy)?.[index]
      if (price === undefined || price === 0) continue
      const { spreadPpm, feePpm } = costsOf(model, undefined)
      const kept = Number(PPM - spreadPpm - feePpm) / Number(PPM)
      holdings.set(sell, (holdings.get(sell) ?? 0) - part)
      holdings.set(buy, (holdings.get(buy) ?? 0) + (value * kept) / price)
    }
    return true
  })
}

/** `changesAt` changes the holdings at a sample, and returns whether it did. */
function valued(
  { atSeconds, worths }: Samples,
  holdings: ReadonlyMap<Address, number>,
  changesAt: (index: number) => boolean,
): Curve {
  const held = () =>
    [...holdings].flatMap(([token, amount]) =>
      amount === 0 ? [] : [{ worths: worths.get(token) ?? [], amount }],
    )
  let all = held()
  return atSeconds.map((_, index) => {
    if (changesAt(index)) all = held()
    let sum = 0
    for (const { worths: each, amount } of all) {
      const worth = each[index]
      if (worth === undefined) return undefined
      sum += amount * worth
    }
    return sum
  })
}
