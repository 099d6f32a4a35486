import type { Token } from '../../domain/money/token.ts'
import { type Address, minOf, mulDivUp } from '../../domain/money/units.ts'
import type { Trade } from './entry.ts'

/**
 * What was bought and is still held, what it cost, and what selling it brought. Costs are kept in one token, the value token:
 *
 * - bought with the value token, a token costs what was paid
 * - sold for the value token, what was received less what it had cost is realised profit
 * - exchanged for another token, what was given up passes its cost on: nothing is realised
 *
 * What the wallet held before, or was given, has no cost here: it is never taken for free, so what it brings is no profit.
 * A sale draws on what was bought first. Rounding of a part of a cost goes against us.
 */

/** `fifo` gives up what was bought first, `average` a share of all. */
export type CostMethod = 'fifo' | 'average'

/** Base units of a token that were bought together, and what they cost in base units of the value token. */
type Lot = { amount: bigint; cost: bigint }

type Position = {
  readonly token: Token
  /** Bought, with a known cost, and not sold since. Base units. */
  readonly held: bigint
  /** Of that, in base units of the value token. */
  readonly cost: bigint
  /** Bought or taken in exchange for what has no known cost. */
  readonly heldOfUnknownCost: bigint
}

type Profit = {
  /** What sales brought less what was sold had cost, in base units of the value token. */
  readonly realised: bigint
  /** What sales of tokens brought whose cost is not known: no part of `realised`. */
  readonly proceedsOfUnknownCost: bigint
}

type Holding = {
  readonly token: Token
  lots: Lot[]
  /** Those before it are used up. */
  first: number
  unknown: bigint
}

/** What leaves a holding. `amount` of it has the known cost `cost`. */
type Taken = { readonly amount: bigint; readonly cost: bigint }

export class Positions {
  readonly #method: CostMethod
  readonly #value: Token
  readonly #holdings = new Map<Address, Holding>()
  #realised = 0n
  #proceedsOfUnknownCost = 0n

  constructor(method: CostMethod, value: Token) {
    this.#method = method
    this.#value = value
  }

  /** The same as it is now, apart from this one. */
  copy(): Positions {
    const copy = new Positions(this.#method, this.#value)
    for (const [address, { token, lots, first, unknown }] of this.#holdings) {
      const own = lots.slice(first).map((lot) => ({ ...lot }))
      copy.#holdings.set(address, { token, lots: own, first: 0, unknown })
    }
    copy.#realised = this.#realised
    copy.#proceedsOfUnknownCost = this.#proceedsOfUnknownCost
    return copy
  }

  /** Books a trade, and gives the profit that it realised, in base units of the value token. */
  take({ sell, buy, paid, received }: Pick<Trade, 'sell' | 'buy' | 'paid' | 'received'>): bigint {
    const isValue = ({ address }: Token): boolean => address === this.#value.address
    if (isValue(sell)) {
      this.#add(buy, { amount: received, cost: paid })
      return 0n
    }
    const taken = this.#remove(sell, paid)
    if (isValue(buy)) return this.#sold(taken, { paid, received })
    // The same share of what is received has a known cost as of what was given up.
    const known = paid === 0n ? 0n : (received * taken.amount) / paid
    // A cost is passed on in full, even where its amount comes to less than a base unit.
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

/** Copies the rest once half is used up, so that each lot is moved at most once on average. */
function forgetUsed(holding: Holding): void {
  if (holding.first * 2 < holding.lots.length) return
  holding.lots = holding.lots.slice(holding.first)
  holding.first = 0
}
