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

/** Only the functions here and `restoreState` change them. */
export type ExposureTotals = {
  /** By `<intentId>:<attempt>`; merged ones by strategy, token and minute. Oldest first. */
  readonly exposures: Map<string, Exposure>
}

/** Base units of one token: what live permits may still take, and what used permits took. */
type ExposureSum = { live: bigint; readonly used: UsedAmounts }

type TokenSums = ExposureSum & { readonly byStrategy: Map<string, ExposureSum> }

/** Cache: sums by token and strategy, so that caps need not scan the exposures. */
const SUMS = new WeakMap<ExposureTotals['exposures'], Map<Address, TokenSums>>()

/** Forgets all sums, after the exposures were replaced. */
export function sumAgain({ exposures }: ExposureTotals): void {
  SUMS.delete(exposures)
}

/** Adds an exposure as the newest, replacing one with the same key. */
export function addExposure(totals: ExposureTotals, key: string, exposure: Exposure): void {
  removeExposure(totals, key)
  const sums = sumsOf(totals)
  totals.exposures.set(key, exposure)
  count(sums, exposure)
}

function sumsOf({ exposures }: ExposureTotals): Map<Address, TokenSums> {
  let sums = SUMS.get(exposures)
  if (sums !== undefined) return sums
  sums = new Map()
  SUMS.set(exposures, sums)
  for (const exposure of exposures.values()) count(sums, exposure)
  return sums
}

function count(sums: Map<Address, TokenSums>, exposure: Exposure): void {
  const { token, strategy } = exposure
  const all = sums.get(token) ?? { ...nothing(), byStrategy: new Map<string, ExposureSum>() }
  const own = all.byStrategy.get(strategy) ?? nothing()
  sums.set(token, all)
  all.byStrategy.set(strategy, own)
  for (const sum of [all, own])
    if (exposure.live) sum.live += exposure.amount
    else sum.used.insert(exposure)
}

function nothing(): ExposureSum {
  return { live: 0n, used: new UsedAmounts() }
}

