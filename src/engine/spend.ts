import { mostToSell } from '../decide/swap.ts'
import { unsoldOf } from '../decide/twap.ts'
import { DAY_MS, HOUR_MS, WEEK_MS } from '../domain/book/limits.ts'
import { NO_MEMORY } from '../domain/book/memory.ts'
import type { Outgoing, OutgoingCap } from '../domain/book/runway.ts'
import type { StrategyRecord } from '../domain/book/state.ts'
import { assertNever } from '../domain/errors.ts'
import type { Schedule } from '../domain/schedule/schedule.ts'
import type { AccountLimits } from '../domain/settings.ts'
import {
  assetsOf,
  type DcaStrategy,
  type SpendingCaps,
  type Strategy,
  type TwapStrategy,
} from '../domain/strategy.ts'
import { type Asset, ETHER, type Token } from '../domain/token.ts'
import { maxOf, minOf, mulDivUp, type Ratio } from '../domain/units.ts'
import { mostSlotsInDay, slotsAhead } from './slots-ahead.ts'

/** The most that a strategy may sell of a token in any 24 hours, and what sets that bound. */
export type WorstCase = {
  readonly asset: Asset
  /** Base units; undefined where nothing bounds it. */
  readonly amount: bigint | undefined
  readonly boundBy: string
  /** What is sold of it at each slot, for as long as there is any; undefined where that waits for a price, or nothing bounds it. */
  readonly outgoing: Outgoing | undefined
}

/** What the worst case depends on beside the files. Undefined where it is not known. */
export type SpendView = {
  readonly nowSeconds: number
  /** As its slots come from now on. */
  readonly schedule: Schedule
  readonly account: AccountLimits
  /** What the journal has of the strategy. */
  readonly record: Pick<StrategyRecord, 'memory' | 'spent'> | undefined
  /** Base units that count against a cap in total by now: of the strategy, or of the whole account. */
  readonly usedInTotal: (token: Token, of: 'strategy' | 'account') => bigint
  /** Caps of the whole account, one for all that they bound. */
  readonly shared: (token: Token) => readonly OutgoingCap[]
  /** Base units that the wallet holds. */
  readonly held: (asset: Asset) => bigint | undefined
  /** Sell base units per buy base unit. */
  readonly priceOf: (sell: Token, buy: Token) => Ratio | undefined
}

