import type { Token } from '../token.ts'
import type { Books } from './figures.ts'

/** By both ways of counting, in base units of the value token. */
export type BothWays = { readonly fifo: bigint; readonly average: bigint }

/** What is held of one token that orders have bought. */
export type Held = {
  readonly token: Token
  /** Base units that are still held, and what they cost. */
  readonly amount: bigint
  readonly cost: BothWays
  /** What that is worth now; undefined where its price is not known. */
  readonly value: bigint | undefined
}

/** How the account stands. Costs and profits in base units of the value token, before gas and charges, which are in ether. */
export type Standing = {
  readonly valueToken: Token
  readonly held: readonly Held[]
  readonly cost: BothWays
  readonly realised: BothWays
  /** Undefined where something of what is held has no price now. */
  readonly unrealised: BothWays | undefined
  /** What sales brought of tokens whose cost is not known: in no profit. */
  readonly proceedsOfUnknownCost: bigint
}

/** `worthOf`: what an amount of a token is worth now in base units of the value token; undefined where nobody can tell. */
export function standingOf(
  { fifo, average }: Books,
  valueToken: Token,
  worthOf: (token: Token, amount: bigint) => bigint | undefined,
): Standing {
  const averages = new Map(average.positions.map(({ token, cost }) => [token.address, cost]))
  const held = fifo.positions
    .filter((position) => position.held > 0n)
    .map((position): Held => {
      const { token, held: amount, cost } = position
      const both = { fifo: cost, average: averages.get(token.address) ?? 0n }
      return { token, amount, cost: both, value: worthOf(token, amount) }
    })
  const cost = sumOf(held.map((each) => each.cost))
  const value = held.reduce<bigint | undefined>(
    (sum, each) => (sum === undefined || each.value === undefined ? undefined : sum + each.value),
    0n,
  )
  return {
    ...{ valueToken, held, cost },
    realised: { fifo: fifo.profit.realised, average: average.profit.realised },
    unrealised:
      value === undefined ? undefined : { fifo: value - cost.fifo, average: value - cost.average },
    proceedsOfUnknownCost: fifo.profit.proceedsOfUnknownCost,
  }
}

function sumOf(each: readonly BothWays[]): BothWays {
  return {
    fifo: each.reduce((sum, { fifo }) => sum + fifo, 0n),
    average: each.reduce((sum, { average }) => sum + average, 0n),
  }
}
