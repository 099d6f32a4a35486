import { assetKey, availableOf, type MarketView, pairKey } from '../decide/decision.ts'
import type { DecisionInputs, PriceInput } from '../domain/book/journal.ts'
import { livePermits, usedInTotal } from '../domain/book/limits.ts'
import { NO_MEMORY } from '../domain/book/memory.ts'
import { purchaseOf } from '../domain/book/purchases.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { openSwaps, promisedBy } from '../domain/book/swaps.ts'
import { acceptPath, type PairPriceAnswer, type PriceFeed } from '../domain/price.ts'
import {
  anchored,
  type Schedule,
  type SlotSeconds,
  scheduleKey,
} from '../domain/schedule/schedule.ts'
import type { AccountLimits } from '../domain/settings.ts'
import {
  assetsOf,
  pairsOf,
  type Strategy,
  type SwapStrategy,
  type TokenPair,
} from '../domain/strategy.ts'
import { type Asset, NATIVE_TOKEN, type Token } from '../domain/token.ts'
import { type Address, type BaseUnits, baseUnits, minOf } from '../domain/units.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'

/** ETH that a strategy selling ETH leaves in the wallet for gas, in wei. */
export const GAS_RESERVE_WEI = 10n ** 15n

/** What the view of the market is made of, beside the chain's answers. */
export type ViewContext = Pick<OrderContext, 'mode' | 'pricePath' | 'account'> & {
  readonly state: DaemonState
  readonly owner: MarketView['owner']
}

/** Tokens whose balances, and pairs whose prices, something depends on. */
export type Wanted = { readonly tokens: readonly Token[]; readonly pairs: readonly TokenPair[] }

/** What the decisions of some strategies depend on. */
export function wantedBy(strategies: readonly Strategy[]): Wanted {
  const tokens = strategies.flatMap(assetsOf).map(({ token }) => [token.address, token] as const)
  return { tokens: [...new Map(tokens).values()], pairs: strategies.flatMap(pairsOf) }
}

/** Tokens and feeds that one batched read asks for. */
export function marketOf(
  { tokens, pairs }: Wanted,
  pricePath: OrderContext['pricePath'],
): { readonly tokens: readonly Token[]; readonly feeds: readonly PriceFeed[] } {
  const feeds = pairs
    .flatMap(({ sell, buy }) => pricePath(sell, buy) ?? [])
    .map(({ feed }) => [feed.pair, feed] as const)
  return { tokens, feeds: [...new Map(feeds).values()] }
}

/** One strategy's view of a block. */
export function viewOf(
  context: ViewContext,
  chain: ChainView,
  { strategy, slotSeconds }: { readonly strategy: SwapStrategy; readonly slotSeconds: SlotSeconds },
): MarketView {
  const { state, owner, pricePath } = context
  const record = state.strategies.get(strategy.name)
  const available = new Map<Address, bigint>()
  const held = new Map<Address, bigint>()
  for (const asset of assetsOf(strategy)) {
    const amount = heldOf(context, chain, asset)
    if (amount === undefined) continue
    held.set(assetKey(asset), amount)
    available.set(assetKey(asset), freeOf(context, amount, asset))
  }
  const prices = new Map<string, PairPriceAnswer>()
  for (const { sell, buy } of pairsOf(strategy)) {
    const answer = acceptPath(pricePath(sell, buy), chain.readings, chain.blockTimeSeconds)
    prices.set(pairKey(sell, buy), answer)
  }
  const spent = new Map<Address, BaseUnits>()
  const promised = new Map<Address, BaseUnits>()
  for (const { token } of assetsOf(strategy)) {
    const used = record?.spent.get(token.address) ?? 0n
    const inFlight = promisedBy(state, token, strategy.name)
    promised.set(token.address, baseUnits(inFlight))
    spent.set(token.address, baseUnits(used + inFlight))
  }
  return {
    slotSeconds,
    nowSeconds: chain.blockTimeSeconds,
    startSeconds: startOf(scheduleOf(state, strategy)),
    owner,
    available,
    held,
    prices,
    orderCaps: orderCapsOf(state, strategy, context.account),
    memory: record?.memory ?? NO_MEMORY,
    spent,
    promised,
    ...entryOf(state, strategy),
  }
}

function entryOf(state: DaemonState, strategy: SwapStrategy): Pick<MarketView, 'entry'> {
  if (strategy.kind !== 'threshold' || strategy.entryOf === undefined) return {}
  const { base: bought, quote: paidIn } = strategy.watch
  return { entry: purchaseOf(state, strategy.entryOf, { bought, paidIn }) }
}

