import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Worth } from '../../src/domain/money/price.ts'
import type { Token } from '../../src/domain/money/token.ts'
import { type CostMethod, Positions } from '../../src/journal/ledger/positions.ts'
import { DAI, USDC, WETH } from '../unit/journal/ledger/entries.ts'

/** An exact rational number of base units: `num / den`. */
type Exact = { readonly num: bigint; readonly den: bigint }

function exact(num: bigint, den = 1n): Exact {
  let [a, b] = [num < 0n ? -num : num, den]
  while (b !== 0n) [a, b] = [b, a % b]
  return a === 0n ? { num: 0n, den: 1n } : { num: num / a, den: den / a }
}

const plus = (a: Exact, b: Exact): Exact => exact(a.num * b.den + b.num * a.den, a.den * b.den)
const minus = (a: Exact, b: Exact): Exact => plus(a, { ...b, num: -b.num })
const times = (a: Exact, b: Exact): Exact => exact(a.num * b.num, a.den * b.den)
const over = (a: Exact, b: Exact): Exact => exact(a.num * b.den, a.den * b.num)
const isLess = (a: Exact, b: Exact): boolean => a.num * b.den < b.num * a.den
const isNone = ({ num }: Exact): boolean => num === 0n

const NONE = exact(0n)

/** Amount and cost of one lot. The average method merges the lots of known cost into one, and the others into another. */
type Piece = { amount: Exact; cost: Exact; isKnown: boolean }

/** A reference ledger without rounding, built from lists and fractions. */
class Reference {
  readonly #pieces = new Map<Token, Piece[]>()
  readonly #method: CostMethod
  realised = NONE
  ofUnknownCost = NONE

  constructor(method: CostMethod) {
    this.#method = method
  }

  take({ sell, buy, paid, received, worth }: Move): void {
    if (sell === USDC) {
      this.#put(buy, { amount: exact(received), cost: exact(paid), isKnown: true })
      return
    }
    const given = this.#give(sell, exact(paid))
    const known = times(exact(received), over(given.amount, exact(paid)))
    const rest = minus(exact(received), known)
    if (buy === USDC) {
      this.realised = plus(this.realised, minus(known, given.cost))
      this.ofUnknownCost = plus(this.ofUnknownCost, rest)
      return
    }
    const unknown = minus(exact(paid), given.amount)
    const cost = worth ? times(unknown, exact(worth.price.num, worth.price.den)) : NONE
    this.ofUnknownCost = plus(this.ofUnknownCost, cost)
    if (!isNone(known)) this.#put(buy, { amount: known, cost: given.cost, isKnown: true })
    if (!isNone(rest)) this.#put(buy, { amount: rest, cost, isKnown: worth !== undefined })
  }

  held(token: Token, isKnown: boolean): Piece {
    return (this.#pieces.get(token) ?? [])
      .filter((piece) => piece.isKnown === isKnown)
      .reduce(
        (sum, piece) => ({
          amount: plus(sum.amount, piece.amount),
          cost: plus(sum.cost, piece.cost),
          isKnown,
        }),
        { amount: NONE, cost: NONE, isKnown },
      )
  }

  #put(token: Token, piece: Piece): void {
    const pieces = this.#pieces.get(token) ?? []
    this.#pieces.set(token, [...pieces, piece])
    if (this.#method === 'fifo') return
    const merged = [this.held(token, true), this.held(token, false)]
    this.#pieces.set(
      token,
      merged.filter(({ amount }) => !isNone(amount)),
    )
  }

