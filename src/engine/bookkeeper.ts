import type { Fact } from '../domain/book/fact.ts'
import type { Told } from '../domain/book/tell.ts'
import { RunningPositions } from '../domain/ledger/running.ts'
import { standingOf } from '../domain/ledger/standing.ts'
import type { Observation } from '../domain/observation.ts'
import type { Token } from '../domain/token.ts'
import { type Address, mulDivDown, type Ratio } from '../domain/units.ts'

export type BookkeeperInput = {
  /** Everything is valued in it. */
  readonly valueToken: Token
  readonly observe: (event: Observation) => void
}

/**
 * Tells what is held of what was bought, what it cost and what came of it, whenever that changes or the wallet was valued. Nothing is
 * decided by it. Until the journal was read back nothing is told, for half of it would be wrong.
 */
export class Bookkeeper {
  readonly #input: BookkeeperInput
  readonly #running: RunningPositions
  /** Facts that come while the journal is read; undefined from then on. */
  #waiting: { readonly fact: Fact; readonly atMs: number }[] | undefined = []
  #prices: ReadonlyMap<Address, Ratio | undefined> = new Map()

  constructor(input: BookkeeperInput) {
    this.#input = input
    this.#running = new RunningPositions(input.valueToken)
  }

  saw(event: Observation): void {
    if (event.type !== 'portfolio') return
    this.#prices = new Map(event.holdings.map(({ address, price }) => [address, price]))
    this.#tell()
  }

  told(fact: Fact, atMs: number): void {
    if (this.#waiting !== undefined) this.#waiting.push({ fact, atMs })
    else if (this.#running.post(fact, atMs)) this.#tell()
  }

  /** Reads what was recorded up to `lastSeq`; what comes after that is told as it happens. */
  async readBack(journal: AsyncIterable<Told>, lastSeq: number): Promise<void> {
    if (lastSeq > 0)
      for await (const { record, fact } of journal) {
        if (fact !== undefined && record.seq <= lastSeq) this.#running.post(fact, record.atMs)
        if (record.seq >= lastSeq) break
      }
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const { fact, atMs } of waiting) this.#running.post(fact, atMs)
    this.#tell()
  }

  #tell(): void {
    if (this.#waiting !== undefined) return
    const { valueToken, observe } = this.#input
    const worthOf = ({ address }: Token, amount: bigint): bigint | undefined => {
      if (address === valueToken.address) return amount
      const price = this.#prices.get(address)
      return price && mulDivDown(amount, price.num, price.den)
    }
    observe({ type: 'profit', ...standingOf(this.#running.positions, valueToken, worthOf) })
  }
}
