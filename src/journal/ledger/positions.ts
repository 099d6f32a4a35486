import type { Token } from '../../domain/money/token.ts'
import { type Address, minOf, mulDivUp } from '../../domain/money/units.ts'
import type { Trade } from './entry.ts'

/**
 * Bought tokens still held, their cost, and the proceeds of sales. Costs are in one token, the value token:
 * - a purchase with the value token costs the paid amount
 * - a sale for the value token realises the received amount less the cost as profit
 * - an exchange for another token passes the cost on and realises nothing
 * Tokens that the wallet held before, or was given, have no cost here. They never count as free, so their proceeds are no
 * profit. What they buy costs their value by the feeds at signing if the journal has it; otherwise its cost is unknown too.
 * A sale uses up bought tokens first. Rounding of a partial cost goes against us.
 */

/** `fifo` uses up the oldest purchases first, `average` a share of all. */
export type CostMethod = 'fifo' | 'average'

/** Base units of a token bought together, and their cost in base units of the value token. */
type Lot = {
  amount: bigint
  cost: bigint
  /** Symbols of the tokens of unknown cost that paid for it; empty if its cost is known. */
  paidWith: ReadonlySet<string>
}

const KNOWN: Lot['paidWith'] = new Set()

type Position = {
  readonly token: Token
  /** Bought at a known cost and not sold since. Base units. */
  readonly held: bigint
  /** Cost of `held`, in base units of the value token. */
  readonly cost: bigint
  /** Received in exchange for tokens of unknown cost, and not sold since. */
  readonly heldOfUnknownCost: bigint
  /** Symbols of those tokens. */
  readonly paidWith: readonly string[]
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
  readonly traded: ReadonlyMap<string, Traded>
}

/** Positions in plain values. Lots by index of their token, in order of purchase. */
export type PositionsImage = {
  readonly tokens: readonly Token[]
  readonly lots: readonly (readonly [
    token: number,
    amount: bigint,
    cost: bigint,
    ...paidWith: string[],
  ])[]
  readonly strategies: readonly (readonly [
    name: string,
    realised: bigint,
    traded: readonly Traded[],
  ])[]
  readonly profit: Profit
}

type Traded = Pick<Trade, 'sell' | 'buy' | 'paid' | 'received'> & { readonly fills: number }

type Booked = Pick<Trade, 'sell' | 'buy' | 'paid' | 'received'> &
  Partial<Pick<Trade, 'strategy' | 'worth'>>

type Holding = {
  readonly token: Token
  lots: Lot[]
  /** Index of the first lot that is not used up. */
  first: number
}

