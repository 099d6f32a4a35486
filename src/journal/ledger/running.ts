import type { Token } from '../../domain/money/token.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { formatDay } from '../../domain/schedule/civil-date.ts'
import { postingOf, type Recorded } from '../events/registry.ts'
import type { Trade } from './entry.ts'
import { Positions } from './positions.ts'

type Pending = { readonly trade: Trade; isFinal: boolean }

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
  readonly #pending: Pending[] = []
  #now: Now | undefined

  constructor(valueToken: Token) {
    this.#settled = new Positions('average', valueToken)
  }

  /** Returns whether the holdings changed. */
  post(recorded: Recorded): boolean {
    const posting = postingOf(recorded)
    switch (posting?.tag) {
      case 'final':
        for (const intentId of posting.intentIds) this.#settle(intentId)
        this.#drain()
        return false
      case 'undone':
        return this.#takeBack(posting.intentId)
      case 'entry':
        return posting.entry.type === 'trade' && this.#add(posting.entry, posting.isFinal)
      default:
        return false
    }
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
      for (const { trade } of this.#pending) addToDay(days, trade, positions.take(trade))
      this.#now = { positions, days }
    }
    return this.#now
  }

  #add(trade: Trade, isFinal = false): boolean {
    this.#pending.push({ trade, isFinal })
    this.#now = undefined
    this.#drain()
    return true
  }

  #settle(intentId: IntentId): void {
    for (const each of this.#pending) if (each.trade.intentId === intentId) each.isFinal = true
  }

  #takeBack(intentId: IntentId): boolean {
    const at = this.#pending.findLastIndex(({ trade }) => trade.intentId === intentId)
    if (at === -1) return false
    this.#pending.splice(at, 1)
    this.#now = undefined
    return true
  }

  /** Applies trades in order: a final trade waits for an earlier one that is not final. */
  #drain(): void {
    let done = 0
    for (const { trade, isFinal } of this.#pending) {
      if (!isFinal) break
      addToDay(this.#settledDays, trade, this.#settled.take(trade))
      done += 1
    }
    this.#pending.splice(0, done)
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
