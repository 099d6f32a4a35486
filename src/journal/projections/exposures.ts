import type { Address, BaseUnits } from '../../domain/money/units.ts'

/** One amount that counts against caps: live permits in full, fills at the paid amount. */
export type Exposure = {
  readonly strategy: string
  readonly token: Address
  readonly amount: BaseUnits
  /** Time of signing while live; once used, the latest time at which it can have executed. */
  readonly atMs: number
  readonly live: boolean
}

/** Exposures and their sums, so that caps need not scan them. Only the functions here change them. */
export type ExposureTotals = {
  /** By `<intentId>:<attempt>`; merged ones by strategy, token and minute. Oldest first. */
  readonly exposures: Map<string, Exposure>
  /** Derived from `exposures`: by token address, and by token address and strategy. */
  readonly exposureSums: Map<string, ExposureSum>
}

/** Base units of one token: what live permits may still take, and what used permits took. */
type ExposureSum = { live: bigint; readonly used: UsedSums }

/**
 * Used permits in time order. `upTo[n] - upTo[0]` is the sum of the first n, so that any window's sum is one subtraction, and
 * the oldest leaves without a change of the rest.
 */
type UsedSums = { readonly atMs: number[]; readonly upTo: bigint[] }

/** Adds an exposure as the newest, replacing one with the same key. */
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

/** Used permits of one strategy and token count as one within intervals of this length. */
const TOGETHER_MS = 60_000

/**
 * Merges a used permit with those of the same minute, at the latest of their times. Caps then hold up to a minute longer,
 * and memory does not grow with orders per minute. Only for final orders.
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

/** Selects exposures: of a token, and of one strategy if named. */
export type Summed = { readonly token: Address; readonly strategy?: string | undefined }

/** Amount that live permits may still take, in base units. */
export function liveSum(totals: ExposureTotals, token: Address, strategy?: string): bigint {
  return totals.exposureSums.get(sumKey({ token, strategy }))?.live ?? 0n
}

type SinceQuery = Summed & { readonly afterMs: number }

/** Amount taken by permits used after a moment, future ones included. Base units. */
export function usedSumAfter(totals: ExposureTotals, query: SinceQuery): bigint {
  const sum = totals.exposureSums.get(sumKey(query))
  if (sum === undefined) return 0n
  const { atMs, upTo } = sum.used
  return at(upTo, atMs.length) - at(upTo, countUpTo(atMs, query.afterMs))
}

/** Time of use of the last permit that must leave a window until the rest fits `room`, epoch ms; undefined if all fits. */
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

/** Time of the oldest permit used after a moment, epoch ms; undefined if there is none. */
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

/** Number of ascending times up to and including `ms`. */
function countUpTo(times: readonly number[], ms: number): number {
  return countWhile(times, (each) => each <= ms)
}

/** Number of values at the start of a list for which `holds` is true. */
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

/** Permits are used nearly in deadline order, so few sums follow the new one. */
function insertUsed({ atMs, upTo }: UsedSums, exposure: Exposure): void {
  const before = countUpTo(atMs, exposure.atMs)
  atMs.splice(before, 0, exposure.atMs)
  upTo.splice(before, 0, at(upTo, before))
  for (let n = before + 1; n < upTo.length; n += 1) upTo[n] = at(upTo, n) + exposure.amount
}

/** Others than the oldest are mostly removed soon after they were added, so few sums follow. */
function removeUsed({ atMs, upTo }: UsedSums, exposure: Exposure): void {
  let index = countUpTo(atMs, exposure.atMs) - 1
  // Among several at one time, removes the one with its own amount: another's would leave falling sums.
  while (index > 0 && at(upTo, index + 1) - at(upTo, index) !== exposure.amount) index -= 1
  atMs.splice(index, 1)
  if (index === 0) {
    upTo.shift()
    return
  }
  upTo.splice(index + 1, 1)
  for (let n = index + 1; n < upTo.length; n += 1) upTo[n] = at(upTo, n) - exposure.amount
}

function at<Value>(list: readonly Value[], index: number): Value {
  const value = list[index]
  if (value === undefined) throw new RangeError(`there is no entry ${index} of ${list.length}`)
  return value
}
