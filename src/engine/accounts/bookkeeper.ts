import type { Token } from '../../domain/money/token.ts'
import { type Address, mulDivDown, type Ratio } from '../../domain/money/units.ts'
import type { ReadRecord, Recorded } from '../../journal/events/registry.ts'
import { accountStatusOf } from '../../journal/ledger/account-status.ts'
import { RunningPositions } from '../../journal/ledger/running.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'

type Input = { readonly valueToken: Token; readonly observe: (event: RuntimeEvent) => void }

/**
 * Reports positions, their cost and their profit whenever they change or the wallet is valued. Informational only. Reports
 * nothing before the whole journal has been read.
 */
export class Bookkeeper {
  readonly #input: Input
  readonly #running: RunningPositions
  /** Records that arrive while the journal is read; undefined afterwards. */
  #waiting: Recorded[] | undefined = []
  #prices: ReadonlyMap<Address, Ratio | undefined> = new Map()

  constructor(input: Input) {
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

  /** Reads records up to `lastSeq`; later ones arrive through `recorded`. */
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
    const days = [...this.#running.days].map(([day, { fills, realised, againstFeed }]) => {
      return { day, fills, realised, againstFeed: sumOf(againstFeed, worthOf) }
    })
    const account = accountStatusOf(this.#running.positions, valueToken, worthOf)
    observe({ type: 'profit', ...account, days })
  }
}

/** Undefined if one of the tokens has no price now. */
function sumOf(
  amounts: ReadonlyMap<Token, bigint>,
  worthOf: (token: Token, amount: bigint) => bigint | undefined,
): bigint | undefined {
  let sum = 0n
  for (const [token, amount] of amounts) {
    const worth = worthOf(token, amount < 0n ? -amount : amount)
    if (worth === undefined) return undefined
    sum += amount < 0n ? -worth : worth
  }
  return sum
}
