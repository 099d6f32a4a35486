import {
  acceptPath,
  type PairPriceAnswer,
  type PriceFeed,
  type PricePath,
} from '../domain/money/price.ts'
import { type Asset, shownToken, type Token } from '../domain/money/token.ts'
import { type Address, type BaseUnits, baseUnits, minOf } from '../domain/money/units.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import type { AccountLimits } from '../domain/settings.ts'
import type { SpendingCaps, TokenPair } from '../domain/strategy.ts'
import { NO_MEMORY } from '../domain/strategy-memory.ts'
import { liveSum } from '../journal/projections/exposures.ts'
import { usedInTotal } from '../journal/projections/limits.ts'
import { purchaseOf } from '../journal/projections/purchases.ts'
import type { DecisionInputs, PriceInput } from '../journal/records.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import type { ChainView } from '../ports.ts'
import { assetKey, availableOf, type MarketView, pairKey } from '../strategies/decision/decision.ts'
import { assetsOf, kindOf, pairsOf, type Strategy } from '../strategies/registry.ts'
import { scheduleOf } from '../strategies/spending/slots-ahead.ts'
import type { OrderContext } from '../venues/context.ts'
import { promisedBy } from '../venues/swap/swap-projection.ts'

/** ETH in wei that a strategy selling ETH keeps for gas. */
export const GAS_RESERVE_WEI = 10n ** 15n

export type ViewContext = Pick<OrderContext, 'mode' | 'pricePath' | 'account'> & {
  readonly state: DaemonState
  readonly owner: MarketView['owner']
}

export type Wanted = { readonly tokens: readonly Token[]; readonly pairs: readonly TokenPair[] }

/** Each token and each pair once, however many strategies. */
export function wantedBy(strategies: readonly Strategy[]): Wanted {
  const tokens = new Map<Address, Token>()
  const pairs = new Map<string, TokenPair>()
  for (const strategy of strategies) {
    for (const { token } of assetsOf(strategy)) tokens.set(token.address, token)
    for (const pair of pairsOf(strategy)) pairs.set(pairKey(pair.sell, pair.buy), pair)
  }
  return { tokens: [...tokens.values()], pairs: [...pairs.values()] }
}

export function marketOf(
  { tokens, pairs }: Wanted,
  pricePath: OrderContext['pricePath'],
): { readonly tokens: readonly Token[]; readonly feeds: readonly PriceFeed[] } {
  const feeds = pairs
    .flatMap(({ sell, buy }) => pricePath(sell, buy) ?? [])
    .map(({ feed }) => [feed.pair, feed] as const)
  return { tokens, feeds: [...new Map(feeds).values()] }
}

export function viewOf(
  context: ViewContext,
  chain: ChainView,
  slot: {
    readonly strategy: Strategy
    readonly slotSeconds: SlotSeconds
    /** The strategy's own by default. */
    readonly pairs?: readonly TokenPair[] | undefined
  },
): MarketView {
  const { strategy, slotSeconds, pairs = pairsOf(strategy) } = slot
  const { state, owner, pricePath } = context
  const record = state.strategies.get(strategy.name)
  const entry = kindOf(strategy).entry(strategy)
  const available = new Map<Address, bigint>()
  const held = new Map<Address, bigint>()
  const spent = new Map<Address, BaseUnits>()
  const promised = new Map<Address, BaseUnits>()
  for (const asset of assetsOf(strategy)) {
    const { token } = asset
    const inFlight = promisedBy(state, token, strategy.name)
    promised.set(token.address, baseUnits(inFlight))
    spent.set(token.address, baseUnits((record?.spent.get(token.address) ?? 0n) + inFlight))
    const amount = heldOf(context, chain, asset)
    if (amount === undefined) continue
    held.set(assetKey(asset), amount)
    available.set(assetKey(asset), freeOf(context, amount, asset))
  }
  const prices = new Map<string, PairPriceAnswer>()
  for (const { sell, buy } of pairs)
    prices.set(pairKey(sell, buy), priceAt(chain, pricePath(sell, buy)))
  return {
    slotSeconds,
    nowSeconds: chain.blockTimeSeconds,
    startSeconds: startOf(state, strategy),
    owner,
    available,
    held,
    prices,
    orderCaps: orderCapsOf(state, strategy, context.account),
    memory: record?.memory ?? NO_MEMORY,
    spent,
    promised,
    entry: entry && purchaseOf(state, entry.of, entry),
  }
}

