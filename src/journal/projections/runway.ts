import type { SlotSeconds } from '../../domain/schedule/schedule.ts'

/** A payment at each slot of a schedule. */
export type Outgoing = {
  /** Amount of each payment, in base units. */
  readonly amount: bigint
  /** All slots up to `untilSeconds`, ascending. */
  readonly slots: readonly SlotSeconds[]
  /** End of the calendar that was read; undefined if no slot follows `slots`. */
  readonly untilSeconds: number | undefined
  /** Caps that hold back a slot which would exceed them. */
  readonly caps?: readonly OutgoingCap[]
}

/** Maximum payment within any `withinSeconds`, in base units. Outgoings with the same cap object share it. */
export type OutgoingCap = { readonly amount: bigint; readonly withinSeconds: number }

/**
 * Seconds until the first slot that funds do not cover, from scheduled payments alone. Walks slot by slot up to the end of
 * the shortest calendar, then continues at each outgoing's rate. Undefined if the funds never run out.
 */
export function runwaySeconds(
  funds: bigint,
  outgoings: readonly Outgoing[],
  nowSeconds: number,
): number | undefined {
  const horizon = Math.min(...outgoings.map(({ untilSeconds }) => untilSeconds ?? Infinity))
  const used = new CapUse()
  const walked = skimmed(funds, outgoings, horizon) ?? walk(funds, outgoings, { horizon, used })
  if ('endsAtSeconds' in walked) return Math.max(0, walked.endsAtSeconds - nowSeconds)
  const { left, paid } = walked
  if (!Number.isFinite(horizon)) return undefined
  const rates = outgoings.map((each): Rate => {
    const seen = slotsUpTo(each, horizon)
    return [each, rateOf(each, { seen, paid: paid.get(each) ?? 0, nowSeconds })]
  })
  const more = restSeconds(left, withinCaps(rates), used)
  return more === undefined ? undefined : Math.floor(horizon - nowSeconds) + more
}

/** Funds left after all slots up to a moment, and slots paid per outgoing; or the first slot that could not be paid. */
type Walked =
  | { readonly left: bigint; readonly paid: ReadonlyMap<Outgoing, number> }
  | { readonly endsAtSeconds: number }

/** Shortcut without caps: slot order matters only if they cost more than the funds. Undefined if it matters. */
function skimmed(
  funds: bigint,
  outgoings: readonly Outgoing[],
  horizon: number,
): Walked | undefined {
  const paid = new Map<Outgoing, number>()
  let left = funds
  for (const each of outgoings) {
    if ((each.caps ?? []).length > 0) return undefined
    const slots = slotsUpTo(each, horizon)
    paid.set(each, slots)
    left -= each.amount * BigInt(slots)
  }
  return left < 0n ? undefined : { left, paid }
}

function walk(
  funds: bigint,
  outgoings: readonly Outgoing[],
  { horizon, used }: { readonly horizon: number; readonly used: CapUse },
): Walked {
  const payments = outgoings
    .flatMap((from) => from.slots.map((atSeconds) => ({ atSeconds, from })))
    .filter(({ atSeconds }) => atSeconds <= horizon)
    .sort((a, b) => a.atSeconds - b.atSeconds)
  const paid = new Map<Outgoing, number>()
  let left = funds
  for (const { atSeconds, from } of payments) {
    if (!used.admit(from, atSeconds)) continue
    if (from.amount > left) return { endsAtSeconds: atSeconds }
    left -= from.amount
    paid.set(from, (paid.get(from) ?? 0) + 1)
  }
  return { left, paid }
}

function slotsUpTo({ slots }: Outgoing, horizon: number): number {
  let count = 0
  for (const slot of slots) {
    if (slot > horizon) return count
    count += 1
  }
  return count
}

/** Rates are in base units per second, times this. */
const RATE_SCALE = 10n ** 12n

type Rate = readonly [outgoing: Outgoing, scaledPerSecond: bigint]

