import { acceptPath, type PriceFeed } from '../domain/money/price.ts'
import { type Asset, shownToken, type Token } from '../domain/money/token.ts'
import { type Address, type BaseUnits, baseUnits, minOf } from '../domain/money/units.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import type { AccountLimits } from '../domain/settings.ts'
import { type Caps, NO_CAPS, type SpendingCaps, type TokenPair } from '../domain/strategy.ts'
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
import { promisedBy, swapOf } from '../venues/swap/swap-projection.ts'

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
  const { state, owner } = context
  const kind = kindOf(strategy)
  const record = state.strategies.get(strategy.name)
  const entry = kind.entry(strategy)
  const { available, held } = balancesOf(context, chain, kind.assets(strategy))
  return {
    slotSeconds,
    nowSeconds: chain.blockTimeSeconds,
    startSeconds: startOf(state, strategy),
    owner,
    available,
    held,
    prices: pricesAt(chain, pairs, context.pricePath),
    orderCaps: orderCapsOf(state, strategy, context.account),
    memory: record?.memory ?? NO_MEMORY,
    ...(kind.slicedTotal(strategy) === undefined ? NOTHING_SOLD : soldOf(state, strategy)),
    entry: entry && purchaseOf(state, entry.of, entry),
  }
}

/** First slot of an interval schedule. */
function startOf(state: DaemonState, strategy: Strategy): SlotSeconds | undefined {
  if (strategy.schedule.type === 'cron') return undefined
  const schedule = scheduleOf(state, strategy)
  return schedule.type === 'interval' ? schedule.startSeconds : undefined
}

type Sold = Pick<MarketView, 'spent' | 'promised'>

const NOTHING_SOLD: Sold = { spent: new Map(), promised: new Map() }

function soldOf(state: DaemonState, strategy: Strategy): Sold {
  const spent = new Map<Address, BaseUnits>()
  const promised = new Map<Address, BaseUnits>()
  const before = state.strategies.get(strategy.name)?.spent
  for (const { token } of assetsOf(strategy)) {
    const inFlight = promisedBy(state, token, strategy.name)
    promised.set(token.address, baseUnits(inFlight))
    spent.set(token.address, baseUnits((before?.get(token.address) ?? 0n) + inFlight))
  }
  return { spent, promised }
}

type Prices = MarketView['prices']
type PricePathOf = OrderContext['pricePath']
type Balances = Pick<MarketView, 'available' | 'held'> & { readonly assets: readonly Asset[] }

/** What the strategies of a tick share of a block that was read. Thousands keep it until their decisions are recorded. */
type Shared = {
  readonly pricePath: PricePathOf
  readonly byPairs: Map<string, Prices>
  /** The last of up to `BALANCES_MAX` sets of assets. */
  readonly balances: Balances[]
}

const BALANCES_MAX = 16

const shared = new WeakMap<ChainView, Shared>()

function sharedOf(chain: ChainView, pricePath: PricePathOf): Shared {
  let known = shared.get(chain)
  if (known?.pricePath !== pricePath) {
    known = { pricePath, byPairs: new Map(), balances: [] }
    shared.set(chain, known)
  }
  return known
}

/** Those of an earlier decision, if the amounts are still the same. */
function balancesOf(context: ViewContext, chain: ChainView, assets: readonly Asset[]): Balances {
  const { balances } = sharedOf(chain, context.pricePath)
  const at = balances.findIndex(
    ({ assets: others }) =>
      others.length === assets.length &&
      others.every(
        ({ token, native }, index) =>
          token === assets[index]?.token && native === assets[index]?.native,
      ),
  )
  const last = balances[at]
  const isSame = (asset: Asset): boolean => {
    const amount = heldOf(context, chain, asset)
    const key = assetKey(asset)
    if (last?.held.get(key) !== amount) return false
    return amount === undefined || last?.available.get(key) === freeOf(context, amount, asset)
  }
  if (last?.assets.every(isSame)) return last
  const available = new Map<Address, bigint>()
  const held = new Map<Address, bigint>()
  for (const asset of assets) {
    const amount = heldOf(context, chain, asset)
    if (amount === undefined) continue
    held.set(assetKey(asset), amount)
    available.set(assetKey(asset), freeOf(context, amount, asset))
  }
  const now = { assets, available, held }
  if (at >= 0) balances[at] = now
  else if (balances.length < BALANCES_MAX) balances.push(now)
  return now
}

