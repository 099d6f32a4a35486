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

/** Used permits in time order. */
type UsedSums = { readonly atMs: number[]; readonly amounts: bigint[]; total: bigint }

/**
 * Cache: `upTo[n] - upTo[0]` is the sum of the first n, as far as it was asked for. A window's sum is one subtraction, the
 * oldest leaves without a change of the rest, and changes near the end are free.
 */
const UP_TO = new WeakMap<UsedSums, bigint[]>()

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

type Oldest = {
  /** Stands behind `head`. */
  readonly rest: MapIterator<[string, Exposure]>
  head: readonly [key: string, exposure: Exposure] | undefined
}

/** Kept, because an iteration from the start of a map passes every entry that was removed there. */
const OLDEST = new WeakMap<ExposureTotals['exposures'], Oldest>()

/** Removes used permits until the first that `isOld` rejects: except for clock jumps, entries are in time order. */
export function removeOldest(totals: ExposureTotals, isOld: (exposure: Exposure) => boolean): void {
  const { exposures } = totals
  const oldest = OLDEST.get(exposures) ?? { rest: exposures.entries(), head: undefined }
  OLDEST.set(exposures, oldest)
  for (;;) {
    const { head } = oldest
    if (head !== undefined && exposures.get(head[0]) === head[1]) {
      if (!isOld(head[1])) return
      removeExposure(totals, head[0])
    }
    oldest.head = nextUsed(oldest.rest)
    if (oldest.head !== undefined) continue
    // An iterator that has ended sees no later entries.
    OLDEST.delete(exposures)
    return
  }
}

function nextUsed(rest: Oldest['rest']): Oldest['head'] {
  for (;;) {
    const { done, value } = rest.next()
    if (done === true) return undefined
    if (!value[1].live) return value
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
  const { used } = sum
  const before = countUpTo(used.atMs, query.afterMs)
  const upTo = sumsUpTo(used, before)
  return used.total - (at(upTo, before) - at(upTo, 0))
}

/** Time of use of the last permit that must leave a window until the rest fits `room`, epoch ms; undefined if all fits. */
export function whenUsedSumFits(
  totals: ExposureTotals,
  query: Summed & { readonly room: bigint },
): number | undefined {
  const sum = totals.exposureSums.get(sumKey(query))
  if (sum === undefined) return undefined
  const { atMs, total } = sum.used
  const upTo = sumsUpTo(sum.used, atMs.length)
  const most = at(upTo, 0) + total - query.room
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
    const fresh: ExposureSum = { live: 0n, used: { atMs: [], amounts: [], total: 0n } }
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

function sumsUpTo(used: UsedSums, count: number): bigint[] {
  const upTo = UP_TO.get(used) ?? [0n]
  UP_TO.set(used, upTo)
  for (let n = upTo.length; n <= count; n += 1) upTo.push(at(upTo, n - 1) + at(used.amounts, n - 1))
  return upTo
}

function insertUsed(used: UsedSums, { atMs, amount }: Exposure): void {
  const index = countUpTo(used.atMs, atMs)
  used.atMs.splice(index, 0, atMs)
  used.amounts.splice(index, 0, amount)
  changed(used, index, amount)
}

function removeUsed(used: UsedSums, { atMs, amount }: Exposure): void {
  let index = countUpTo(used.atMs, atMs) - 1
  // Among several at one time, removes the one with its own amount: another's would leave falling sums.
  while (index > 0 && used.amounts[index] !== amount) index -= 1
  used.atMs.splice(index, 1)
  used.amounts.splice(index, 1)
  const upTo = UP_TO.get(used)
  if (index === 0 && upTo !== undefined && upTo.length > 1) {
    used.total -= amount
    upTo.shift()
  } else changed(used, index, -amount)
}

/** Forgets the sums that the entry at `index` was part of. */
function changed(used: UsedSums, index: number, by: bigint): void {
  used.total += by
  const upTo = UP_TO.get(used)
  if (upTo !== undefined && upTo.length > index + 1) upTo.length = index + 1
}

function at<Value>(list: readonly Value[], index: number): Value {
  const value = list[index]
  if (value === undefined) throw new RangeError(`there is no entry ${index} of ${list.length}`)
  return value
}