  /** Returns the part of known cost. */
  #give(token: Token, wanted: Exact): Pick<Piece, 'amount' | 'cost'> {
    const given = { amount: NONE, cost: NONE }
    const left: Piece[] = []
    const pieces = this.#pieces.get(token) ?? []
    const all = pieces.reduce((sum, { amount }) => plus(sum, amount), NONE)
    let missing = wanted
    for (const { amount, cost, isKnown } of pieces) {
      const share =
        this.#method === 'average' && isLess(wanted, all)
          ? times(amount, over(wanted, all))
          : missing
      const part = isLess(amount, share) ? amount : share
      const partCost = times(cost, over(part, amount))
      missing = minus(missing, part)
      if (isKnown) {
        given.amount = plus(given.amount, part)
        given.cost = plus(given.cost, partCost)
      }
      if (isLess(part, amount))
        left.push({ amount: minus(amount, part), cost: minus(cost, partCost), isKnown })
    }
    this.#pieces.set(token, left)
    return given
  }
}

type Move = {
  readonly sell: Token
  readonly buy: Token
  readonly paid: bigint
  readonly received: bigint
  readonly worth?: Worth | undefined
}

const METHODS = ['fifo', 'average'] as const

function moves(
  pairs: readonly (readonly [Token, Token])[],
  amount: fc.Arbitrary<bigint>,
): fc.Arbitrary<readonly Move[]> {
  const price = fc.record({ num: fc.constantFrom(2n, 3n), den: fc.constantFrom(2n, 3n) })
  const worth = fc.option(fc.record({ token: fc.constant(USDC.address), price }), {
    nil: undefined,
  })
  const move = fc
    .tuple(fc.constantFrom(...pairs), amount, amount, worth)
    .map(([[sell, buy], paid, received, priced]) => {
      return { sell, buy, paid, received, worth: buy === USDC ? undefined : priced }
    })
  return fc.array(move, { minLength: 1, maxLength: 40, size: 'max' })
}

const BUYS_AND_SALES = [
  [USDC, WETH],
  [WETH, USDC],
  [USDC, DAI],
  [DAI, USDC],
] as const
const ANY = [...BUYS_AND_SALES, [WETH, DAI], [DAI, WETH]] as const

/** Amounts so small that each rounding shows. */
const FEW = fc.bigInt({ min: 1n, max: 12n })
/** Amounts so large that no rounding shows, at prices that differ by at most a fifth. */
const MANY = fc.bigInt({ min: 10n ** 15n, max: (10n ** 15n * 6n) / 5n })

function follow(method: CostMethod, trades: readonly Move[]) {
  const [positions, reference] = [new Positions(method, USDC), new Reference(method)]
  let [reported, spent, earned] = [0n, 0n, 0n]
  for (const trade of trades) {
    const before = positions.profit.proceedsOfUnknownCost
    reported += positions.take(trade)
    reference.take(trade)
    // A purchase paid with tokens of unknown cost is booked as their sale and as a purchase, both at the feeds' value.
    const valued = trade.buy === USDC ? 0n : positions.profit.proceedsOfUnknownCost - before
    spent += trade.sell === USDC ? trade.paid : valued
    earned += trade.buy === USDC ? trade.received : valued
  }
  const { realised, proceedsOfUnknownCost } = positions.profit
  const held = positions.positions
  const cost = held.reduce((sum, each) => sum + each.cost, 0n)
  return { reference, reported, spent, earned, realised, proceedsOfUnknownCost, held, cost }
}

test.each(METHODS)('every base unit of cost is in a position or was written off: %s', (method) => {
  fc.assert(
    fc.property(fc.oneof(moves(ANY, FEW), moves(ANY, MANY)), (trades) => {
      const { reported, spent, earned, realised, proceedsOfUnknownCost, held, cost } = follow(
        method,
        trades,
      )
      expect(reported).toBe(realised)
      const givenUp = earned - proceedsOfUnknownCost - realised
      expect(cost + givenUp).toBe(spent)
      expect(givenUp).toBeGreaterThanOrEqual(0n)
      for (const each of held)
        for (const amount of [each.held, each.cost, each.heldOfUnknownCost])
          expect(amount).toBeGreaterThanOrEqual(0n)
    }),
    { numRuns: 400 },
  )
})