/** Of what is left in total nothing is left out: where that is nothing, the cap itself says so. */
function orderCapsOf(
  state: DaemonState,
  { name, limits }: Strategy,
  account: AccountLimits,
): ReadonlyMap<Address, BaseUnits> {
  const least = new Map<Address, BaseUnits>()
  const cut = (token: Address, cap: bigint): void => {
    least.set(token, baseUnits(minOf(cap, least.get(token) ?? cap)))
  }
  for (const { caps, strategy } of [
    { caps: limits, strategy: name },
    { caps: account, strategy: undefined },
  ]) {
    for (const each of [caps.perOrder, caps.perHour, caps.perDay, caps.perWeek])
      for (const [token, cap] of each) cut(token, cap)
    for (const [token, cap] of caps.total) {
      const left = cap - usedInTotal(state, { token, strategy })
      if (left > 0n) cut(token, left)
    }
  }
  return least
}

/** A strategy's schedule with its first slot, where the journal knows it. The anchor of another schedule says nothing of it. */
export function scheduleOf(state: DaemonState, { name, schedule }: Strategy): Schedule {
  const anchor = state.strategies.get(name)?.anchor
  return anchor?.scheduleKey !== scheduleKey(schedule)
    ? schedule
    : anchored(schedule, anchor.fromSeconds + 1)
}

function startOf(schedule: Schedule): number | undefined {
  return schedule.type === 'interval' ? schedule.startSeconds : undefined
}

/** A view as the journal keeps it, so that `why` can show every input of a decision. */
export function inputsOf(
  strategy: SwapStrategy,
  view: MarketView,
  chain: ChainView,
): DecisionInputs {
  const symbols = assetsOf(strategy).flatMap((asset): [string, bigint][] => {
    const free = availableOf(view, asset)
    return free === undefined ? [] : [[asset.native ? 'ETH' : asset.token.symbol, free]]
  })
  const prices = [...view.prices].map(([pair, answer]): [string, PriceInput] => [
    pair,
    priceInput(answer),
  ])
  return {
    blockNumber: chain.blockNumber,
    blockTimeSeconds: chain.blockTimeSeconds,
    available: Object.fromEntries(symbols),
    prices: Object.fromEntries(prices),
    memory: view.memory,
    ...entryInput(strategy, view),
  }
}

function entryInput(strategy: SwapStrategy, { entry }: MarketView): Pick<DecisionInputs, 'entry'> {
  if (strategy.kind !== 'threshold' || strategy.entryOf === undefined) return {}
  if (entry === undefined) return {}
  const { base: bought, quote: paidIn } = strategy.watch
  return { entry: { of: strategy.entryOf, bought, paidIn, ...entry } }
}

function priceInput(answer: PairPriceAnswer): PriceInput {
  if (!answer.ok) return { refused: answer.reason }
  const { ratio, updatedAtSeconds, pairs } = answer.price
  return { ...ratio, updatedAtSeconds, feeds: pairs }
}

/** Of what is in the wallet what is promised to nobody: less live permits, less intents that are still to be signed. */
export function freeOf({ state }: Pick<ViewContext, 'state'>, held: bigint, asset: Asset): bigint {
  let planned = 0n
  for (const open of openSwaps(state)) {
    if (open.state !== 'planned') continue
    const { sell } = open.intent
    if (sell.token.address !== asset.token.address) continue
    if (sell.native === asset.native) planned += open.intent.maxSell
  }
  if (asset.native) return held - GAS_RESERVE_WEI - planned
  return held - livePermits(state, asset.token) - planned - heldForEth(state, asset.token)
}

/** What the wallet holds, with what dry-run has traded on paper; undefined where it was not read. */
export function heldOf(
  { mode, state }: Pick<ViewContext, 'mode' | 'state'>,
  chain: ChainView,
  asset: Asset,
): bigint | undefined {
  const paper = mode === 'dry-run' ? (state.paper.get(assetKey(asset)) ?? 0n) : 0n
  const held = asset.native ? chain.nativeBalance : chain.balances.get(asset.token.address)
  return held === undefined ? undefined : held + paper
}

/** WETH that belongs to orders of strategies that name ETH: wrapped and not sold yet, or bought and not unwrapped yet. */
function heldForEth(state: DaemonState, token: Token): bigint {
  let held = 0n
  for (const { intent, state: at, fill } of openSwaps(state)) {
    const { sell, buy } = intent
    if (buy.native && buy.token.address === token.address) held += fill?.received ?? 0n
    if (at !== 'planned' || !sell.native || sell.token.address !== token.address) continue
    const isWrapped = state.endedTransactions.get(`${intent.id}:wrap`) === 'mined'
    if (isWrapped) held += intent.maxSell
  }
  return held
}

/** Balances by symbol, for the wallet's metrics; undefined where one was not read. */
export function balancesOf(
  tokens: readonly Token[],
  chain: ChainView,
): readonly {
  readonly symbol: string
  readonly amount: bigint | undefined
  readonly decimals: number
}[] {
  const held = tokens
    .filter(({ address }) => address !== NATIVE_TOKEN)
    .map(({ address, symbol, decimals }) => {
      return { symbol, amount: chain.balances.get(address), decimals }
    })
  return [{ symbol: 'ETH', amount: chain.nativeBalance, decimals: 18 }, ...held]
}