/** Part taken out of a holding: `amount` of it has the known cost `cost`; `paidWith` is for the rest. */
type Taken = Readonly<Lot>

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
    for (const [address, { token, lots, first }] of this.#holdings) {
      const own = lots.slice(first).map((lot) => ({ ...lot }))
      copy.#holdings.set(address, { token, lots: own, first: 0 })
    }
    for (const [name, trades] of this.#strategies) copy.#strategies.set(name, trades)
    copy.#realised = this.#realised
    copy.#proceedsOfUnknownCost = this.#proceedsOfUnknownCost
    return copy
  }

  image(): PositionsImage {
    const holdings = [...this.#holdings.values()]
    return {
      tokens: holdings.map(({ token }) => token),
      lots: holdings.flatMap(({ lots, first }, index) =>
        lots
          .slice(first)
          .map(({ amount, cost, paidWith }) => [index, amount, cost, ...paidWith] as const),
      ),
      strategies: [...this.#strategies].map(([name, { realised, traded }]) => [
        name,
        realised,
        [...traded.values()],
      ]),
      profit: this.profit,
    }
  }

  static restored(
    method: CostMethod,
    value: Token,
    { tokens, lots, strategies, profit }: PositionsImage,
  ): Positions {
    const positions = new Positions(method, value)
    for (const token of tokens) positions.#holding(token)
    for (const [index, amount, cost, ...paidWith] of lots) {
      const token = tokens[index] as Token
      positions.#holding(token).lots.push({ amount, cost, paidWith: new Set(paidWith) })
    }
    for (const [name, realised, traded] of strategies) {
      const pairs = traded.map((each) => [pairOf(each), each] as const)
      positions.#strategies.set(name, { realised, traded: new Map(pairs) })
    }
    positions.#realised = profit.realised
    positions.#proceedsOfUnknownCost = profit.proceedsOfUnknownCost
    return positions
  }

  /** Books a trade and returns its realised profit in base units of the value token. */
  take(trade: Booked): bigint {
    const realised = this.#book(trade)
    const { strategy, sell, buy, paid, received } = trade
    if (strategy === undefined) return realised
    const known = this.#strategies.get(strategy)
    const pair = pairOf(trade)
    const before = known?.traded.get(pair) ?? { fills: 0, paid: 0n, received: 0n }
    const sums = { paid: before.paid + paid, received: before.received + received }
    const traded = { sell, buy, fills: before.fills + 1, ...sums }
    this.#strategies.set(strategy, {
      realised: (known?.realised ?? 0n) + realised,
      traded: new Map(known?.traded).set(pair, traded),
    })
    return realised
  }

  #book({ sell, buy, paid, received, worth }: Booked): bigint {
    const isValue = ({ address }: Token): boolean => address === this.#value.address
    if (isValue(sell)) {
      this.#add(buy, { amount: received, cost: paid, paidWith: KNOWN })
      return 0n
    }
    const { amount, cost, paidWith } = this.#remove(sell, paid)
    // The known share of the received amount equals the known share of the sold amount.
    const known = paid === 0n ? 0n : (received * amount) / paid
    const rest = received - known
    if (isValue(buy)) {
      this.#realised += known - cost
      this.#proceedsOfUnknownCost += rest
      return known - cost
    }
    // The cost passes on in full, even if its amount rounds to zero base units.
    if (amount > 0n || cost > 0n) this.#add(buy, { amount: known, cost, paidWith: KNOWN })
    if (paid > amount && worth?.token === this.#value.address) {
      const value = mulDivUp(paid - amount, worth.price.num, worth.price.den)
      this.#proceedsOfUnknownCost += value
      this.#add(buy, { amount: rest, cost: value, paidWith: KNOWN })
    } else if (rest > 0n) this.#add(buy, { amount: rest, cost: 0n, paidWith })
    return 0n
  }

  get positions(): readonly Position[] {
    return [...this.#holdings.values()].map(({ token, lots: all, first }) => {
      const lots = all.slice(first)
      const unknown = lots.filter(({ amount, paidWith }) => amount > 0n && paidWith.size > 0)
      const heldOfUnknownCost = sumOf(unknown)
      return {
        token,
        held: sumOf(lots) - heldOfUnknownCost,
        cost: lots.reduce((sum, { cost }) => sum + cost, 0n),
        heldOfUnknownCost,
        paidWith: [...new Set(unknown.flatMap(({ paidWith }) => [...paidWith]))],
      }
    })
  }

  get strategies(): ReadonlyMap<string, StrategyTrades> {
    return this.#strategies
  }

  get profit(): Profit {
    return { realised: this.#realised, proceedsOfUnknownCost: this.#proceedsOfUnknownCost }
  }

  #add(token: Token, { amount, cost, paidWith }: Lot): void {
    const { lots } = this.#holding(token)
    const alike =
      this.#method === 'fifo'
        ? undefined
        : lots.find((lot) => lot.paidWith.size > 0 === paidWith.size > 0)
    if (alike === undefined) {
      lots.push({ amount, cost, paidWith })
      return
    }
    alike.paidWith = new Set([...(alike.amount === 0n ? [] : alike.paidWith), ...paidWith])
    alike.amount += amount
    alike.cost += cost
  }

  /** By average, a share of both lots: of known and of unknown cost. */
  #remove(token: Token, wanted: bigint): Taken {
    const holding = this.#holding(token)
    const { lots } = holding
    const isFifo = this.#method === 'fifo'
    const all = isFifo ? 0n : sumOf(lots)
    const parts: Taken[] = []
    let left = wanted
    for (let at = holding.first; left > 0n && at < lots.length; at += 1) {
      const lot = lots[at] as Lot
      const isShared = wanted < all && at === 0 && lots.length > 1
      const part = takenFrom(lot, isShared ? mulDivUp(lot.amount, wanted, all) : left)
      parts.push(part)
      left -= part.amount
      if (isFifo && lot.amount === 0n) holding.first = at + 1
    }
    forgetUsed(holding)
    const symbols = parts.flatMap(({ paidWith }) => [...paidWith])
    return {
      amount: sumOf(parts.filter(({ paidWith }) => paidWith.size === 0)),
      cost: parts.reduce((sum, { cost }) => sum + cost, 0n),
      paidWith: new Set(left > 0n ? [...symbols, token.symbol] : symbols),
    }
  }

  #holding(token: Token): Holding {
    const known = this.#holdings.get(token.address)
    if (known !== undefined) return known
    const holding = { token, lots: [], first: 0 }
    this.#holdings.set(token.address, holding)
    return holding
  }
}

function pairOf({ sell, buy }: Pick<Trade, 'sell' | 'buy'>): string {
  return `${sell.symbol} ${buy.symbol}`
}

function sumOf(lots: readonly Taken[]): bigint {
  return lots.reduce((sum, { amount }) => sum + amount, 0n)
}

function takenFrom(lot: Lot, wanted: bigint): Taken {
  const amount = minOf(lot.amount, wanted)
  const cost = lot.amount === 0n ? lot.cost : mulDivUp(lot.cost, amount, lot.amount)
  lot.amount -= amount
  lot.cost -= cost
  return { amount, cost, paidWith: lot.paidWith }
}

/** Copies the remaining lots once half are used up, so each lot moves at most once on average. */
function forgetUsed(holding: Holding): void {
  if (holding.first * 2 < holding.lots.length) return
  holding.lots = holding.lots.slice(holding.first)
  holding.first = 0
}
