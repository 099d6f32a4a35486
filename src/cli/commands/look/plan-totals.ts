import { runwaySeconds } from '../../../domain/book/runway.ts'
import type { Asset } from '../../../domain/token.ts'
import type { WorstCase } from '../../../engine/spend.ts'
import { heldOf } from '../../../engine/view.ts'
import type { Plan, PlanInput } from './strategy-plan.ts'

/** What all strategies that are enabled may take of an asset together. Base units. */
export type Total = {
  readonly asset: Asset
  /** In the worst day; undefined where nothing bounds it. */
  readonly perDay: bigint | undefined
  /** The config's own cap of a day. */
  readonly cap: bigint | undefined
  readonly held: bigint | undefined
  /** How long what is held lasts if each slot takes its most; undefined where it lasts for good, or nobody can tell. */
  readonly lastsSeconds: number | undefined
  /** Whether what waits for a price sells it too, which no clock tells. */
  readonly isSoldByPrice: boolean
}

/** By asset, in the order in which the strategies name them. */
export function totalsOf(
  plans: readonly Plan[],
  { settings, state, market, nowMs }: Pick<PlanInput, 'settings' | 'state' | 'market' | 'nowMs'>,
): readonly Total[] {
  const cases = new Map<string, (WorstCase & Pick<Plan, 'waitsForPrice'>)[]>()
  for (const { enabled, mostPerDay, waitsForPrice } of plans) {
    if (!enabled) continue
    for (const worst of mostPerDay) {
      const { token, native } = worst.asset
      const key = `${token.address} ${native}`
      cases.set(key, [...(cases.get(key) ?? []), { ...worst, waitsForPrice }])
    }
  }
  return [...cases.values()].flatMap((worst): Total[] => {
    const [first] = worst
    if (first === undefined) return []
    const { asset } = first
    const cap = settings.limits.perDay.get(asset.token.address)
    const held = market.ok ? heldOf({ mode: settings.mode, state }, market.view, asset) : undefined
    const lastsSeconds = lastsFor(worst, { held, nowSeconds: Math.floor(nowMs / 1000) })
    const isSoldByPrice = worst.some(({ waitsForPrice }) => waitsForPrice)
    return [{ asset, perDay: sumOf(worst, cap), cap, held, lastsSeconds, isSoldByPrice }]
  })
}

function sumOf(worst: readonly WorstCase[], cap: bigint | undefined): bigint | undefined {
  let sum: bigint | undefined = 0n
  for (const { amount } of worst)
    sum = sum === undefined || amount === undefined ? undefined : sum + amount
  return sum === undefined || (cap !== undefined && cap < sum) ? cap : sum
}

/** By the same slots as the worst day. */
function lastsFor(
  worst: readonly (WorstCase & Pick<Plan, 'waitsForPrice'>)[],
  { held, nowSeconds }: { readonly held: bigint | undefined; readonly nowSeconds: number },
): number | undefined {
  const byClock = worst.filter(({ waitsForPrice }) => !waitsForPrice)
  const outgoings = byClock.flatMap(({ outgoing }) => outgoing ?? [])
  if (held === undefined || outgoings.length < byClock.length) return undefined
  return runwaySeconds(held, outgoings, nowSeconds)
}
