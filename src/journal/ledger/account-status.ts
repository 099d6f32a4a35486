import type { Token } from '../../domain/money/token.ts'
import type { Positions } from './positions.ts'

/** What is held of one token that orders have bought. */
type Held = {
  readonly token: Token
  readonly amount: bigint
  /** What they cost, in base units of the value token. */
  readonly cost: bigint
  /** What they are worth now; undefined where their price is not known. */
  readonly value: bigint | undefined
}

/** Costs and profits by one way of counting, in base units of the value token, before gas and charges. */
export type AccountStatus = {
  readonly valueToken: Token
  readonly held: readonly Held[]
  readonly cost: bigint
  /** What sales brought less what was sold had cost. */
  readonly realised: bigint
  /** By how much what is held is worth more than it cost; undefined where part of it has no price now. */
  readonly unrealised: bigint | undefined
  /** What sales of tokens of unknown cost brought: part of no profit. */
  readonly proceedsOfUnknownCost: bigint
}

/** `worthOf`: what an amount of a token is worth now in base units of the value token; undefined if unknown. */
export function accountStatusOf(
  positions: Positions,
  valueToken: Token,
  worthOf: (token: Token, amount: bigint) => bigint | undefined,
): AccountStatus {
  const held = positions.positions
    .map(({ token, held: amount, cost }): Held => {
      return { token, amount, cost, value: amount === 0n ? 0n : worthOf(token, amount) }
    })
    // Where less than a base unit is left, only its cost is.
    .filter(({ amount, cost }) => amount > 0n || cost > 0n)
  const cost = held.reduce((sum, each) => sum + each.cost, 0n)
  const value = held.reduce<bigint | undefined>(
    (sum, each) => (sum === undefined || each.value === undefined ? undefined : sum + each.value),
    0n,
  )
  const unrealised = value === undefined ? undefined : value - cost
  return { valueToken, held, cost, unrealised, ...positions.profit }
}
