import type { Token } from '../../../domain/money/token.ts'
import type { Outcome } from '../../../domain/order/intent.ts'
import type { AccountLimits } from '../../../domain/settings.ts'
import { callProven, fillProven } from '../../../journal/events/order/fills.ts'
import { fillIn, postingOf, type ReadRecord, strategyIn } from '../../../journal/events/registry.ts'
import { type SlotEnd, slotEndOf } from '../../../journal/events/strategy/slots.ts'
import type { FillEntry } from '../../../journal/ledger/entry.ts'
import { addTrade, type Traded } from '../../../journal/ledger/figures.ts'
import { type CapUse, capsOf } from '../../../journal/projections/limits.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import type { Strategy } from '../../../strategies/registry.ts'

export type StrategyFigures = {
  fills: number
  calls: number
  charged: bigint
  undone: number
  readonly trades: Map<string, Traded>
  readonly unfilled: Map<Exclude<Outcome, 'filled'>, Map<string, number>>
}

export type Figures = {
  readonly strategies: Map<string, StrategyFigures>
  /** 0 if no daemon ran. */
  records: number
}

export function noFigures(): Figures {
  return { strategies: new Map(), records: 0 }
}

export function addTo(figures: Figures, read: ReadRecord): void {
  figures.records += 1
  if (read.context === undefined) {
    addBriefly(figures, read)
    return
  }
  const end = slotEndOf(read.event)
  if (end !== undefined) addEnd(figures, end)
  const posting = postingOf(read)
  if (posting?.tag === 'undone') of(figures, strategyIn(read.event)).undone += 1
  const fill = fillIn(posting)
  if (fill !== undefined) addFill(of(figures, fill.strategy), fill)
}

/** The order began before the files that were read, so its amounts are unknown. */
function addBriefly(figures: Figures, { event }: ReadRecord): void {
  if (fillProven.is(event)) of(figures, strategyIn(event)).fills += 1
  else if (callProven.is(event)) of(figures, strategyIn(event)).calls += 1
}

function of({ strategies }: Figures, strategy = ''): StrategyFigures {
  const known = strategies.get(strategy)
  if (known !== undefined) return known
  const counts = { fills: 0, calls: 0, charged: 0n, undone: 0 }
  const figures: StrategyFigures = { ...counts, trades: new Map(), unfilled: new Map() }
  strategies.set(strategy, figures)
  return figures
}

function addFill(own: StrategyFigures, entry: FillEntry): void {
  if (entry.type === 'trade') {
    own.fills += 1
    addTrade(own.trades, entry)
  } else {
    own.calls += 1
    own.charged += entry.charged ?? 0n
  }
}

function addEnd(figures: Figures, { strategy, outcome, reason, count = 1 }: SlotEnd): void {
  if (outcome === 'filled') return
  const { unfilled } = of(figures, strategy)
  const reasons = unfilled.get(outcome) ?? new Map<string, number>()
  reasons.set(reason, (reasons.get(reason) ?? 0) + count)
  unfilled.set(outcome, reasons)
}

const FULL_PERCENT = 80n

type Balance = { readonly token: string; readonly amount: bigint; readonly decimals: number }

type Observed<Type extends RuntimeEvent['type']> = Extract<RuntimeEvent, { type: Type }>

export type Status = {
  readonly state: DaemonState
  /** By wallet and token; without balances that were not read. */
  readonly balances: ReadonlyMap<string, ReadonlyMap<string, Balance>>
  /** Undefined while unknown. */
  readonly gasTank: Observed<'gas-tank'> | undefined
  /** At average cost; undefined until the journal is read, and without a price feed. */
  readonly profit: Observed<'profit'> | undefined
  /** Undefined before the wallet is valued. */
  readonly portfolio: Observed<'portfolio'> | undefined
  readonly fullCaps: readonly CapUse[]
}

export type DaemonView = {
  readonly state: DaemonState
  readonly strategies: () => Iterable<Strategy>
  readonly account: AccountLimits
  readonly tokens: readonly Token[]
}

export type AccountWatch = ReturnType<typeof createAccountWatch>

/** Remembers figures that are not in any record. */
export function createAccountWatch() {
  const balances = new Map<string, Map<string, Balance>>()
  let gasTank: Status['gasTank']
  let profit: Status['profit']
  let portfolio: Status['portfolio']
  return {
    observe(event: RuntimeEvent): void {
      if (event.type === 'gas-tank') gasTank = event
      if (event.type === 'gas-tank-unknown') gasTank = undefined
      if (event.type === 'profit') profit = event
      if (event.type === 'portfolio') portfolio = event
      if (event.type !== 'wallet-balance') return
      const { wallet, token, amount, decimals } = event
      const own = balances.get(wallet) ?? new Map<string, Balance>()
      balances.set(wallet, own)
      if (amount === undefined) own.delete(token)
      else own.set(token, { token, amount, decimals })
    },
    status({ state, strategies, account, tokens }: DaemonView, nowMs: number): Status {
      const caps = capsOf(state, { strategies: strategies(), account, tokens, nowMs })
      const fullCaps = caps.filter(({ used, cap }) => used * 100n >= cap * FULL_PERCENT)
      return { state, balances, gasTank, profit, portfolio, fullCaps }
    },
  }
}