/** One entry for each asset that the strategy may sell. */
export function worstCases(strategy: Strategy, view: SpendView): readonly WorstCase[] {
  const slots = attendedInDay(strategy, view)
  return soldBy(strategy).map((asset) => {
    const { token } = asset
    const order = orderBound(strategy, token, view)
    const bounds: (readonly [string, bigint | undefined])[] = [
      [slotsText(slots), order === undefined ? undefined : order * BigInt(slots)],
      ['what is left of its total', leftOf(strategy, view)],
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
    const outgoing = outgoingOf(strategy, { token, order, view })
    return { asset, ...tightest(bounds), outgoing }
  })
}

function slotsText(slots: number): string {
  return slots === 1 ? '1 slot a day' : `${slots} slots a day`
}

/** A cooldown leaves room for no more than one after each of its length. */
function attendedInDay({ limits }: Strategy, { schedule, nowSeconds }: SpendView): number {
  const slots = mostSlotsInDay(schedule, nowSeconds)
  if (limits.cooldownMs === 0) return slots
  return Math.min(slots, Math.ceil(DAY_MS / limits.cooldownMs))
}

function capBounds(
  caps: SpendingCaps,
  { address }: Token,
  { of, used }: { readonly of: string; readonly used: bigint },
): readonly (readonly [string, bigint | undefined])[] {
  const hourly = caps.perHour.get(address)
  return [
    [`${of}perHour`, hourly === undefined ? undefined : hourly * BigInt(DAY_MS / HOUR_MS)],
    [`${of}perDay`, caps.perDay.get(address)],
    [`${of}perWeek`, caps.perWeek.get(address)],
    [`${of}total`, leftUnder(caps.total.get(address), used)],
  ]
}

function leftUnder(cap: bigint | undefined, used: bigint): bigint | undefined {
  return cap === undefined ? undefined : maxOf(0n, cap - used)
}

function tightest(
  bounds: readonly (readonly [string, bigint | undefined])[],
): Pick<WorstCase, 'amount' | 'boundBy'> {
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
 * What the strategy's slots pay, with its caps. What waits for a price pays by no clock; what sells as much as its module or
 * its weights say may take all that a cap leaves it at any slot.
 */
function outgoingOf(
  strategy: Strategy,
  { token, order, view }: { token: Token; order: bigint | undefined; view: SpendView },
): Outgoing | undefined {
  if (strategy.kind === 'threshold') return undefined
  const { nowSeconds, schedule } = view
  const used = view.usedInTotal(token, 'strategy')
  const caps = [...capsOf(strategy.limits, token, used), ...view.shared(token)]
  const { cooldownMs } = strategy.limits
  const ahead = slotsAhead(schedule, { nowSeconds, cooldownMs })
  if (strategy.kind === 'twap') {
    const left = leftOf(strategy, view) ?? 0n
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

/** Caps of a token as windows, of the total what is not used yet. */
export function capsOf(
  limits: SpendingCaps,
  { address }: Token,
  usedInTotal: bigint,
): readonly OutgoingCap[] {
  const windows = [
    [limits.perHour, HOUR_MS / 1000],
    [limits.perDay, DAY_MS / 1000],
    [limits.perWeek, WEEK_MS / 1000],
    [limits.total, Number.POSITIVE_INFINITY],
  ] as const
  return windows.flatMap(([caps, withinSeconds]) => {
    const cap = caps.get(address)
    if (cap === undefined) return []
    const used = caps === limits.total ? usedInTotal : 0n
    return [{ amount: maxOf(0n, cap - used), withinSeconds }]
  })
}

/** Tokens that a strategy may sell; of ETH the token that stands for it. */
export function soldTokens(strategy: Strategy): readonly Token[] {
  return [...new Set(soldBy(strategy).map(({ token }) => token))]
}

function soldBy(strategy: Strategy): readonly Asset[] {
  switch (strategy.kind) {
    case 'dca':
    case 'threshold':
    case 'twap':
      return [strategy.sell]
    case 'call':
      return strategy.value === 0n ? [] : [{ token: ETHER, native: false }]
    case 'rebalance':
    case 'custom':
      return [...new Map(assetsOf(strategy).map((asset) => [keyOf(asset), asset])).values()]
    default:
      return assertNever(strategy)
  }
}

function keyOf({ token, native }: Asset): string {
  return `${token.address}${native ? ' native' : ''}`
}

/** The most that one slot sells, by what its kind decides and the caps of an order. */
function orderBound(strategy: Strategy, token: Token, view: SpendView): bigint | undefined {
  const decided = decidedBound(strategy, view)
  const own = strategy.limits.perOrder.get(token.address)
  const account = view.account.perOrder.get(token.address)
  return least([decided, own, account].filter((bound) => bound !== undefined))
}

function decidedBound(strategy: Strategy, view: SpendView): bigint | undefined {
  switch (strategy.kind) {
    case 'dca':
      return dcaBound(strategy, view)
    case 'twap':
      return sliceBound(strategy, view)
    case 'call':
      return strategy.value
    case 'threshold': {
      let sum = 0n
      for (const { size } of strategy.rungs) {
        if (size.type === 'share') return undefined
        sum += size.amount
      }
      return sum
    }
    case 'rebalance':
    case 'custom':
      return undefined
    default:
      return assertNever(strategy)
  }
}

/** What a program may still sell in all; undefined for what has no end. One that was not seen yet has all of it left. */
function leftOf(strategy: Strategy, { record }: Pick<SpendView, 'record'>): bigint | undefined {
  if (strategy.kind !== 'twap') return undefined
  const { memory = NO_MEMORY, spent } = record ?? {}
  return unsoldOf(strategy, { memory, spent: spent?.get(strategy.sell.token.address) ?? 0n })
}

/** Slices that take over what others missed may come to all that is left; dropped ones leave the others as they are. */
function sliceBound(strategy: TwapStrategy, view: SpendView): bigint {
  const left = leftOf(strategy, view) ?? 0n
  const { schedule, total, unsold } = strategy
  if (unsold === 'spread' || schedule.type !== 'interval') return left
  return minOf(left, mulDivUp(total, 1n, BigInt(schedule.count)))
}

/** The most that one slot of a DCA strategy sells; undefined where that hangs on a price that is not known. */
export function dcaBound(
  strategy: DcaStrategy,
  view: Pick<SpendView, 'priceOf'>,
): bigint | undefined {
  const { size, dips, price, sell, buy } = strategy
  const ratio = price.max ?? view.priceOf(sell.token, buy.token)
  if (size.side === 'buy' && ratio === undefined) return undefined
  const bounds = [size.amount, ...dips.map(({ amount }) => amount)].map((amount) =>
    mostToSell(strategy, { ...size, amount }, ratio ?? { num: 1n, den: 1n }),
  )
  return bounds.reduce<bigint>(maxOf, 0n)
}