test.each(METHODS)('the reported profit never exceeds exact arithmetic: %s', (method) => {
  let rounded = 0
  fc.assert(
    fc.property(moves(BUYS_AND_SALES, FEW), (trades) => {
      const { reference, realised, held } = follow(method, trades)
      expect(isLess(reference.realised, exact(realised))).toBe(false)
      if (isLess(exact(realised), reference.realised)) rounded += 1
      for (const { token, held: amount } of held)
        expect(exact(amount)).toEqual(reference.held(token, true).amount)
    }),
    { numRuns: 400 },
  )
  expect(rounded).toBeGreaterThan(50)
})

test.each(METHODS)(
  'the reported profit equals exact arithmetic within rounding, across token exchanges: %s',
  (method) => {
    let profits = 0
    fc.assert(
      fc.property(moves(ANY, MANY), (trades) => {
        const { reference, realised, proceedsOfUnknownCost, held } = follow(method, trades)
        const bound = exact(BigInt(trades.length) * 4n)
        const isNear = (ours: bigint, theirs: Exact): boolean => {
          const off = minus(exact(ours), theirs)
          return !isLess(bound, off) && !isLess(off, minus(NONE, bound))
        }
        expect(isNear(realised, reference.realised)).toBe(true)
        expect(isNear(proceedsOfUnknownCost, reference.ofUnknownCost)).toBe(true)
        for (const each of held) {
          const [known, unknown] = [true, false].map((is) => reference.held(each.token, is))
          expect(isNear(each.held, known?.amount ?? NONE)).toBe(true)
          expect(isNear(each.cost, known?.cost ?? NONE)).toBe(true)
          expect(isNear(each.heldOfUnknownCost, unknown?.amount ?? NONE)).toBe(true)
        }
        if (realised !== 0n) profits += 1
      }),
      { numRuns: 200 },
    )
    expect(profits).toBeGreaterThan(100)
  },
)

test.each(METHODS)(
  'what is held of every token is what was bought less what was sold: %s',
  (method) => {
    let unknown = 0
    fc.assert(
      fc.property(fc.oneof(moves(ANY, FEW), moves(ANY, MANY)), (trades) => {
        const balances = new Map<Token, bigint>()
        for (const { sell, buy, paid, received } of trades) {
          // Tokens that were not bought here pay what is missing.
          const rest = (balances.get(sell) ?? 0n) - paid
          balances.set(sell, rest < 0n ? 0n : rest)
          balances.set(buy, (balances.get(buy) ?? 0n) + received)
        }
        const bought = follow(method, trades).held.filter(({ token }) => token !== USDC)
        for (const { token, held, heldOfUnknownCost } of bought) {
          expect(held + heldOfUnknownCost).toBe(balances.get(token))
          if (heldOfUnknownCost > 0n) unknown += 1
        }
      }),
      { numRuns: 200 },
    )
    expect(unknown).toBeGreaterThan(20)
  },
)

test('what the strategies bought less what they sold is what is held of every token', () => {
  const name = fc.constantFrom('one', 'two', 'three')
  const fills = moves(ANY, FEW).chain((trades) =>
    fc.tuple(...trades.map((trade) => name.map((strategy) => ({ ...trade, strategy })))),
  )
  fc.assert(
    fc.property(fills, (trades) => {
      const positions = new Positions('fifo', USDC)
      // One strategy first buys more than all sell later.
      const stock = [WETH, DAI].map((buy) => {
        return { strategy: 'one', sell: USDC, buy, paid: 1n, received: 1_000n }
      })
      for (const trade of [...stock, ...trades]) positions.take(trade)
      const sums = new Map<Token, bigint>()
      for (const { traded } of positions.strategies.values())
        for (const { sell, buy, paid, received } of traded.values()) {
          sums.set(sell, (sums.get(sell) ?? 0n) - paid)
          sums.set(buy, (sums.get(buy) ?? 0n) + received)
        }
      for (const { token, held, heldOfUnknownCost } of positions.positions)
        expect([held, heldOfUnknownCost]).toEqual([sums.get(token), 0n])
    }),
    { numRuns: 100 },
  )
})
