import { WINDOWS } from '../../domain/cap-windows.ts'
import { briefText } from '../../domain/money/amount-text.ts'
import { type Asset, shownToken, type Token } from '../../domain/money/token.ts'
import { type BaseUnits, formatBrief, maxOf, minOf } from '../../domain/money/units.ts'
import type { LimitReason } from '../../domain/order/reason.ts'
import { nextSlot } from '../../domain/schedule/calendar.ts'
import { anchored, type Schedule } from '../../domain/schedule/schedule.ts'
import type { AccountLimits } from '../../domain/settings.ts'
import { CAP_NAMES, type Caps, type SpendingCaps } from '../../domain/strategy.ts'
import { limitHit } from '../../journal/projections/limits.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import type { OrderInputs, PlannedOrder, SlicedTotal } from '../kind.ts'
import { kindOf, type Strategy } from '../registry.ts'

/** A request of a strategy's file that its limits never allow. */
type Unmet = {
  /** Key of the strategy's file. */
  readonly path: readonly string[]
  readonly message: string
  readonly expected: string
}

/** Limits of one file, and the names of its keys in messages. */
type Limits = {
  readonly caps: SpendingCaps
  readonly keyOf: (name: string) => string
  readonly pathOf: (name: string) => readonly string[]
}

/** Monday 6 January 2025. Any day would do, because only distances of slots count. */
const FROM_SECONDS = 1_736_121_600
/** Length of the calendar that is read: a week of starts, and the longest window after the last. */
const SECONDS_MAX = 15 * 86_400
const SLOTS_MAX = 20_000
/** Slots read for the shortest gap. */
const GAPS_MAX = 100

/** Requests that the limits never allow, from the files alone. Only for kinds that trade by the clock. */
export function unmetBy(strategy: Strategy, account: AccountLimits): readonly Unmet[] {
  const kind = kindOf(strategy)
  const sliced = kind.slicedTotal(strategy)
  const fixed = kind.fixedOrder(strategy)
  const own: Limits = {
    caps: strategy.limits,
    keyOf: (name) => `limits.${name}`,
    pathOf: (name) => ['limits', name],
  }
  const all: Limits = {
    caps: account,
    keyOf: (name) => `the config's limits.${name}`,
    pathOf: () => [sliced === undefined ? 'schedule' : 'slices'],
  }
  return [own, all].flatMap((limits) => {
    if (sliced !== undefined)
      return [...unsoldUnder(strategy, sliced, limits), ...cooledUnder(strategy, limits)]
    if (fixed === undefined) return []
    return [...skippedUnder(strategy, fixed, limits), ...cooledUnder(strategy, limits)]
  })
}

/** Windows in which a schedule requests more than a cap allows. */
function skippedUnder(
  { name, schedule }: Strategy,
  { token, amount }: { readonly token: Token; readonly amount: bigint },
  { caps, keyOf, pathOf }: Limits,
): readonly Unmet[] {
  if (amount === 0n) return []
  return WINDOWS.flatMap((window) => {
    const cap = caps[window.cap].get(token.address)
    if (cap === undefined || cap < amount) return []
    const allowed = Number.parseInt(`${minOf(cap / amount, BigInt(SLOTS_MAX))}`, 10)
    if (!hasMoreWithin(schedule, { seconds: window.ms / 1000, allowed })) return []
    const each = briefText(amount, token)
    const many = allowed === 1 ? 'one slot' : `${allowed} slots`
    const any = window.name === 'hour' ? 'an hour' : `a ${window.name}`
    return {
      path: pathOf(window.cap),
      message: `${name} asks for ${each} at more than ${many} in ${any}, and ${keyOf(window.cap)} of ${briefText(cap, token)} skips the others`,
      expected: `a larger cap, a smaller amount, or at most ${many} in any ${window.name}`,
    }
  })
}

/** The unsold rest of a schedule's total under its caps. */
function unsoldUnder(
  { name, schedule }: Strategy,
  { token, total }: SlicedTotal,
  { caps, keyOf, pathOf }: Limits,
): readonly Unmet[] {
  if (schedule.type !== 'interval') return []
  const { count, everySeconds } = schedule
  const lastsMs = (count - 1) * everySeconds * 1000
  const bounds: readonly (readonly [key: keyof SpendingCaps, of: Caps, times: number])[] = [
    ['perOrder', caps.perOrder, count],
    ...WINDOWS.map(({ cap, ms }) => [cap, caps[cap], Math.floor(lastsMs / ms) + 1] as const),
    ['total', caps.total, 1],
  ]
  return bounds.flatMap(([key, of, times]) => {
    const cap = of.get(token.address)
    if (cap === undefined) return []
    const most = cap * BigInt(times)
    if (most >= total) return []
    return {
      path: pathOf(key),
      message: `${name} sells at most ${briefText(most, token)} of ${briefText(total, token)} under ${keyOf(key)} of ${briefText(cap, token)}`,
      expected: 'a larger cap, a smaller amount, or more time for its slices',
    }
  })
}

function cooledUnder(
  { name, schedule }: Strategy,
  { caps: { cooldownMs }, keyOf, pathOf }: Limits,
): readonly Unmet[] {
  const gap = cooldownMs === 0 ? undefined : leastGapSeconds(schedule)
  if (gap === undefined || gap * 1000 >= cooldownMs) return []
  return [
    {
      path: pathOf('cooldown'),
      message: `${name} has slots ${gap} s apart, and ${keyOf('cooldown')} of ${cooldownMs / 1000} s skips those that come before it is over`,
      expected: `at most ${gap}s, or slots that lie further apart`,
    },
  ]
}