/** First slot of an interval schedule. */
function startOf(state: DaemonState, strategy: Strategy): SlotSeconds | undefined {
  if (strategy.schedule.type === 'cron') return undefined
  const schedule = scheduleOf(state, strategy)
  return schedule.type === 'interval' ? schedule.startSeconds : undefined
}

/** Prices of each block that was read: all strategies of a tick share them. */
const accepted = new WeakMap<ChainView, Map<PricePath | undefined, PairPriceAnswer>>()

function priceAt(chain: ChainView, path: PricePath | undefined): PairPriceAnswer {
  const known = accepted.get(chain) ?? new Map<PricePath | undefined, PairPriceAnswer>()
  accepted.set(chain, known)
  const answer = known.get(path) ?? acceptPath(path, chain.readings, chain.blockTimeSeconds)
  known.set(path, answer)
  return answer
}

/** The lowest cap per token. An exhausted total is left out, because the cap itself reports it. */
function orderCapsOf(
  state: DaemonState,
  { name, limits }: Strategy,
  account: AccountLimits,
): ReadonlyMap<Address, BaseUnits> {
  const least = new Map<Address, BaseUnits>()
  const cut = (cap: bigint, token: Address): void => {
    least.set(token, baseUnits(minOf(cap, least.get(token) ?? cap)))
  }
  const cutBy = (caps: SpendingCaps, strategy: string | undefined): void => {
    caps.perOrder.forEach(cut)
    caps.perHour.forEach(cut)
    caps.perDay.forEach(cut)
    caps.perWeek.forEach(cut)
    for (const [token, cap] of caps.total) {
      const left = cap - usedInTotal(state, { token, strategy })
      if (left > 0n) cut(left, token)
    }
  }
  cutBy(limits, name)
  cutBy(account, undefined)
  return least
}

/** The view as journaled, so that `why` can show every input of a decision. */
export function inputsOf(strategy: Strategy, view: MarketView, chain: ChainView): DecisionInputs {
  const available: Record<string, bigint> = {}
  for (const asset of assetsOf(strategy)) {
    const free = availableOf(view, asset)
    if (free !== undefined) available[shownToken(asset).symbol] = free
  }
  const prices: Record<string, PriceInput> = {}
  for (const [pair, answer] of view.prices) {
    if (!answer.ok) prices[pair] = { refused: answer.reason }
    else {
      const { ratio, updatedAtSeconds, pairs } = answer.price
      prices[pair] = { num: ratio.num, den: ratio.den, updatedAtSeconds, feeds: pairs }
    }
  }
  return {
    blockNumber: chain.blockNumber,
    blockTimeSeconds: chain.blockTimeSeconds,
    available,
    prices,
    memory: view.memory,
    ...entryInput(strategy, view),
  }
}

function entryInput(strategy: Strategy, { entry }: MarketView): Pick<DecisionInputs, 'entry'> {
  const own = kindOf(strategy).entry(strategy)
  if (own === undefined || entry === undefined) return {}
  const { of, bought, paidIn } = own
  return { entry: { of, bought, paidIn, ...entry } }
}

/** Unreserved balance: the balance minus live permits and unsigned intents. */
export function freeOf({ state }: Pick<ViewContext, 'state'>, held: bigint, asset: Asset): bigint {
  const planned = state.intents.planned(asset.token.address, assetKey(asset))
  if (asset.native) return held - GAS_RESERVE_WEI - planned
  return held - liveSum(state, asset.token.address) - planned - heldForEth(state, asset.token)
}

/** Wallet balance plus paper trades of a dry run; undefined if unread. */
export function heldOf(
  { mode, state }: Pick<ViewContext, 'mode' | 'state'>,
  chain: ChainView,
  asset: Asset,
): bigint | undefined {
  const paper = mode === 'dry-run' ? (state.paper.get(assetKey(asset)) ?? 0n) : 0n
  const held = asset.native ? chain.nativeBalance : chain.balances.get(asset.token.address)
  return held === undefined ? undefined : held + paper
}

/** WETH reserved for orders of ETH strategies: wrapped but not sold, or bought but not unwrapped. */
function heldForEth(state: DaemonState, token: Token): bigint {
  let held = 0n
  for (const { intent, state: at, fill } of state.intents.withEther) {
    const { sell, buy } = intent
    if (buy.native && buy.token.address === token.address) held += fill?.received ?? 0n
    if (at !== 'planned' || !sell.native || sell.token.address !== token.address) continue
    const isWrapped = state.endedTransactions.get(`${intent.id}:wrap`) === 'mined'
    if (isWrapped) held += intent.maxSell
  }
  return held
}
