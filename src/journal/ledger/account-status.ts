import type { Token } from '../../domain/money/token.ts'
import type { Positions, StrategyTrades } from './positions.ts'

/** Holdings of one token bought by orders. */
type Held = {
  readonly token: Token
  readonly amount: bigint
  /** Part of the amount, paid with tokens that were not bought here. */
  readonly ofUnknownCost: bigint
  /** Symbols of those tokens. */
  readonly paidWith: readonly string[]
  /** Cost of the rest in base units of the value token. */
  readonly cost: bigint
  /** Current value of the amount in base units of the value token; undefined without a known price. */
  readonly value: bigint | undefined
  /** Current value less cost, without the part of unknown cost. */
  readonly profit: bigint | undefined
}

/** Costs and profits under one cost method, in base units of the value token, before gas and charges. */
export type AccountStatus = {
  readonly valueToken: Token
  readonly held: readonly Held[]
  readonly cost: bigint
  /** Proceeds of sales less the cost of what was sold. */
  readonly realised: bigint
  /** Current value less cost of the holdings of known cost; undefined if part of them has no price now. */
  readonly unrealised: bigint | undefined
  /** Proceeds from tokens of unknown cost; excluded from all profits. */
  readonly proceedsOfUnknownCost: bigint
  readonly strategies: ReadonlyMap<string, StrategyTrades>
}

/** `worthOf` returns an amount's current value in base units of the value token; undefined if unknown. */
export function accountStatusOf(
  positions: Positions,
  valueToken: Token,
  worthOf: (token: Token, amount: bigint) => bigint | undefined,
): AccountStatus {
  const worth = (token: Token, amount: bigint) => (amount === 0n ? 0n : worthOf(token, amount))
  const held = positions.positions
    .map(({ token, held: known, cost, heldOfUnknownCost: ofUnknownCost, paidWith }): Held => {
      const amount = known + ofUnknownCost
      const current = worth(token, known)
      const profit = current === undefined ? undefined : current - cost
      return { token, amount, ofUnknownCost, paidWith, cost, value: worth(token, amount), profit }
    })
    // If less than a base unit is left, only its cost remains.
    .filter(({ amount, cost }) => amount > 0n || cost > 0n)
  const cost = held.reduce((sum, each) => sum + each.cost, 0n)
  const unrealised = held.reduce<bigint | undefined>(
    (sum, { profit }) => (sum === undefined || profit === undefined ? undefined : sum + profit),
    0n,
  )
  const { profit, strategies } = positions
  return { valueToken, held, cost, unrealised, strategies, ...profit }
}
