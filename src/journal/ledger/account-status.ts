import type { Token } from '../../domain/money/token.ts'
import type { Positions, StrategyTrades } from './positions.ts'

/** Holdings of one token bought by orders. */
type Held = {
  readonly token: Token
  readonly amount: bigint
  /** Cost in base units of the value token. */
  readonly cost: bigint
  /** Current value in base units of the value token; undefined without a known price. */
  readonly value: bigint | undefined
}

/** Costs and profits under one cost method, in base units of the value token, before gas and charges. */
export type AccountStatus = {
  readonly valueToken: Token
  readonly held: readonly Held[]
  readonly cost: bigint
  /** Proceeds of sales less the cost of what was sold. */
  readonly realised: bigint
  /** Current value less cost of the holdings; undefined if part of them has no price now. */
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
  const held = positions.positions
    .map(({ token, held: amount, cost }): Held => {
      return { token, amount, cost, value: amount === 0n ? 0n : worthOf(token, amount) }
    })
    // If less than a base unit is left, only its cost remains.
    .filter(({ amount, cost }) => amount > 0n || cost > 0n)
  const cost = held.reduce((sum, each) => sum + each.cost, 0n)
  const value = held.reduce<bigint | undefined>(
    (sum, each) => (sum === undefined || each.value === undefined ? undefined : sum + each.value),
    0n,
  )
  const unrealised = value === undefined ? undefined : value - cost
  const { profit, strategies } = positions
  return { valueToken, held, cost, unrealised, strategies, ...profit }
}
