import { DAY_MS, WINDOWS } from '../../domain/cap-windows.ts'
import type { Asset, Token } from '../../domain/money/token.ts'
import { maxOf, minOf, mulDivUp } from '../../domain/money/units.ts'
import type { Schedule } from '../../domain/schedule/schedule.ts'
import type { AccountLimits } from '../../domain/settings.ts'
import type { SpendingCaps } from '../../domain/strategy.ts'
import { grouped } from '../../domain/text/grouped.ts'
import type { Outgoing, OutgoingCap } from '../../journal/projections/runway.ts'
import { assetKey } from '../decision/decision.ts'
import type { SlotInputs } from '../kind.ts'
import { kindOf, type Strategy } from '../registry.ts'
import { mostSlotsInDay, slotsAhead } from './slots-ahead.ts'

/** Maximum that a strategy may sell of a token in any 24 hours, and the source of that bound. */
export type WorstCase = {
  readonly asset: Asset
  /** Base units; undefined if unbounded. */
  readonly amount: bigint | undefined
  readonly boundBy: string
  /** Sales at each slot; undefined if they wait for a price or are unbounded. */
  readonly outgoing: Outgoing | undefined
}

export type SpendView = SlotInputs & {
  readonly nowSeconds: number
  /** The schedule from now on. */
  readonly schedule: Schedule
  readonly account: AccountLimits
  /** Base units of a total cap that strategy or account have used so far. */
  readonly usedInTotal: (token: Token, of: 'strategy' | 'account') => bigint
  /** Caps of the account. */
  readonly shared: (token: Token) => readonly OutgoingCap[]
  readonly held: (asset: Asset) => bigint | undefined
}

/** One entry per asset that the strategy may sell. */
export function worstCases(strategy: Strategy, view: SpendView): readonly WorstCase[] {
  const kind = kindOf(strategy)
  const slots = slotsInDay(strategy, view)
  const left = kind.slicedTotal(strategy)?.unsold(view.progress)
  const sold = new Map(kind.sells(strategy).map((asset) => [assetKey(asset), asset]))
  return [...sold.values()].map((asset) => {
    const { token } = asset
    const order = orderBound(strategy, token, view)
    const bounds: (readonly [string, bigint | undefined])[] = [
      [
        slots === 1 ? '1 slot a day' : `${grouped(`${slots}`)} slots a day`,
        order === undefined ? undefined : order * BigInt(slots),
      ],
      ['the rest of its total', left],
      ...capBounds(strategy.limits, token, {
        of: 'limits.',
        used: view.usedInTotal(token, 'strategy'),
      }),
      ...capBounds(view.account, token, {
        of: "the config's limits.",
        used: view.usedInTotal(token, 'account'),
      }),
      ['what the wallet holds', view.held(asset)],
    ]
    return { asset, ...tightest(bounds), outgoing: outgoingOf(strategy, view, { token, order }) }
  })
}

function slotsInDay({ limits }: Strategy, { schedule, nowSeconds }: SpendView): number {
  const slots = mostSlotsInDay(schedule, nowSeconds)
  if (limits.cooldownMs === 0) return slots
  return Math.min(slots, Math.ceil(DAY_MS / limits.cooldownMs))
}

function capBounds(
  caps: SpendingCaps,
  { address }: Token,
  { of, used }: { readonly of: string; readonly used: bigint },
): readonly (readonly [string, bigint | undefined])[] {
  const windows = WINDOWS.map(({ cap, ms }) => {
    const most = caps[cap].get(address)
    return [`${of}${cap}`, ms < DAY_MS && most ? most * BigInt(DAY_MS / ms) : most] as const
  })
  return [...windows, [`${of}total`, leftUnder(caps.total.get(address), used)]]
}

function leftUnder(cap: bigint | undefined, used: bigint): bigint | undefined {
  return cap === undefined ? undefined : maxOf(0n, cap - used)
}

function tightest(bounds: readonly (readonly [string, bigint | undefined])[]) {
  let amount: bigint | undefined
  let boundBy = 'nothing'
  for (const [name, bound] of bounds) {
    if (bound === undefined || (amount !== undefined && bound >= amount)) continue
    amount = bound
    boundBy = name
  }
  return { amount, boundBy }
}

/**
 * Sales of the strategy's slots, with its caps. Undefined for kinds that wait for a price. Kinds without a fixed size may
 * use a whole cap.
 */
function outgoingOf(
  strategy: Strategy,
  view: SpendView,
  { token, order }: { readonly token: Token; readonly order: bigint | undefined },
): Outgoing | undefined {
  const kind = kindOf(strategy)
  if (kind.trigger !== undefined) return undefined
  const { nowSeconds, schedule } = view
  const left = kind.slicedTotal(strategy)?.unsold(view.progress)
  const used = view.usedInTotal(token, 'strategy')
  const caps = [...capsOf(strategy.limits, token, used), ...view.shared(token)]
  const { cooldownMs } = strategy.limits
  const ahead = slotsAhead(schedule, { nowSeconds, cooldownMs })
  if (left !== undefined) {
    const slots = BigInt(Math.max(1, ahead.slots.length))
    const even = mulDivUp(left, 1n, slots)
    return { ...ahead, amount: order === undefined ? even : minOf(order, even), caps }
  }
  const amount = order ?? least(caps.map((cap) => cap.amount))
  return amount === undefined ? undefined : { ...ahead, amount, caps }
}

function least(amounts: readonly bigint[]): bigint | undefined {
  const [first, ...others] = amounts
  return first === undefined ? undefined : others.reduce(minOf, first)
}

/** Caps of a token as windows; for the total cap, its unused part. */
export function capsOf(limits: SpendingCaps, { address }: Token, usedInTotal: bigint) {
  const windows = WINDOWS.map(({ cap, ms }) => [limits[cap].get(address), ms / 1000] as const)
  const total = leftUnder(limits.total.get(address), usedInTotal)
  return [...windows, [total, Number.POSITIVE_INFINITY] as const].flatMap(
    ([amount, withinSeconds]) => (amount === undefined ? [] : [{ amount, withinSeconds }]),
  )
}

/** Tokens that a strategy may sell; WETH for ETH. */
export function soldTokens(strategy: Strategy): readonly Token[] {
  const sold = kindOf(strategy).sells(strategy)
  return [...new Set(sold.map(({ token }) => token))]
}

/** Maximum that one slot sells, by its kind and the caps per order. */
function orderBound(strategy: Strategy, token: Token, view: SpendView): bigint | undefined {
  const decided = kindOf(strategy).mostPerSlot(strategy, view)
  const own = strategy.limits.perOrder.get(token.address)
  const account = view.account.perOrder.get(token.address)
  return least([decided, own, account].filter((bound) => bound !== undefined))
}
