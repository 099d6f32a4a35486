import type { Token } from '../../domain/money/token.ts'
import { formatDay } from '../../domain/schedule/civil-date.ts'
import type { Posting, Trade } from './entry.ts'
import { PendingTrades } from './pending-trades.ts'
import { Positions } from './positions.ts'

export type DayFigures = {
  readonly fills: number
  /** Base units of the value token, by average cost, as `report --by day`. */
  readonly realised: bigint
  /** Gain or loss against the feeds at signing, fees included: by token sold, in its base units. */
  readonly againstFeed: ReadonlyMap<Token, bigint>
}

const DAYS_MAX = 90
/** Parts of one: hundredths of basis points. */
const BPS_PARTS = 1_000_000n

/** UTC days as `2026-11-26`, oldest first. */
type Days = Map<string, DayFigures>

type Now = { readonly positions: Positions; readonly days: Days }

/**
 * Positions by average cost, updated record by record. Keeps one figure per token, and the trades that a reorganisation may
 * still remove.
 */
export class RunningPositions {
  readonly #settled: Positions
  readonly #settledDays: Days = new Map()
  readonly #pending = new PendingTrades((trade) =>
    addToDay(this.#settledDays, trade, this.#settled.take(trade)),
  )
  #now: Now | undefined

  constructor(valueToken: Token) {
    this.#settled = new Positions('average', valueToken)
  }

  /** Returns whether the holdings changed. */
  post(posting: Posting): boolean {
    const isChanged = this.#pending.post(posting)
    if (isChanged) this.#now = undefined
    return isChanged
  }

  get positions(): Positions {
    return this.#current().positions
  }

  /** The last days with trades. */
  get days(): ReadonlyMap<string, DayFigures> {
    return this.#current().days
  }

  #current(): Now {
    if (this.#now === undefined) {
      const [positions, days] = [this.#settled.copy(), new Map(this.#settledDays)]
      for (const { trade } of this.#pending.trades) addToDay(days, trade, positions.take(trade))
      this.#now = { positions, days }
    }
    return this.#now
  }
}

function addToDay(days: Days, { atMs, sell, paid, vsFeedBps }: Trade, realised: bigint): void {
  const day = formatDay(Math.floor(atMs / 1000))
  const known = days.get(day) ?? { fills: 0, realised: 0n, againstFeed: new Map() }
  const gained = (paid * BigInt(Math.round((vsFeedBps ?? 0) * 100))) / BPS_PARTS
  days.set(day, {
    fills: known.fills + 1,
    realised: known.realised + realised,
    againstFeed: new Map(known.againstFeed).set(sell, (known.againstFeed.get(sell) ?? 0n) + gained),
  })
  const [oldest] = days.keys()
  if (days.size > DAYS_MAX && oldest !== undefined) days.delete(oldest)
}
