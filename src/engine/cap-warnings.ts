import { type LimitHit, limitHit } from '../domain/book/limits.ts'
import type { DaemonState } from '../domain/book/state.ts'
import type { LimitReason } from '../domain/reason.ts'
import type { Strategy, ThresholdStrategy } from '../domain/strategy.ts'
import { type Asset, ETHER, type Token } from '../domain/token.ts'
import { type BaseUnits, BPS, formatBrief, maxOf, mulDivDown } from '../domain/units.ts'
import { unmetBy } from '../domain/unmet.ts'
import { dcaBound, type SpendView } from './spend.ts'

/** Caps in the order of a file's `limits`. */
const CAPS = ['perOrder', 'perHour', 'perDay', 'perWeek', 'total'] as const

/** An order that a strategy is there to make, as much as can be known of it before it is due. */
type Order = {
  /** Subject of a sentence. */
  readonly who: string
  readonly asset: Asset
  readonly amount: bigint
  /** Whether it is a share of what the wallet has free, which another day may be less. */
  readonly isShare?: boolean
}

type CapView = Pick<SpendView, 'account' | 'priceOf'> & {
  readonly state: DaemonState
  readonly nowMs: number
  /** Free base units of what is sold. */
  readonly free: (asset: Asset) => bigint | undefined
}

/**
 * Orders that would be skipped when they are due, a sentence each: those larger than a cap of their strategy or of the config
 * can never be made, whatever the price does; of a schedule that asks for more than its limits allow some are skipped; those
 * that wait for a price would also be skipped by what is used of a cap now, or by a balance that does not cover them.
 */
export function capWarnings(strategy: Strategy, view: CapView): readonly string[] {
  const orders = ordersOf(strategy, view)
  const never = orders.flatMap((order) => neverText(strategy, order, view) ?? [])
  if (never.length > 0) return never
  const [first] = orders
  if (strategy.kind !== 'threshold' || first === undefined)
    return unmetBy(strategy, view.account).map(({ message }) => message)
  const sum = orders.reduce((total, { amount }) => total + amount, 0n)
  const together = { ...first, who: 'rungs that fire together sell', amount: sum }
  const barred = orders.length > 1 ? neverText(strategy, together, view) : undefined
  if (barred !== undefined) return [barred]
  return orders.flatMap((order) => nowText(strategy, order, view) ?? [])
}

/** Where the operator's files say a cap: `limits.perDay`, or the same of the config. */
export function keyOfLimit(reason: LimitReason): string {
  const name = reason.replace('limit-', '').replace('account-', '')
  const key = `limits.${name.replace(/-([a-z])/, (_, letter: string) => letter.toUpperCase())}`
  return reason.includes('account') ? `the config's ${key}` : key
}

function neverText(
  { limits }: Strategy,
  { who, asset, amount, isShare = false }: Order,
  { account }: CapView,
): string | undefined {
  const { address } = asset.token
  const passed = CAPS.flatMap((name) => [
    { key: `limits.${name}`, cap: limits[name].get(address) },
    { key: `the config's limits.${name}`, cap: account[name].get(address) },
  ]).filter(({ cap }) => cap !== undefined && cap < amount)
  if (passed.length === 0) return undefined
  const caps = passed.map(({ key, cap = 0n }) => `${key} allows ${amountText(cap, asset)}`)
  const times = isShare ? 'with what is free now' : 'each time'
  return `${who} ${amountText(amount, asset)} and would be skipped ${times}: ${listed(caps)}. Raise ${caps.length === 1 ? 'it' : 'them'}, or sell less`
}

/** Of an order that fits its caps, what is in its way at this moment. */
function nowText(strategy: Strategy, order: Order, view: CapView): string | undefined {
  const { name, limits } = strategy
  const { state, account, nowMs } = view
  const { who, asset, amount } = order
  const { token } = asset
  const query = { strategy: name, token, amount: amount as BaseUnits, nowMs, limits, account }
  const hit = limitHit(state, query)
  const begins = `${who} ${amountText(amount, asset)} and would be skipped now`
  if (hit !== undefined) return `${begins} by ${keyOfLimit(hit.reason)}: ${usedText(hit, asset)}`
  const free = view.free(asset)
  if (free === undefined || free >= amount) return undefined
  return `${begins}: ${amountText(maxOf(free, 0n), asset)} is free`
}

function usedText({ used, cap }: LimitHit, asset: Asset): string {
  return `${formatBrief(used, asset.token.decimals)} of ${amountText(cap, asset)} is used`
}

function ordersOf(strategy: Strategy, view: CapView): readonly Order[] {
  switch (strategy.kind) {
    case 'dca': {
      const amount = dcaBound(strategy, view)
      const usual = dcaBound({ ...strategy, dips: [] }, view)
      if (amount === undefined || usual === undefined) return []
      const { sell: asset } = strategy
      const each = { who: 'an order sells up to', asset, amount: usual }
      return amount === usual ? [each] : [each, { ...each, who: 'on a dip it sells up to', amount }]
    }
    case 'call': {
      const asset = { token: ETHER, native: false }
      return [{ who: 'a call carries', asset, amount: strategy.value }]
    }
    case 'threshold':
      return rungOrders(strategy, view)
    // What they sell is cut to their caps.
    case 'twap':
    case 'rebalance':
    case 'custom':
      return []
  }
}

/** Each rung by itself; where a share is sold, of what is free now. */
function rungOrders({ rungs, sell: asset }: ThresholdStrategy, view: CapView): readonly Order[] {
  const free = view.free(asset)
  return rungs.flatMap(({ id, size }) => {
    const amount =
      size.type === 'amount'
        ? size.amount
        : free && mulDivDown(maxOf(free, 0n), BigInt(size.bps), BPS)
    if (amount === undefined || amount === 0n) return []
    return [{ who: `rung ${id} sells`, asset, amount, isShare: size.type === 'share' }]
  })
}

function amountText(amount: bigint, { token, native }: Asset): string {
  const shown: Token = native ? ETHER : token
  return `${formatBrief(amount, shown.decimals)} ${shown.symbol}`
}

function listed(texts: readonly string[]): string {
  return texts.length < 3
    ? texts.join(' and ')
    : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}
