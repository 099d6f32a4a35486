import type { Address, BaseUnits } from '../../domain/money/units.ts'

/** One amount that counts against caps: live permits in full, fills at what was paid. */
export type Exposure = {
  readonly strategy: string
  readonly token: Address
  readonly amount: BaseUnits
  /** Signing time while live, the permit's deadline once it was used. */
  readonly atMs: number
  readonly live: boolean
}

/** Exposures, with what is summed of them so that a cap need not look at each. Changed only by the functions here. */
export type ExposureTotals = {
  /** By `<intentId>:<attempt>`, those that are counted together by strategy, token and minute; oldest first. */
  readonly exposures: Map<string, Exposure>
  /** Follows from `exposures`: by token address, and by token address and strategy. */
  readonly exposureSums: Map<string, ExposureSum>
}

/** Base units of one token: what live permits may still take, and what used ones took. */
type ExposureSum = { live: bigint; readonly used: UsedSums }

/** Used permits in time order. `upTo[n]` is the sum of the first n, so that any window's sum is one subtraction. */
type UsedSums = { readonly atMs: number[]; readonly upTo: bigint[] }

/** Adds an exposure as the newest; one of the same key is replaced. */
export function addExposure(totals: ExposureTotals, key: string, exposure: Exposure): void {
  removeExposure(totals, key)
  totals.exposures.set(key, exposure)
  count(totals, exposure)
}

export function sumAgain(totals: ExposureTotals): void {
  totals.exposureSums.clear()
  for (const exposure of totals.exposures.values()) count(totals, exposure)
}

function count(totals: ExposureTotals, exposure: Exposure): void {
  for (const sum of sumsOf(totals, exposure)) {
    if (exposure.live) sum.live += exposure.amount
    else insertUsed(sum.used, exposure)
  }
}

export function removeExposure(totals: ExposureTotals, key: string): void {
  const exposure = totals.exposures.get(key)
  if (exposure === undefined) return
  totals.exposures.delete(key)
  for (const sum of sumsOf(totals, exposure)) {
    if (exposure.live) sum.live -= exposure.amount
    else removeUsed(sum.used, exposure)
  }
}

/** Used permits of one strategy and token count as one when they were used within so long. */
const TOGETHER_MS = 60_000

/**
 * Merges a used permit with those of its minute, at the time of the latest: a cap holds at most a minute longer, and many
 * orders a minute take no more memory than one. Only for orders that no reorganisation takes back.
 */
export function mergeUsed(totals: ExposureTotals, key: string): void {
  const exposure = totals.exposures.get(key)
  if (exposure === undefined || exposure.live) return
  const { strategy, token, amount, atMs } = exposure
  const together = `${strategy} ${token} ${Math.floor(atMs / TOGETHER_MS)}`
  const others = totals.exposures.get(together)
  removeExposure(totals, key)
  addExposure(totals, together, {
    ...{ strategy, token, live: false },
    amount: (amount + (others?.amount ?? 0n)) as BaseUnits,
    atMs: Math.max(atMs, others?.atMs ?? atMs),
  })
}

/** What is summed: exposures of a token, of one strategy when it is named. */
export type Summed = { readonly token: Address; readonly strategy?: string | undefined }

/** What live permits may still take, in base units. */
export function liveSum(totals: ExposureTotals, token: Address, strategy?: string): bigint {
  return totals.exposureSums.get(sumKey({ token, strategy }))?.live ?? 0n
}

type SinceQuery = Summed & { readonly afterMs: number }

/** What permits took that were used after a moment, the future included. */
export function usedSumAfter(totals: ExposureTotals, query: SinceQuery): bigint {
  const sum = totals.exposureSums.get(sumKey(query))
  if (sum === undefined) return 0n
  const { atMs, upTo } = sum.used
  return at(upTo, atMs.length) - at(upTo, countUpTo(atMs, query.afterMs))
}

/** When so many used permits have left the window that the rest is at most `room`, epoch ms; undefined if all fits. */
export function whenUsedSumFits(
  totals: ExposureTotals,
  query: Summed & { readonly room: bigint },
): number | undefined {
  const sum = totals.exposureSums.get(sumKey(query))
  if (sum === undefined) return undefined
  const { atMs, upTo } = sum.used
  const most = at(upTo, atMs.length) - query.room
  const leaving = countWhile(upTo, (each) => each < most)
  return leaving === 0 ? undefined : at(atMs, leaving - 1)
}

/** The time of the oldest permit that was used after a moment; undefined where none was. Epoch ms. */
export function oldestUsedAfter(totals: ExposureTotals, query: SinceQuery): number | undefined {
  const sum = totals.exposureSums.get(sumKey(query))
  return sum?.used.atMs[countUpTo(sum.used.atMs, query.afterMs)]
}

function sumKey({ token, strategy }: Summed): string {
  return strategy === undefined ? token : `${token} ${strategy}`
}

function sumsOf(totals: ExposureTotals, exposure: Exposure): readonly ExposureSum[] {
  return [exposure.token, sumKey(exposure)].map((key) => {
    const known = totals.exposureSums.get(key)
    if (known !== undefined) return known
    const fresh: ExposureSum = { live: 0n, used: { atMs: [], upTo: [0n] } }
    totals.exposureSums.set(key, fresh)
    return fresh
  })
}

/** How many of the ascending times are not after `ms`. */
function countUpTo(times: readonly number[], ms: number): number {
  return countWhile(times, (each) => each <= ms)
}

/** How many values at the beginning of a list `holds` is true for. */
function countWhile<Value>(list: readonly Value[], holds: (value: Value) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(at(list, middle))) low = middle + 1
    else high = middle
  }
  return low
}

/** Permits are used nearly in the order of their deadlines, so that only few sums follow the new one. */
function insertUsed({ atMs, upTo }: UsedSums, exposure: Exposure): void {
  const before = countUpTo(atMs, exposure.atMs)
  atMs.splice(before, 0, exposure.atMs)
  upTo.splice(before, 0, at(upTo, before))
  for (let n = before + 1; n < upTo.length; n += 1) upTo[n] = at(upTo, n) + exposure.amount
}

/** The oldest is removed at most once a minute, any other mostly soon after it was added: then few sums follow it. */
function removeUsed({ atMs, upTo }: UsedSums, exposure: Exposure): void {
  let index = countUpTo(atMs, exposure.atMs) - 1
  // Of several at one moment its own is removed: another's amount would leave sums that fall.
  while (index > 0 && at(upTo, index + 1) - at(upTo, index) !== exposure.amount) index -= 1
  atMs.splice(index, 1)
  upTo.splice(index + 1, 1)
  for (let n = index + 1; n < upTo.length; n += 1) upTo[n] = at(upTo, n) - exposure.amount
}

function at<Value>(list: readonly Value[], index: number): Value {
  const value = list[index]
  if (value === undefined) throw new RangeError(`there is no entry ${index} of ${list.length}`)
  return value
}
