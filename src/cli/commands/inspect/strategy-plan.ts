import { briefText } from '../../../domain/money/amount-text.ts'
import { createPricePaths, pricesAt } from '../../../domain/money/price.ts'
import type { Asset, Token } from '../../../domain/money/token.ts'
import { type Address, formatBrief, minOf, ZERO_ADDRESS } from '../../../domain/money/units.ts'
import { scheduleWarnings, slotsBetween } from '../../../domain/schedule/calendar.ts'
import type { Schedule } from '../../../domain/schedule/schedule.ts'
import type { Settings } from '../../../domain/settings.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { implausibleNow, termsOfPrices } from '../../../engine/limits/hold.ts'
import { freeOf, heldOf } from '../../../engine/market-snapshot.ts'
import { type ConsiderInput, considerWithModule } from '../../../engine/slot.ts'
import { freesInTimeMs } from '../../../engine/waiting.ts'
import { type LimitHit, usedInTotal } from '../../../journal/projections/limits.ts'
import { purchaseOf } from '../../../journal/projections/purchases.ts'
import type { OutgoingCap } from '../../../journal/projections/runway.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import type { Modules } from '../../../ports.ts'
import { NO_PROGRESS } from '../../../strategies/kind.ts'
import { kindOf, readsMarket, type Strategy } from '../../../strategies/registry.ts'
import { isFinished, scheduleAhead } from '../../../strategies/spending/slots-ahead.ts'
import { capWarnings, keyOfLimit } from '../../../strategies/spending/unmet.ts'
import { capsOf, worstCases } from '../../../strategies/spending/worst-case.ts'
import { projectionOf } from '../../../venues/projections.ts'
import type { AmountData } from '../../json/shapes.ts'
import type { Market } from '../../market.ts'
import { amountData, describeSchedule } from '../../text/amount-data.ts'

const YEAR_SECONDS = 366 * 86_400

export type PlanInput = {
  readonly settings: Pick<Settings, 'mode' | 'limits' | 'prices'>
  readonly state: DaemonState
  readonly market: Market
  readonly nowMs: number
  readonly slots: number
  readonly modules: Modules
  readonly shared: (token: Token) => readonly OutgoingCap[]
}

export type Plan = Awaited<ReturnType<typeof planOf>>