export function removeExposure(totals: ExposureTotals, key: string): void {
  const exposure = totals.exposures.get(key)
  if (exposure === undefined) return
  const { token, strategy, live, amount } = exposure
  const all = sumsOf(totals).get(token)
  totals.exposures.delete(key)
  for (const sum of [all, all?.byStrategy.get(strategy)]) {
    if (live && sum !== undefined) sum.live -= amount
    else sum?.used.remove(exposure)
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
  const merged: Exposure = {
    ...{ strategy, token, live: false },
    amount: (amount + (others?.amount ?? 0n)) as BaseUnits,
    atMs: Math.max(atMs, others?.atMs ?? atMs),
  }
  if (others !== undefined) {
    removeExposure(totals, key)
    addExposure(totals, together, merged)
    return
  }
  // The first of its minute changes its key, and no sum.
  totals.exposures.delete(key)
  totals.exposures.set(together, merged)
}

/** Selects exposures: of a token, and of one strategy if named. */
export type Summed = { readonly token: Address; readonly strategy?: string | undefined }

/** Amount that live permits may still take, in base units. */
export function liveSum(totals: ExposureTotals, token: Address, strategy?: string): bigint {
  return sumOf(totals, { token, strategy })?.live ?? 0n
}

type SinceQuery = Summed & { readonly afterMs: number }

/** Amount taken by permits used after a moment, future ones included. Base units. */
export function usedSumAfter(totals: ExposureTotals, query: SinceQuery): bigint {
  return sumOf(totals, query)?.used.after(query.afterMs) ?? 0n
}

/** Time of use of the last permit that must leave a window until the rest fits `room`, epoch ms; undefined if all fits. */
export function whenUsedSumFits(
  totals: ExposureTotals,
  query: Summed & { readonly room: bigint },
): number | undefined {
  return sumOf(totals, query)?.used.whenFits(query.room)
}

/** Time of the oldest permit used after a moment, epoch ms; undefined if there is none. */
export function oldestUsedAfter(totals: ExposureTotals, query: SinceQuery): number | undefined {
  return sumOf(totals, query)?.used.oldestAfter(query.afterMs)
}

function sumOf(totals: ExposureTotals, { token, strategy }: Summed): ExposureSum | undefined {
  const all = sumsOf(totals).get(token)
  return strategy === undefined ? all : all?.byStrategy.get(strategy)
}

/** Entries that may be gone and still in memory; more only while they are fewer than the rest. */
const GONE_MAX = 1_000

/** Amounts of used permits in time order. The oldest leaves, and one near the end changes, without moving the rest. */
class UsedAmounts {
  #total = 0n
  readonly #atMs: number[] = []
  readonly #amounts: bigint[] = []
  /** Number of entries at the start that have left. */
  #gone = 0
  /** `#upTo[n]` is the sum of the first n, as far as it was asked for, so that a window's sum is one subtraction. */
  readonly #upTo: bigint[] = [0n]

  insert({ atMs, amount }: Exposure): void {
    const index = this.#countUpTo(atMs)
    this.#atMs.splice(index, 0, atMs)
    this.#amounts.splice(index, 0, amount)
    this.#changed(index, amount)
  }

  remove({ atMs, amount }: Exposure): void {
    let index = this.#countUpTo(atMs) - 1
    // Among several at one time, removes the one with its own amount: another's would leave falling sums.
    while (index > this.#gone && this.#amounts[index] !== amount) index -= 1
    if (index > this.#gone) {
      this.#atMs.splice(index, 1)
      this.#amounts.splice(index, 1)
      this.#changed(index, -amount)
    } else this.#removeOldest(amount)
  }

  /** Sum of those used after a moment. */
  after(ms: number): bigint {
    return this.#total - this.#sumUpTo(this.#countUpTo(ms)) + this.#sumUpTo(this.#gone)
  }

  /** Time of the oldest used after a moment. */
  oldestAfter(ms: number): number | undefined {
    return this.#atMs[this.#countUpTo(ms)]
  }

  /** Time of the last that must leave until the rest fits `room`; undefined if all fits. */
  whenFits(room: bigint): number | undefined {
    const most = this.#sumUpTo(this.#atMs.length) - room
    const leaving = countWhile(this.#upTo, this.#gone, (each) => each < most)
    return leaving === this.#gone ? undefined : at(this.#atMs, leaving - 1)
  }

  #removeOldest(amount: bigint): void {
    this.#gone += 1
    this.#total -= amount
    if (this.#gone < GONE_MAX || 2 * this.#gone < this.#amounts.length) return
    this.#sumUpTo(this.#gone)
    for (const list of [this.#atMs, this.#amounts, this.#upTo]) list.splice(0, this.#gone)
    this.#gone = 0
  }

  /** Index after the last used up to and including a moment. */
  #countUpTo(ms: number): number {
    return countWhile(this.#atMs, this.#gone, (each) => each <= ms)
  }

  /** Sum of the first `count` entries, with those that have left. */
  #sumUpTo(count: number): bigint {
    const upTo = this.#upTo
    for (let n = upTo.length; n <= count; n += 1)
      upTo.push(at(upTo, n - 1) + at(this.#amounts, n - 1))
    return at(upTo, count)
  }

  /** Forgets the sums that the entry at `index` was part of. */
  #changed(index: number, by: bigint): void {
    this.#total += by
    if (this.#upTo.length > index + 1) this.#upTo.length = index + 1
  }
}

/** Index of the first value, from `from` on, for which `holds` is false; it is true up to there. */
function countWhile<Value>(
  list: readonly Value[],
  from: number,
  holds: (value: Value) => boolean,
): number {
  let low = from
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(at(list, middle))) low = middle + 1
    else high = middle
  }
  return low
}

function at<Value>(list: readonly Value[], index: number): Value {
  const value = list[index]
  if (value === undefined) throw new RangeError(`there is no entry ${index} of ${list.length}`)
  return value
}