/** True if some window contains more slots than are allowed. */
function hasMoreWithin(
  schedule: Schedule,
  { seconds, allowed }: { readonly seconds: number; readonly allowed: number },
): boolean {
  if (allowed >= Math.min(SLOTS_MAX, mostWithin(schedule, seconds))) return false
  const slots: number[] = []
  for (const slot of slotsOf(schedule, SLOTS_MAX)) {
    slots.push(slot)
    const first = slots[slots.length - 1 - allowed]
    if (first !== undefined && slot - first < seconds) return true
  }
  return false
}

/** Upper bound on the slots in any window, without reading the calendar; sufficient for most schedules. */
function mostWithin(schedule: Schedule, seconds: number): number {
  if (schedule.type === 'interval') return Math.ceil(seconds / schedule.everySeconds)
  const { seconds: at, minutes, hours } = schedule.pattern
  const inHour = at.length * minutes.length
  return seconds <= 3_600 ? inHour : inHour * hours.length * Math.ceil(seconds / 86_400)
}

function leastGapSeconds(schedule: Schedule): number | undefined {
  let least: number | undefined
  let before: number | undefined
  for (const slot of slotsOf(schedule, GAPS_MAX)) {
    if (before !== undefined) least = Math.min(least ?? slot - before, slot - before)
    before = slot
  }
  return least
}

function* slotsOf(schedule: Schedule, max: number): Generator<number> {
  const known = anchored(schedule, FROM_SECONDS)
  const from = known.type === 'interval' ? known.startSeconds : undefined
  let slot = nextSlot(known, (from ?? FROM_SECONDS) - 1)
  const until = (slot ?? 0) + SECONDS_MAX
  for (let count = 0; count < max && slot !== undefined && slot <= until; count += 1) {
    yield slot
    slot = nextSlot(known, slot)
  }
}

type CapView = OrderInputs & {
  readonly account: AccountLimits
  readonly state: DaemonState
  readonly nowMs: number
}

/**
 * Orders that would be skipped when due, one sentence each: orders above a cap, and slots beyond the limits. For strategies
 * that wait for a price, also orders that a cap's used part or the balance would block now.
 */
export function capWarnings(strategy: Strategy, view: CapView): readonly string[] {
  const kind = kindOf(strategy)
  const orders = kind.plannedOrders(strategy, view)
  const never = orders.flatMap((order) => neverText(strategy, order, view) ?? [])
  if (never.length > 0) return never
  const [first] = orders
  if (kind.trigger === undefined || first === undefined)
    return unmetBy(strategy, view.account).map(({ message }) => message)
  const sum = orders.reduce((total, { amount }) => total + amount, 0n)
  const together = { ...first, who: 'rungs that fire together sell', amount: sum }
  const blocked = orders.length > 1 ? neverText(strategy, together, view) : undefined
  if (blocked !== undefined) return [blocked]
  return orders.flatMap((order) => nowText(strategy, order, view) ?? [])
}

/** Key of a cap: `limits.perDay`, or the config's. */
export function keyOfLimit(reason: LimitReason): string {
  const name = reason.replace('limit-', '').replace('account-', '')
  const key = `limits.${name.replace(/-([a-z])/, (_, letter: string) => letter.toUpperCase())}`
  return reason.includes('account') ? `the config's ${key}` : key
}

function neverText(
  { limits }: Strategy,
  { who, asset, amount, isShare = false }: PlannedOrder,
  { account }: CapView,
): string | undefined {
  const { address } = asset.token
  const passed = CAP_NAMES.flatMap((name) => [
    { key: `limits.${name}`, cap: limits[name].get(address) },
    { key: `the config's limits.${name}`, cap: account[name].get(address) },
  ]).filter(({ cap }) => cap !== undefined && cap < amount)
  if (passed.length === 0) return undefined
  const caps = passed.map(({ key, cap = 0n }) => `${key} allows ${amountText(cap, asset)}`)
  const times = isShare ? 'with what is free now' : 'each time'
  return `${who} ${amountText(amount, asset)} and would be skipped ${times}: ${listed(caps)}. Raise ${caps.length === 1 ? 'it' : 'them'}, or sell less`
}

/** Why an order that fits its caps is blocked now; undefined if it is not. */
function nowText(strategy: Strategy, order: PlannedOrder, view: CapView): string | undefined {
  const { name, limits } = strategy
  const { state, account, nowMs } = view
  const { who, asset, amount } = order
  const { token } = asset
  const query = { strategy: name, token, amount: amount as BaseUnits, nowMs, limits, account }
  const hit = limitHit(state, query)
  const begins = `${who} ${amountText(amount, asset)} and would be skipped now`
  if (hit !== undefined)
    return `${begins} by ${keyOfLimit(hit.reason)}: ${formatBrief(hit.used, token.decimals)} of ${amountText(hit.cap, asset)} is used`
  const free = view.free(asset)
  if (free === undefined || free >= amount) return undefined
  return `${begins}: ${amountText(maxOf(free, 0n), asset)} is free`
}

function amountText(amount: bigint, asset: Asset): string {
  return briefText(amount, shownToken(asset))
}

function listed(texts: readonly string[]): string {
  return texts.length < 3
    ? texts.join(' and ')
    : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}
