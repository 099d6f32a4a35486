import type { Token } from '../../domain/money/token.ts'
import { type Address, mulDivDown, type Ratio } from '../../domain/money/units.ts'
import type { ReadRecord, Recorded } from '../../journal/events/registry.ts'
import { accountStatusOf } from '../../journal/ledger/account-status.ts'
import { RunningPositions } from '../../journal/ledger/running.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'

type BookkeeperInput = {
  readonly valueToken: Token
  readonly observe: (event: RuntimeEvent) => void
}

/**
 * Reports what is held of what was bought, what it cost and what came of it, whenever that changes or the wallet was valued. Nothing
 * is decided by it. Until the journal was read back nothing is reported, for half of it would be wrong.
 */
export class Bookkeeper {
  readonly #input: BookkeeperInput
  readonly #running: RunningPositions
  /** Records that come while the journal is read; undefined from then on. */
  #waiting: Recorded[] | undefined = []
  #prices: ReadonlyMap<Address, Ratio | undefined> = new Map()

  constructor(input: BookkeeperInput) {
    this.#input = input
    this.#running = new RunningPositions(input.valueToken)
  }

  saw(event: RuntimeEvent): void {
    if (event.type !== 'portfolio') return
    this.#prices = new Map(event.holdings.map(({ address, price }) => [address, price]))
    this.#report()
  }

  recorded(entry: Recorded): void {
    if (this.#waiting !== undefined) this.#waiting.push(entry)
    else if (this.#running.post(entry)) this.#report()
  }

  /** Reads what was recorded up to `lastSeq`; what comes after that is counted as it happens. */
  async readBack(journal: AsyncIterable<ReadRecord>, lastSeq: number): Promise<void> {
    if (lastSeq > 0)
      for await (const read of journal) {
        const { seq } = read.record
        if (read.context !== undefined && seq <= lastSeq) this.#running.post(read)
        if (seq >= lastSeq) break
      }
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const entry of waiting) this.#running.post(entry)
    this.#report()
  }

  #report(): void {
    if (this.#waiting !== undefined) return
    const { valueToken, observe } = this.#input
    const worthOf = ({ address }: Token, amount: bigint): bigint | undefined => {
      if (address === valueToken.address) return amount
      const price = this.#prices.get(address)
      return price && mulDivDown(amount, price.num, price.den)
    }
    observe({ type: 'profit', ...accountStatusOf(this.#running.positions, valueToken, worthOf) })
  }
}
