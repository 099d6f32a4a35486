import { marketRatio } from '../../../src/domain/money/price.ts'
import type { Address, Ratio } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import { USDC, WETH, WETH_USDC } from '../stage.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { Ledger } from './ledger.ts'

const FEED_DECIMALS = 8
const STEP_MS = 600_000
const STEP_BPS_MAX = 40

/** One market, WETH against USDC, whose price follows a random walk and which the feed publishes every ten minutes. */
export class Market {
  #answer = 2_500n * 10n ** BigInt(FEED_DECIMALS)
  readonly #ledger: Ledger
  readonly #clock: VirtualClock
  readonly #random: SeededRandom

  constructor(parts: { ledger: Ledger; clock: VirtualClock; random: SeededRandom }) {
    this.#ledger = parts.ledger
    this.#clock = parts.clock
    this.#random = parts.random
    this.#publish()
  }

  /** Sets the price of one WETH in whole USDC. */
  setPrice(usdc: bigint): void {
    this.#answer = usdc * 10n ** BigInt(FEED_DECIMALS)
    this.#updateFeed()
  }

  /** The current market price, sell base units per buy base unit. */
  priceOf(sell: Address, buy: Address): Ratio | undefined {
    const known = [USDC.address, WETH.address]
    if (!known.includes(sell) || !known.includes(buy) || sell === buy) return undefined
    const reading = this.#ledger.reading(WETH_USDC.feed)
    if (reading === undefined) return undefined
    return marketRatio(
      [{ feed: WETH_USDC, inverted: buy === USDC.address }],
      new Map([[WETH_USDC.pair, { ...reading, sequencer: undefined }]]),
    )
  }

  #publish(): void {
    this.#updateFeed()
    this.#clock.schedule(this.#clock.trueMs + STEP_MS, () => {
      const bps = BigInt(10_000 + this.#random.between(-STEP_BPS_MAX, STEP_BPS_MAX))
      this.#answer = (this.#answer * bps) / 10_000n
      this.#publish()
    })
  }

  #updateFeed(): void {
    this.#ledger.setReading(WETH_USDC.feed, { answer: this.#answer, decimals: FEED_DECIMALS })
  }
}
