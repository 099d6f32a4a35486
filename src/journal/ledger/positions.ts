import type { Token } from '../../domain/money/token.ts'
import { type Address, minOf, mulDivUp } from '../../domain/money/units.ts'
import type { Trade } from './entry.ts'

/**
 * Bought tokens still held, their cost, and the proceeds of sales. Costs are in one token, the value token:
 * - a purchase with the value token costs the paid amount
 * - a sale for the value token realises the received amount less the cost as profit
 * - an exchange for another token passes the cost on and realises nothing
 * Tokens that the wallet held before, or was given, have no cost here. They never count as free, so their proceeds are no
 * profit.
 * A sale uses up bought tokens first. Rounding of a partial cost goes against us.
 */

/** `fifo` uses up the oldest purchases first, `average` a share of all. */
export type CostMethod = 'fifo' | 'average'

/** Base units of a token bought together, and their cost in base units of the value token. */
type Lot = { amount: bigint; cost: bigint }

type Position = {
  readonly token: Token
  /** Bought at a known cost and not sold since. Base units. */
  readonly held: bigint
  /** Cost of `held`, in base units of the value token. */
  readonly cost: bigint
  /** Received in exchange for tokens of unknown cost. */
  readonly heldOfUnknownCost: bigint
}

type Profit = {
  /** Proceeds of sales less the cost of what was sold, in base units of the value token. */
  readonly realised: bigint
  /** Proceeds from tokens of unknown cost; excluded from `realised`. */
  readonly proceedsOfUnknownCost: bigint
}

/** What a strategy traded, and its profit by sales, in base units of the value token. */
export type StrategyTrades = {
  readonly realised: bigint
  /** By `SELL BUY`. Amounts in base units. */
  readonly traded: ReadonlyMap<
    string,
    Pick<Trade, 'sell' | 'buy' | 'paid' | 'received'> & { readonly fills: number }
  >
}

type Booked = Pick<Trade, 'sell' | 'buy' | 'paid' | 'received'> & Partial<Pick<Trade, 'strategy'>>

type Holding = {
  readonly token: Token
  lots: Lot[]
  /** Index of the first lot that is not used up. */
  first: number
  unknown: bigint
}

/** Part taken out of a holding: `amount` of it has the known cost `cost`. */
type Taken = { readonly amount: bigint; readonly cost: bigint }

export class Positions {
  readonly #method: CostMethod
  readonly #value: Token
  readonly #holdings = new Map<Address, Holding>()
  readonly #strategies = new Map<string, StrategyTrades>()
  #realised = 0n
  #proceedsOfUnknownCost = 0n

  constructor(method: CostMethod, value: Token) {
    this.#method = method
    this.#value = value
  }

  copy(): Positions {
    const copy = new Positions(this.#method, this.#value)
    for (const [address, { token, lots, first, unknown }] of this.#holdings) {
      const own = lots.slice(first).map((lot) => ({ ...lot }))
      copy.#holdings.set(address, { token, lots: own, first: 0, unknown })
    }
    for (const [name, trades] of this.#strategies) copy.#strategies.set(name, trades)
    copy.#realised = this.#realised
    copy.#proceedsOfUnknownCost = this.#proceedsOfUnknownCost
    return copy
  }

  /** Books a trade and returns its realised profit in base units of the value token. */
  take(trade: Booked): bigint {
    const realised = this.#book(trade)
    const { strategy, sell, buy, paid, received } = trade
    if (strategy === undefined) return realised
    const known = this.#strategies.get(strategy)
    const pair = `${sell.symbol} ${buy.symbol}`
    const before = known?.traded.get(pair) ?? { fills: 0, paid: 0n, received: 0n }
    const sums = { paid: before.paid + paid, received: before.received + received }
    const traded = { sell, buy, fills: before.fills + 1, ...sums }
    this.#strategies.set(strategy, {
      realised: (known?.realised ?? 0n) + realised,
      traded: new Map(known?.traded).set(pair, traded),
    })
    return realised
  }

  #book({ sell, buy, paid, received }: Booked): bigint {
    const isValue = ({ address }: Token): boolean => address === this.#value.address
    if (isValue(sell)) {
      this.#add(buy, { amount: received, cost: paid })
      return 0n
    }
    const taken = this.#remove(sell, paid)
    if (isValue(buy)) return this.#sold(taken, { paid, received })
    // The known share of the received amount equals the known share of the sold amount.
    const known = paid === 0n ? 0n : (received * taken.amount) / paid
    // The cost passes on in full, even if its amount rounds to zero base units.
    if (taken.amount > 0n || taken.cost > 0n) this.#add(buy, { amount: known, cost: taken.cost })
    this.#holding(buy).unknown += received - known
    return 0n
  }

  get positions(): readonly Position[] {
    return [...this.#holdings.values()].map(({ token, lots: all, first, unknown }) => {
      const lots = all.slice(first)
      return {
        token,
        held: lots.reduce((sum, { amount }) => sum + amount, 0n),
        cost: lots.reduce((sum, { cost }) => sum + cost, 0n),
        heldOfUnknownCost: unknown,
      }
    })
  }

  get strategies(): ReadonlyMap<string, StrategyTrades> {
    return this.#strategies
  }

  get profit(): Profit {
    return { realised: this.#realised, proceedsOfUnknownCost: this.#proceedsOfUnknownCost }
  }

  #sold(taken: Taken, { paid, received }: Pick<Trade, 'paid' | 'received'>): bigint {
    const proceeds = paid === 0n ? 0n : (received * taken.amount) / paid
    const profit = proceeds - taken.cost
    this.#realised += profit
    this.#proceedsOfUnknownCost += received - proceeds
    return profit
  }

  #add(token: Token, lot: Lot): void {
    const { lots, first } = this.#holding(token)
    const open = lots[first]
    if (this.#method === 'fifo' || open === undefined) {
      lots.push({ ...lot })
      return
    }
    open.amount += lot.amount
    open.cost += lot.cost
  }

  #remove(token: Token, wanted: bigint): Taken {
    const holding = this.#holding(token)
    let [amount, cost] = [0n, 0n]
    while (amount < wanted) {
      const lot = holding.lots[holding.first]
      if (lot === undefined) break
      const part = minOf(lot.amount, wanted - amount)
      const partCost = lot.amount === 0n ? lot.cost : mulDivUp(lot.cost, part, lot.amount)
      lot.amount -= part
      lot.cost -= partCost
      amount += part
      cost += partCost
      if (lot.amount === 0n) holding.first += 1
    }
    forgetUsed(holding)
    holding.unknown -= minOf(holding.unknown, wanted - amount)
    return { amount, cost }
  }

  #holding(token: Token): Holding {
    const known = this.#holdings.get(token.address)
    if (known !== undefined) return known
    const holding = { token, lots: [], first: 0, unknown: 0n }
    this.#holdings.set(token.address, holding)
    return holding
  }
}

/** Copies the remaining lots once half are used up, so each lot moves at most once on average. */
function forgetUsed(holding: Holding): void {
  if (holding.first * 2 < holding.lots.length) return
  holding.lots = holding.lots.slice(holding.first)
  holding.first = 0
}
