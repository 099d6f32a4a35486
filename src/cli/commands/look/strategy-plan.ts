import { usedInTotal } from '../../../domain/book/limits.ts'
import { purchaseOf } from '../../../domain/book/purchases.ts'
import type { OutgoingCap } from '../../../domain/book/runway.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { acceptPath, createPricePaths } from '../../../domain/price.ts'
import { scheduleWarnings, slotsBetween } from '../../../domain/schedule/calendar.ts'
import type { Schedule } from '../../../domain/schedule/schedule.ts'
import type { Settings } from '../../../domain/settings.ts'
import { readsMarket, type Strategy } from '../../../domain/strategy.ts'
import type { Asset, Token } from '../../../domain/token.ts'
import { type Address, minOf, type Ratio, ZERO_ADDRESS } from '../../../domain/units.ts'
import { capWarnings } from '../../../engine/cap-warnings.ts'
import { implausibleNow, termsOfPrices } from '../../../engine/hold.ts'
import { considerAsking } from '../../../engine/slot.ts'
import { scheduleAhead } from '../../../engine/slots-ahead.ts'
import { capsOf, worstCases } from '../../../engine/spend.ts'
import { freeOf, heldOf } from '../../../engine/view.ts'
import { freesInTimeMs } from '../../../engine/waiting.ts'
import type { Modules } from '../../../ports.ts'
import { describeSchedule, describeStrategy } from '../../describe.ts'
import type { Market } from '../../market.ts'
import { decisionWords } from './plan-words.ts'

const YEAR_SECONDS = 366 * 86_400

export type PlanInput = {
  readonly settings: Pick<Settings, 'mode' | 'limits' | 'prices'>
  readonly state: DaemonState
  readonly market: Market
  readonly nowMs: number
  /** Slots that are shown. */
  readonly slots: number
  readonly modules: Modules
  /** Caps of the config, one for all strategies that they bound together. */
  readonly shared: (token: Token) => readonly OutgoingCap[]
}

/** What is known of one strategy's time ahead. */
export type Plan = Awaited<ReturnType<typeof planOf>>

export async function planOf(strategy: Strategy, input: PlanInput) {
  const { state, nowMs, settings } = input
  const nowSeconds = Math.floor(nowMs / 1000)
  const schedule = scheduleAhead(state, strategy, nowSeconds)
  const record = state.strategies.get(strategy.name)
  const after = Math.max(nowSeconds, record?.lastSlotSeconds ?? 0)
  const { slots } = slotsBetween(schedule, after, after + 10 * YEAR_SECONDS, input.slots)
  const timezone = schedule.type === 'cron' ? schedule.timezone : 'UTC'
  const priceOf = (sell: Token, buy: Token): Ratio | undefined => priceNow(input, sell, buy)
  const { limits: account } = settings
  const { name } = strategy
  const bought = boughtFor(strategy, state)
  const free = (asset: Asset): bigint | undefined => {
    const held = heldNow(input, asset)
    if (held === undefined) return undefined
    const unbound = freeOf({ state }, held, asset)
    return bought === undefined ? unbound : minOf(unbound, bought)
  }
  return {
    name,
    enabled: strategy.enabled,
    does: describeStrategy(strategy),
    schedule: describeSchedule(schedule),
    timezone,
    next: slots.map((slotSeconds) => ({ slotSeconds, inSeconds: slotSeconds - nowSeconds })),
    now: await decisionNow(strategy, input),
    mostPerDay: worstCases(strategy, {
      ...{ nowSeconds, schedule, account, record, priceOf },
      shared: input.shared,
      held: (asset) => heldNow(input, asset),
      usedInTotal: ({ address: token }, of) =>
        usedInTotal(state, { token, strategy: of === 'account' ? undefined : name }),
    }),
    /** Whether it waits for a price, so that what it sells follows from no clock. */
    waitsForPrice: strategy.kind === 'threshold',
    warnings: [
      ...implausibleIn(strategy, input),
      ...capWarnings(strategy, { account, priceOf, state, nowMs, free }),
    ],
    notes: [...beginning(strategy, schedule, state), ...scheduleWarnings(schedule, nowSeconds)],
  }
}