function pricesAt(chain: ChainView, pairs: readonly TokenPair[], pricePath: PricePathOf): Prices {
  const { byPairs } = sharedOf(chain, pricePath)
  const keys = pairs.map(({ sell, buy }) => pairKey(sell, buy))
  // Without a new text, which takes longer to find.
  const key = keys.length === 1 ? (keys[0] ?? '') : keys.join(' ')
  let prices = byPairs.get(key)
  if (prices === undefined) {
    const { readings, blockTimeSeconds } = chain
    prices = new Map(
      pairs.map(({ sell, buy }) => [
        pairKey(sell, buy),
        acceptPath(pricePath(sell, buy), readings, blockTimeSeconds),
      ]),
    )
    byPairs.set(key, prices)
  }
  return prices
}

/** The lowest cap per token. An exhausted total is left out, because the cap itself reports it. */
function orderCapsOf(
  state: DaemonState,
  { name, limits }: Strategy,
  account: AccountLimits,
): ReadonlyMap<Address, BaseUnits> {
  const given: Caps[] = []
  const add = (caps: Caps): void => {
    if (caps.size > 0) given.push(caps)
  }
  add(limits.perOrder)
  add(limits.perHour)
  add(limits.perDay)
  add(limits.perWeek)
  add(account.perOrder)
  add(account.perHour)
  add(account.perDay)
  add(account.perWeek)
  const [only = NO_CAPS] = given
  if (given.length <= 1 && limits.total.size === 0 && account.total.size === 0) return only
  const least = new Map<Address, BaseUnits>()
  const cut = (cap: bigint, token: Address): void => {
    least.set(token, baseUnits(minOf(cap, least.get(token) ?? cap)))
  }
  for (const caps of given) caps.forEach(cut)
  const cutByTotal = ({ total }: SpendingCaps, strategy: string | undefined): void => {
    for (const [token, cap] of total) {
      const left = cap - usedInTotal(state, { token, strategy })
      if (left > 0n) cut(left, token)
    }
  }
  cutByTotal(limits, name)
  cutByTotal(account, undefined)
  return least
}

/** The view as journaled, so that `why` can show every input of a decision. */
export function inputsOf(strategy: Strategy, view: MarketView, chain: ChainView): DecisionInputs {
  const available = known(availableInputs, view.available, () => {
    const free: Record<string, bigint> = {}
    for (const asset of assetsOf(strategy)) {
      const amount = availableOf(view, asset)
      if (amount !== undefined) free[shownToken(asset).symbol] = amount
    }
    return free
  })
  const prices = known(priceInputs, view.prices, () => {
    const inputs: Record<string, PriceInput> = {}
    for (const [pair, answer] of view.prices) {
      if (!answer.ok) inputs[pair] = { refused: answer.reason }
      else {
        const { ratio, updatedAtSeconds, pairs } = answer.price
        inputs[pair] = { num: ratio.num, den: ratio.den, updatedAtSeconds, feeds: pairs }
      }
    }
    return inputs
  })
  return {
    blockNumber: chain.blockNumber,
    blockTimeSeconds: chain.blockTimeSeconds,
    available,
    prices,
    memory: view.memory,
    ...entryInput(strategy, view),
  }
}

/** Balances are shared only by strategies of the same assets. */
const availableInputs = new WeakMap<MarketView['available'], DecisionInputs['available']>()
const priceInputs = new WeakMap<Prices, DecisionInputs['prices']>()

function known<Key extends object, Value>(
  values: WeakMap<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const value = values.get(key) ?? make()
  values.set(key, value)
  return value
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
  for (const open of state.intents.withEther) {
    const swap = swapOf(open)
    if (swap === undefined) continue
    const { intent, state: at, fill } = swap
    const { sell, buy } = intent
    if (buy.native && buy.token.address === token.address) held += fill?.received ?? 0n
    if (at !== 'planned' || !sell.native || sell.token.address !== token.address) continue
    const isWrapped = state.endedTransactions.get(`${intent.id}:wrap`) === 'mined'
    if (isWrapped) held += intent.maxSell
  }
  return held
}