export async function planOf(strategy: Strategy, input: PlanInput) {
  const { state, nowMs, settings, market } = input
  const { mode, limits: account } = settings
  const { name } = strategy
  const kind = kindOf(strategy)
  const nowSeconds = Math.floor(nowMs / 1000)
  const schedule = scheduleAhead(state, strategy, nowSeconds)
  const record = state.strategies.get(name)
  const after = Math.max(nowSeconds, record?.lastSlotSeconds ?? 0)
  const { slots } = slotsBetween(schedule, after, after + 10 * YEAR_SECONDS, input.slots)
  const pricePath = createPricePaths(settings.prices.values())
  const view = market.ok ? market.view : undefined
  const slot: ConsiderInput = {
    mode,
    pricePath,
    account,
    state,
    owner: market.ok ? market.owner : ZERO_ADDRESS,
    caller: ZERO_ADDRESS,
    strategy,
    // A slice is a share of the rest, which depends on the slices from its slot on.
    slotSeconds: (schedule.type === 'cron' ? undefined : slots[0]) ?? nowSeconds,
    view,
    nowMs,
    terms: termsOfPrices(strategy, input.modules.versionOf, pricePath),
  }
  const priceOf = view === undefined ? () => undefined : pricesAt(pricePath, view)
  // Includes a dry-run's paper trades. Another wallet's ether is unknown here.
  const held = (asset: Asset) => view && heldOf(slot, view, asset)
  // Shares refer to purchases of the strategy in `entryOf`, or else to all free funds.
  const entry = kind.entry(strategy)
  const bought = entry?.isAllShares ? purchaseOf(state, entry.of, entry).amount : undefined
  const free = (asset: Asset): bigint | undefined => {
    const all = held(asset)
    if (all === undefined) return undefined
    const unbound = freeOf(slot, all, asset)
    return bought === undefined ? unbound : minOf(unbound, bought)
  }
  // Bounds that look like a mistake at current prices.
  const implausible = view && implausibleNow(strategy, slot, view)
  return {
    name,
    enabled: strategy.enabled,
    finished: isFinished(state, strategy),
    does: kind.describe(strategy),
    schedule: describeSchedule(schedule),
    timezone: schedule.type === 'cron' ? schedule.timezone : 'UTC',
    next: slots.map((slotSeconds) => ({ slotSeconds, inSeconds: slotSeconds - nowSeconds })),
    now:
      market.ok || !readsMarket(strategy)
        ? await decisionNow(slot, schedule, input.modules)
        : { does: `unknown: ${market.why}`, sells: [] },
    mostPerDay: worstCases(strategy, {
      nowSeconds,
      schedule,
      account,
      priceOf,
      progress: record ?? NO_PROGRESS,
      shared: input.shared,
      held,
      usedInTotal: ({ address: token }, of) =>
        usedInTotal(state, { token, strategy: of === 'account' ? undefined : name }),
    }),
    /** True if it waits for a price, so that no schedule tells its sales. */
    waitsForPrice: kind.trigger !== undefined,
    warnings: [
      ...(implausible === undefined ? [] : [implausible]),
      ...capWarnings(strategy, { account, priceOf, state, nowMs, free }),
    ],
    notes: [...beginning(strategy, schedule, state), ...scheduleWarnings(schedule, nowSeconds)],
  }
}

/** Notes a TWAP schedule that counts from its first start, before that start. */
function beginning(
  { schedule: own, name }: Strategy,
  ahead: Schedule,
  state: DaemonState,
): readonly string[] {
  if (own.type === 'cron' || own.startSeconds !== undefined || ahead.type === 'cron') return []
  const from = state.strategies.get(name)?.anchor.fromSeconds
  if (from !== undefined && from + 1 === ahead.startSeconds) return []
  return [
    'no daemon has loaded it yet: its slices begin when one does; here they are counted from now',
  ]
}

/** Caps shared by all strategies: one strategy's spending reduces the others'. */
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

async function decisionNow(
  slot: ConsiderInput,
  schedule: Schedule,
  modules: Modules,
): Promise<{ readonly does: string; readonly sells: readonly AmountData[] }> {
  const { decision } = await considerWithModule(slot, modules)
  if (decision.tag === 'trade') {
    const { intents } = decision
    return {
      does: intents.map((intent) => projectionOf(intent).describe(intent, briefText)).join('; '),
      sells: intents.map((intent) => {
        const { amount, shown } = projectionOf(intent).mostOf(intent)
        return amountData(amount, shown)
      }),
    }
  }
  const { reason, detail, hit } = decision
  const freesAtMs = hit?.freesAtMs ?? decision.freesAtMs
  const waits = freesInTimeMs({ ...slot, schedule }, freesAtMs) !== undefined
  const does =
    hit === undefined
      ? `${waits ? 'wait' : 'skip'}: ${reason}, ${detail}`
      : `${waits ? 'would wait for' : 'would be skipped by'} ${limitText(hit, slot.nowMs)}`
  return { does, sells: [] }
}

function limitText(
  { reason, requested, used, cap, token, freesAtMs }: LimitHit,
  nowMs: number,
): string {
  const text = (amount: bigint): string => formatBrief(amount, token.decimals)
  const again =
    freesAtMs === undefined ? '' : `; there is room again in ${durationText(freesAtMs - nowMs)}`
  return `${keyOfLimit(reason)}: ${text(requested)} ${token.symbol} asked, ${text(used)} of ${text(cap)} used${again}`
}