/** Scaled payment per second over all slots, if caps hold back the same share as of the walked slots. */
function rateOf(
  { amount, slots, untilSeconds }: Outgoing,
  walked: { readonly seen: number; readonly paid: number; readonly nowSeconds: number },
): bigint {
  if (untilSeconds === undefined) return 0n
  const seconds = BigInt(Math.max(1, Math.floor(untilSeconds - walked.nowSeconds)))
  const [paid, seen] = walked.seen === 0 ? [1n, 1n] : [BigInt(walked.paid), BigInt(walked.seen)]
  return (amount * BigInt(slots.length) * paid * RATE_SCALE) / (seen * seconds)
}

/** A walk that ends within a cap's window has paid that cap as for a full window, so the cap bounds the rate. */
function withinCaps(rates: readonly Rate[]): readonly Rate[] {
  let bounded = rates
  for (const cap of capsIn(rates)) {
    if (!Number.isFinite(cap.withinSeconds)) continue
    const most = (cap.amount * RATE_SCALE) / BigInt(cap.withinSeconds)
    const sum = sumUnder(bounded, cap)
    if (sum <= most) continue
    bounded = bounded.map(([from, rate]) =>
      from.caps?.includes(cap) ? [from, (rate * most) / sum] : [from, rate],
    )
  }
  return bounded
}

/** Seconds until the funds run out at these rates. A strategy stops paying once a cap without a window is used up. */
function restSeconds(left: bigint, rates: readonly Rate[], used: CapUse): number | undefined {
  const rest = new Map(
    capsIn(rates)
      .filter(({ withinSeconds }) => !Number.isFinite(withinSeconds))
      .map((cap) => [cap, cap.amount - used.sumOf(cap)]),
  )
  let paying = rates
  let funds = left
  let seconds = 0n
  for (;;) {
    const perSecond = paying.reduce((sum, [, rate]) => sum + rate, 0n)
    if (perSecond === 0n) return undefined
    const end = (funds * RATE_SCALE) / perSecond
    let [next, after]: [OutgoingCap | undefined, bigint] = [undefined, end]
    for (const [cap, amount] of rest) {
      const rate = sumUnder(paying, cap)
      if (rate === 0n) continue
      const usedUp = (amount * RATE_SCALE) / rate
      if (usedUp <= after) [next, after] = [cap, usedUp]
    }
    seconds += after
    if (next === undefined) return Number.parseInt(seconds.toString(), 10)
    funds -= (perSecond * after) / RATE_SCALE
    for (const [cap, amount] of rest)
      rest.set(cap, amount - (sumUnder(paying, cap) * after) / RATE_SCALE)
    rest.delete(next)
    const over = next
    paying = paying.filter(([from]) => !from.caps?.includes(over))
  }
}

function capsIn(rates: readonly Rate[]): readonly OutgoingCap[] {
  return [...new Set(rates.flatMap(([{ caps = [] }]) => caps))]
}

function sumUnder(rates: readonly Rate[], cap: OutgoingCap): bigint {
  return rates.reduce((sum, [{ caps }, rate]) => (caps?.includes(cap) ? sum + rate : sum), 0n)
}

/** Payments under each cap within the cap's window. */
class CapUse {
  readonly #used = new Map<OutgoingCap, { sum: bigint; first: number; paid: [number, bigint][] }>()

  /** Books a payment unless a cap blocks it; returns whether it did. */
  admit({ amount, caps = [] }: Outgoing, atSeconds: number): boolean {
    const uses = caps.map((cap) => ({ cap, use: this.#useOf(cap, atSeconds) }))
    if (uses.some(({ cap, use }) => use.sum + amount > cap.amount)) return false
    for (const { use } of uses) {
      use.sum += amount
      use.paid.push([atSeconds, amount])
    }
    return true
  }

  sumOf(cap: OutgoingCap): bigint {
    return this.#used.get(cap)?.sum ?? 0n
  }

  #useOf(cap: OutgoingCap, atSeconds: number) {
    const use = this.#used.get(cap) ?? { sum: 0n, first: 0, paid: [] }
    this.#used.set(cap, use)
    for (
      let oldest = use.paid[use.first];
      oldest !== undefined && atSeconds - oldest[0] >= cap.withinSeconds;
      oldest = use.paid[use.first]
    ) {
      use.sum -= oldest[1]
      use.first += 1
    }
    return use
  }
}
