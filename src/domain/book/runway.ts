import type { SlotSeconds } from '../schedule/schedule.ts'

/** Something that is paid at each slot of a schedule. */
export type Outgoing = {
  /** What is paid at each, in base units. */
  readonly amount: bigint
  /** The next slots, ascending, all of them up to `untilSeconds`. */
  readonly slots: readonly SlotSeconds[]
  /** How far the calendar was read; undefined where no slot follows those named. */
  readonly untilSeconds: number | undefined
  /** Caps that hold back a slot which would pass them. */
  readonly caps?: readonly OutgoingCap[]
}

/** The most that may be paid in any span of so many seconds, in base units. One that is shared bounds all who name it together. */
export type OutgoingCap = { readonly amount: bigint; readonly withinSeconds: number }

/**
 * Seconds until the first slot that funds do not cover any more, from what the schedules will pay and nothing that was paid
 * before. Slots are walked one by one as far as all calendars were read, and from there on paid at the rate of each up to then.
 * Undefined where it lasts for good: nothing is paid, or all that ever will be is covered.
 */
export function runwaySeconds(
  funds: bigint,
  outgoings: readonly Outgoing[],
  nowSeconds: number,
): number | undefined {
  const horizon = Math.min(...outgoings.map(({ untilSeconds }) => untilSeconds ?? Infinity))
  const payments = outgoings
    .flatMap((from) => from.slots.map((atSeconds) => ({ atSeconds, from })))
    .filter(({ atSeconds }) => atSeconds <= horizon)
    .sort((a, b) => a.atSeconds - b.atSeconds)
  const paid = new Map<Outgoing, number>()
  const used = new CapUse()
  let left = funds
  for (const { atSeconds, from } of payments) {
    if (!used.admit(from, atSeconds)) continue
    if (from.amount > left) return Math.max(0, atSeconds - nowSeconds)
    left -= from.amount
    paid.set(from, (paid.get(from) ?? 0) + 1)
  }
  if (!Number.isFinite(horizon)) return undefined
  const rates = outgoings.map((each) => {
    const seen = each.slots.filter((slot) => slot <= horizon).length
    return rateOf(each, { seen, paid: paid.get(each) ?? 0, nowSeconds })
  })
  const perSecond = rates.reduce((sum, rate) => sum + rate, 0n)
  if (perSecond === 0n) return undefined
  const more = ((left > 0n ? left : 0n) * RATE_SCALE) / perSecond
  return Math.floor(horizon - nowSeconds) + Number.parseInt(more.toString(), 10)
}

/** Rates are base units a second times this. */
const RATE_SCALE = 10n ** 12n

/** What is paid a second over all slots that are named, if caps hold back as many of the others as of those that were walked. */
function rateOf(
  { amount, slots, untilSeconds }: Outgoing,
  walked: { readonly seen: number; readonly paid: number; readonly nowSeconds: number },
): bigint {
  if (untilSeconds === undefined) return 0n
  const seconds = BigInt(Math.max(1, Math.floor(untilSeconds - walked.nowSeconds)))
  const [paid, seen] = walked.seen === 0 ? [1n, 1n] : [BigInt(walked.paid), BigInt(walked.seen)]
  return (amount * BigInt(slots.length) * paid * RATE_SCALE) / (seen * seconds)
}

/** What was paid under each cap, as far back as the cap looks. */
class CapUse {
  readonly #used = new Map<OutgoingCap, { sum: bigint; first: number; paid: [number, bigint][] }>()

  /** Books a payment unless a cap is in its way. */
  admit({ amount, caps = [] }: Outgoing, atSeconds: number): boolean {
    const uses = caps.map((cap) => ({ cap, use: this.#useOf(cap, atSeconds) }))
    if (uses.some(({ cap, use }) => use.sum + amount > cap.amount)) return false
    for (const { use } of uses) {
      use.sum += amount
      use.paid.push([atSeconds, amount])
    }
    return true
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