/** Bounds that look like a mistake by the price of now, before a daemon takes them for meant. */
function implausibleIn(strategy: Strategy, input: PlanInput): readonly string[] {
  const { settings, state, market, modules } = input
  if (!market.ok) return []
  const view = { ...contextOf(settings, state), owner: market.owner }
  const context = { ...view, terms: termsOfPrices(strategy, modules.versionOf, view.pricePath) }
  return [implausibleNow(strategy, context, market.view) ?? []].flat()
}

function contextOf({ mode, prices, limits }: PlanInput['settings'], state: DaemonState) {
  return { mode, pricePath: createPricePaths(prices.values()), account: limits, state }
}

/** A program whose slices count from when it is first seen, and which nobody has seen yet. */
function beginning(
  { schedule: own, name }: Strategy,
  ahead: Schedule,
  state: DaemonState,
): readonly string[] {
  if (own.type === 'cron' || own.startSeconds !== undefined || ahead.type === 'cron') return []
  const from = state.strategies.get(name)?.anchor.fromSeconds
  if (from !== undefined && from + 1 === ahead.startSeconds) return []
  return ['no daemon has seen it yet: its slices are counted from now, and begin when one does']
}

/** What the next slot would do if it came now. */
async function decisionNow(strategy: Strategy, input: PlanInput) {
  const { settings, state, market, nowMs, modules } = input
  if (readsMarket(strategy) && !market.ok) return { does: `unknown: ${market.why}`, sells: [] }
  const context = contextOf(settings, state)
  const slot = {
    ...context,
    owner: market.ok ? market.owner : ZERO_ADDRESS,
    caller: ZERO_ADDRESS,
    strategy,
    slotSeconds: Math.floor(nowMs / 1000),
    view: market.ok ? market.view : undefined,
    nowMs,
    terms: termsOfPrices(strategy, modules.versionOf, context.pricePath),
  }
  const { decision } = await considerAsking(slot, modules)
  const at = { ...slot, schedule: scheduleAhead(state, strategy, slot.slotSeconds) }
  const freesInTime = (freesAtMs: number | undefined): boolean =>
    freesInTimeMs(at, freesAtMs) !== undefined
  return decisionWords(decision, { nowMs, freesInTime })
}

/** Shares are of what the strategy that `entryOf` names has bought and not sold; undefined where they are of all that is free. */
function boughtFor(strategy: Strategy, state: DaemonState): bigint | undefined {
  if (strategy.kind !== 'threshold' || strategy.entryOf === undefined) return undefined
  if (strategy.rungs.some(({ size }) => size.type !== 'share')) return undefined
  const { base: bought, quote: paidIn } = strategy.watch
  return purchaseOf(state, strategy.entryOf, { bought, paidIn }).amount
}

/** What the wallet holds, with what a dry-run traded on paper. Another wallet's ether is not known here. */
function heldNow({ settings, state, market }: PlanInput, asset: Asset): bigint | undefined {
  if (!market.ok) return undefined
  return heldOf({ mode: settings.mode, state }, market.view, asset)
}

function priceNow({ settings, market }: PlanInput, sell: Token, buy: Token): Ratio | undefined {
  if (!market.ok) return undefined
  const path = createPricePaths(settings.prices.values())(sell, buy)
  const answer = acceptPath(path, market.view.readings, market.view.blockTimeSeconds)
  return answer.ok ? answer.price.ratio : undefined
}

/** The same caps for whoever asks, so that what one strategy takes of them is missing to the others. */
export function sharedCaps(
  { limits }: Pick<Settings, 'limits'>,
  state: DaemonState,
): PlanInput['shared'] {
  const known = new Map<Address, readonly OutgoingCap[]>()
  return (token) => {
    const { address } = token
    const used = usedInTotal(state, { token: address, strategy: undefined })
    const caps = known.get(address) ?? capsOf(limits, token, used)
    known.set(address, caps)
    return caps
  }
}
