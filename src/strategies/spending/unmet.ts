import { briefText } from './amount-text.ts'
import { WINDOWS } from './book/limits.ts'
import { nextSlot } from './schedule/calendar.ts'
import { anchored, type Schedule } from './schedule/schedule.ts'
import type { AccountLimits } from './settings.ts'
import type { Caps, SpendingCaps, Strategy, TwapStrategy } from './strategy.ts'
import { ETHER, type Token } from './token.ts'
import { minOf } from './units.ts'

/** Something that a strategy's file asks for and its limits never give. */
export type Unmet = {
  /** Key of the strategy's file that it is told at. */
  readonly path: readonly string[]
  readonly message: string
  readonly expected: string
}

/** Limits of one file, and how its keys are named to somebody who reads of the strategy. */
type Limits = {
  readonly caps: SpendingCaps
  readonly keyOf: (name: string) => string
  readonly pathOf: (name: string) => readonly string[]
}

/** Monday 6 January 2025; any does, for what counts is how slots follow one another. */
const FROM_SECONDS = 1_736_121_600
/** How far a calendar is read: a week of starts, and the longest window after the last of them. */
const SECONDS_MAX = 15 * 86_400
const SLOTS_MAX = 20_000
/** The time between slots shows in the first of them. */
const GAPS_MAX = 100

/**
 * What a strategy's limits, or the account's, keep it from doing for good, by the files alone. Kinds that decide by the market when
 * to trade ask for nothing that a calendar tells.
 */
export function unmetBy(strategy: Strategy, account: AccountLimits): readonly Unmet[] {
  const asked = askedOf(strategy)
  if (asked === undefined) return []
  const own: Limits = {
    caps: strategy.limits,
    keyOf: (name) => `limits.${name}`,
    pathOf: (name) => ['limits', name],
  }
  const all: Limits = {
    caps: account,
    keyOf: (name) => `the config's limits.${name}`,
    pathOf: () => [strategy.kind === 'twap' ? 'slices' : 'schedule'],
  }
  return [own, all].flatMap((limits) => [
    ...(strategy.kind === 'twap'
      ? unsoldUnder(strategy, limits)
      : skippedUnder(strategy, asked, limits)),
    ...cooledUnder(strategy, limits),
  ])
}

/** What each slot takes. */
type Asked = { readonly token: Token; readonly amount: bigint }

/** Undefined where that, or when it does, hangs on a price. */
function askedOf(strategy: Strategy): Asked | undefined {
  if (strategy.kind === 'twap') return { token: strategy.sell.token, amount: strategy.total }
  if (strategy.kind === 'call') return { token: ETHER, amount: strategy.value }
  if (strategy.kind !== 'dca' || strategy.size.side === 'buy') return undefined
  return { token: strategy.sell.token, amount: strategy.size.amount }
}

/** Windows in which a schedule asks for more than a cap allows. */
function skippedUnder(
  { name, schedule }: Strategy,
  { token, amount }: Asked,
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
    return {
      path: pathOf(window.cap),
      message: `${name} asks for ${each} at more than ${many} in ${anyOf(window.name)}, and ${keyOf(window.cap)} of ${briefText(cap, token)} skips the others`,
      expected: `a larger cap, a smaller amount, or at most ${many} in any ${window.name}`,
    }
  })
}

/** What the caps leave of a program's total however its slices go. */
function unsoldUnder(
  { name, schedule, total, sell: { token } }: TwapStrategy,
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

/** Slots that come before a cooldown is over. */
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

/** Whether more slots than are allowed lie within some window. */
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

/** No fewer than the slots of any window, without reading the calendar: most schedules need no more to be known as fine. */
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

function anyOf(window: string): string {
  return window === 'hour' ? 'an hour' : `a ${window}`
}
