import type { Token } from '../../domain/money/token.ts'
import { maxOf, minOf, mulDivUp } from '../../domain/money/units.ts'
import type { SwapIntent } from '../../domain/order/intent.ts'
import type { DaemonState, Purchase } from '../state/daemon-state.ts'
import type { FillAmounts } from './order-reducer.ts'

const NONE: Purchase = { amount: 0n, cost: 0n }

/** Key of a strategy's purchases of one token with another. */
export function purchaseKey(strategy: string, bought: Token, paidIn: Token): string {
  return `${strategy} ${bought.address} ${paidIn.address}`
}

/** A strategy's holdings from its own purchases; zero if it bought none or sold all. */
export function purchaseOf(
  state: DaemonState,
  strategy: string,
  { bought, paidIn }: { readonly bought: Token; readonly paidIn: Token },
): Purchase {
  return state.purchases.get(purchaseKey(strategy, bought, paidIn)) ?? NONE
}

/**
 * Books a fill. Bought tokens belong to its strategy. Tokens sold for another strategy leave that strategy's purchases at
 * average cost, rounded up. Returns what the sale took, so that a reorganisation can restore it.
 */
export function recordPurchase(
  state: DaemonState,
  { strategy, sell, buy, entry }: SwapIntent,
  { paid, received }: FillAmounts,
): Purchase | undefined {
  const key = purchaseKey(strategy, buy.token, sell.token)
  const before = state.purchases.get(key) ?? NONE
  state.purchases.set(key, { amount: before.amount + received, cost: before.cost + paid })
  if (entry === undefined) return undefined
  const sold = purchaseKey(entry.of, sell.token, entry.paidIn)
  const held = state.purchases.get(sold) ?? NONE
  const amount = minOf(held.amount, paid)
  const cost = held.amount === 0n ? 0n : mulDivUp(held.cost, amount, held.amount)
  state.purchases.set(sold, { amount: held.amount - amount, cost: held.cost - cost })
  return { amount, cost }
}

/** Undoes the booking of a fill that is gone. */
export function reversePurchase(
  state: DaemonState,
  { strategy, sell, buy, entry }: SwapIntent,
  { paid, received, taken }: FillAmounts & { readonly taken: Purchase | undefined },
): void {
  const key = purchaseKey(strategy, buy.token, sell.token)
  const { amount, cost } = state.purchases.get(key) ?? NONE
  // Some of it may have been sold meanwhile.
  const left = maxOf(0n, amount - received)
  state.purchases.set(key, { amount: left, cost: left === 0n ? 0n : maxOf(0n, cost - paid) })
  if (entry === undefined || taken === undefined) return
  const sold = purchaseKey(entry.of, sell.token, entry.paidIn)
  const held = state.purchases.get(sold) ?? NONE
  state.purchases.set(sold, { amount: held.amount + taken.amount, cost: held.cost + taken.cost })
}
