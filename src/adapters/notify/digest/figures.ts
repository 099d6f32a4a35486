import type { JournalRecord } from '../../../domain/book/journal.ts'
import type { Told } from '../../../domain/book/tell.ts'
import type { Outcome } from '../../../domain/intent.ts'
import type { Token } from '../../../domain/token.ts'

/** What was traded of one pair, in base units. */
export type Traded = { readonly sell: Token; readonly buy: Token; paid: bigint; received: bigint }

/** Slots that ended without a fill. */
type Unfilled = Exclude<Outcome, 'filled'>

/** What one strategy did in a period. */
export type StrategyFigures = {
  fills: number
  /** Contract calls. */
  calls: number
  /** Wei that calls were charged. */
  charged: bigint
  /** Fills that the chain took back. */
  undone: number
  readonly trades: Map<string, Traded>
  /** Slots by outcome, and by reason. */
  readonly unfilled: Map<Unfilled, Map<string, number>>
}

/** What happened in a period, by strategy. */
export type Figures = {
  readonly strategies: Map<string, StrategyFigures>
  /** Whether anything was recorded: while the daemon is down, nothing is. */
  records: number
}

export function noFigures(): Figures {
  return { strategies: new Map(), records: 0 }
}

/** Adds one record of the period. */
export function addTo(figures: Figures, { record, fact }: Told): void {
  figures.records += 1
  if (fact === undefined) {
    addBriefly(figures, record)
    return
  }
  switch (fact.type) {
    case 'filled':
      addTrade(of(figures, fact.strategy), fact)
      return
    case 'paper-filled':
      if (fact.swap === undefined) of(figures, fact.strategy).calls += 1
      else addTrade(of(figures, fact.strategy), fact.swap)
      return
    case 'executed': {
      const own = of(figures, fact.strategy)
      own.calls += 1
      own.charged += fact.costs.charged ?? 0n
      return
    }
    case 'fill-reopened':
      of(figures, fact.strategy).undone += 1
      return
    case 'slot-closed':
      if (fact.outcome !== 'filled')
        addUnfilled(of(figures, fact.strategy), {
          ...{ outcome: fact.outcome, reason: fact.reason },
          count: fact.count ?? 1,
        })
      return
    default:
  }
}

/** Of an order that was begun before the files that were read: its amounts are not at hand. */
function addBriefly(figures: Figures, { event }: JournalRecord): void {
  if (event.type !== 'fill-proven' && event.type !== 'call-proven') return
  const own = of(figures, event.intentId.split(':')[0] ?? '')
  if (event.type === 'fill-proven') own.fills += 1
  else own.calls += 1
}

function of({ strategies }: Figures, strategy: string): StrategyFigures {
  const known = strategies.get(strategy)
  if (known !== undefined) return known
  const counts = { fills: 0, calls: 0, charged: 0n, undone: 0 }
  const figures: StrategyFigures = { ...counts, trades: new Map(), unfilled: new Map() }
  strategies.set(strategy, figures)
  return figures
}

function addTrade(own: StrategyFigures, { sell, buy, paid, received }: Traded): void {
  own.fills += 1
  const pair = `${sell.symbol} ${buy.symbol}`
  const traded = own.trades.get(pair) ?? { sell, buy, paid: 0n, received: 0n }
  traded.paid += paid
  traded.received += received
  own.trades.set(pair, traded)
}

function addUnfilled(
  own: StrategyFigures,
  { outcome, reason, count }: { outcome: Unfilled; reason: string; count: number },
): void {
  const reasons = own.unfilled.get(outcome) ?? new Map<string, number>()
  reasons.set(reason, (reasons.get(reason) ?? 0) + count)
  own.unfilled.set(outcome, reasons)
}
