import fc from 'fast-check'
import { expect, test } from 'vitest'
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

/** Amount and cost of one lot. The average method merges all lots into one. */
type Piece = { amount: Exact; cost: Exact }

/** A reference ledger without rounding, built from lists and fractions. */
class Reference {
  readonly #pieces = new Map<Token, Piece[]>()
  readonly #method: CostMethod
  realised = NONE
  ofUnknownCost = NONE

  constructor(method: CostMethod) {
    this.#method = method
  }

  take({ sell, buy, paid, received }: Move): void {
    if (sell === USDC) {
      this.#put(buy, { amount: exact(received), cost: exact(paid) })
      return
    }
    const given = this.#give(sell, exact(paid))
    const known = times(exact(received), over(given.amount, exact(paid)))
    if (buy !== USDC) {
      if (!isNone(known)) this.#put(buy, { amount: known, cost: given.cost })
      return
    }
    this.realised = plus(this.realised, minus(known, given.cost))
    this.ofUnknownCost = plus(this.ofUnknownCost, minus(exact(received), known))
  }

  held(token: Token): Piece {
    return (this.#pieces.get(token) ?? []).reduce(
      (sum, piece) => ({
        amount: plus(sum.amount, piece.amount),
        cost: plus(sum.cost, piece.cost),
      }),
      { amount: NONE, cost: NONE },
    )
  }

  #put(token: Token, piece: Piece): void {
    const pieces = this.#pieces.get(token) ?? []
    this.#pieces.set(token, [...pieces, piece])
    if (this.#method === 'average') this.#pieces.set(token, [this.held(token)])
  }

  #give(token: Token, wanted: Exact): Piece {
    const given: Piece = { amount: NONE, cost: NONE }
    const left: Piece[] = []
    for (const { amount, cost } of this.#pieces.get(token) ?? []) {
      const missing = minus(wanted, given.amount)
      const part = isLess(amount, missing) ? amount : missing
      const partCost = times(cost, over(part, amount))
      given.amount = plus(given.amount, part)
      given.cost = plus(given.cost, partCost)
      if (isLess(part, amount))
        left.push({ amount: minus(amount, part), cost: minus(cost, partCost) })
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
}

const METHODS = ['fifo', 'average'] as const

function moves(
  pairs: readonly (readonly [Token, Token])[],
  amount: fc.Arbitrary<bigint>,
): fc.Arbitrary<readonly Move[]> {
  const move = fc
    .tuple(fc.constantFrom(...pairs), amount, amount)
    .map(([[sell, buy], paid, received]) => ({ sell, buy, paid, received }))
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
    reported += positions.take(trade)
    reference.take(trade)
    if (trade.sell === USDC) spent += trade.paid
    if (trade.buy === USDC) earned += trade.received
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
        expect(exact(amount)).toEqual(reference.held(token).amount)
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
          expect(isNear(each.held, reference.held(each.token).amount)).toBe(true)
          expect(isNear(each.cost, reference.held(each.token).cost)).toBe(true)
        }
        if (realised !== 0n) profits += 1
      }),
      { numRuns: 200 },
    )
    expect(profits).toBeGreaterThan(100)
  },
)
