import type { Token } from '../../domain/money/token.ts'
import { type Address, mulDivDown, type Ratio } from '../../domain/money/units.ts'
import { postingOf, type Recorded } from '../../journal/events/registry.ts'
import { accountStatusOf } from '../../journal/ledger/account-status.ts'
import type { Posting } from '../../journal/ledger/entry.ts'
import { RunningPositions } from '../../journal/ledger/running.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Posted } from '../../journal/segment-summary.ts'

type Input = { readonly valueToken: Token; readonly observe: (event: RuntimeEvent) => void }

/**
 * Reports positions, their cost and their profit whenever they change or the wallet is valued. Informational only. Reports
 * nothing before the whole journal has been read.
 */
export class Bookkeeper {
  readonly #input: Input
  readonly #running: RunningPositions
  /** Changes to the ledger that arrive while the journal is read; undefined afterwards. */
  #waiting: Posting[] | undefined = []
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
    const posting = postingOf(entry)
    if (this.#waiting !== undefined) this.#waiting.push(posting)
    else if (this.#running.post(posting)) this.#report()
  }

  /** Reads changes of records up to `lastSeq`; later ones arrive through `recorded`. */
  async readBack(posted: AsyncIterable<Posted>, lastSeq: number): Promise<void> {
    for await (const [seq, posting] of posted) {
      if (seq > lastSeq) break
      this.#running.post(posting)
    }
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const posting of waiting) this.#running.post(posting)
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
