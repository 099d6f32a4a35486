import { amountText, unknownCostText } from '../../../domain/money/amount-text.ts'
import { ETHER } from '../../../domain/money/token.ts'
import { type Address, formatAmount } from '../../../domain/money/units.ts'
import { formatDay } from '../../../domain/schedule/civil-date.ts'
import type { AccountLimits, Settings } from '../../../domain/settings.ts'
import { doingOf, overdueAtMs } from '../../../journal/order-progress.ts'
import { type CapUse, capsOf } from '../../../journal/projections/limits.ts'
import type { DaemonState, OpenIntent } from '../../../journal/state/daemon-state.ts'
import { makesCalls, type Strategy } from '../../../strategies/registry.ts'
import { byVenue, deadlineOf, projectionOf } from '../../../venues/projections.ts'
import type { GasTankRow, LimitRow, OrderRow, Overview, ProfitRow } from '../model.ts'
import { createExplorer } from './fill-rows.ts'
import type { Observations } from './observations.ts'
import { isFinished, stoppedOf } from './strategy-rows.ts'
import { decimalText, type Valued } from './valuation.ts'

const ORDERS_MAX = 100
const LIMITS_MAX = 60
const SHARE_PARTS = 10_000n

export type PageSubject = {
  /** Read-only. */
  readonly state: DaemonState
  readonly wallets: ReadonlyMap<string, Address>
  readonly ready: () => Overview['ready']
  /** What unsigned orders wait for, in words, by intent. */
  readonly waits: () => ReadonlyMap<string, string>
}

type OverviewParts = {
  readonly settings: Settings
  readonly version: string
  readonly startedAtMs: number
  readonly subject: PageSubject
  readonly strategies: readonly Strategy[]
  readonly account: AccountLimits
  readonly observations: Observations
  readonly valued: Valued
  readonly nowMs: number
}

/** Everything except rows of strategies and fills. The sender adds revision and time. */
export function overviewOf(parts: OverviewParts): Omit<Overview, 'revision' | 'atMs'> {
  const { settings, subject, strategies, observations, account, nowMs } = parts
  const { state, wallets } = subject
  const orders = openOrders(parts)
  const enabled = strategies.filter((strategy) => strategy.enabled)
  const paused = enabled.filter(({ name }) => state.strategies.get(name)?.paused !== undefined)
  const finished = enabled.filter((strategy) => {
    const { name } = strategy
    return isFinished(strategy, state.strategies.get(name), observations.strategies.get(name))
  })
  const tokens = [...settings.tokens.values(), ETHER]
  let fills = 0
  for (const record of state.strategies.values()) fills += record.fills
  return {
    version: parts.version,
    mode: settings.mode,
    startedAtMs: parts.startedAtMs,
    ready: subject.ready(),
    halted: stoppedOf(state.halted),
    control: settings.http.control !== undefined,
    stale: observations.stale ?? null,
    wallets: [...wallets].map(([name, address]) => {
      const chain = name === settings.gasless.wallet ? settings.gasless : settings.aggregator
      const explorer = createExplorer(chain && settings.chains.get(chain.chain))
      return { name, address, explorerUrl: explorer.address(address) }
    }),
    ...parts.valued,
    profit: profitOf(observations.profit),
    gasTank: gasTankOf(parts),
    tradedToday: tradedToday(observations.profitAtReading, nowMs),
    maxDeviationBps: account.maxDeviationBps,
    limits: limitRows(capsOf(state, { strategies: enabled, account, tokens, nowMs })),
    orders: orders.slice(0, ORDERS_MAX).map((order) => orderRow(order, parts)),
    counts: {
      strategies: strategies.length,
      active: enabled.length - paused.length - finished.length,
      finished: finished.length,
      paused: paused.length,
      fills,
      unresolved: state.intents.size,
      overdue: orders.filter(({ isOverdue }) => isOverdue).length,
    },
  }
}

type OpenOrder = { readonly open: OpenIntent; readonly isOverdue: boolean }

/** Overdue orders first, then the oldest. */
function openOrders({ settings, subject, nowMs }: OverviewParts): readonly OpenOrder[] {
  const finality = byVenue(
    ({ chainIn }) => settings.chains.get(chainIn(settings) ?? '')?.finality ?? 0,
  )
  return [...subject.state.intents.values()]
    .map((open) => ({ open, isOverdue: overdueAtMs(open, finality[open.venue]) < nowMs }))
    .sort(
      (a, b) =>
        Number(b.isOverdue) - Number(a.isOverdue) ||
        a.open.openedAtMs - b.open.openedAtMs ||
        (a.open.intent.id < b.open.intent.id ? -1 : 1),
    )
}

function orderRow({ open, isOverdue }: OpenOrder, parts: OverviewParts): OrderRow {
  const { subject, nowMs } = parts
  const { intent, venue, attempt, openedAtMs } = open
  return {
    intentId: intent.id,
    strategy: intent.strategy,
    slotSeconds: intent.slotSeconds,
    venue,
    what: projectionOf(open).describe(intent),
    state: open.state,
    attempt,
    openedAtMs,
    deadlineSeconds: deadlineOf(open) ?? null,
    doing: doingOf(subject.state, open, { nowMs, waitsFor: subject.waits().get(intent.id) }),
    overdue: isOverdue,
  }
}

function limitRows(uses: readonly CapUse[]): readonly LimitRow[] {
  const shared = uses.map((use) => ({ use, share: shareOf(use) }))
  const own = shared.filter(({ use }) => use.strategy === undefined)
  const others = shared.filter(({ use }) => use.strategy !== undefined)
  return [...own, ...others.sort((a, b) => b.share - a.share)]
    .slice(0, LIMITS_MAX)
    .map(({ use: { strategy, token, window, used, cap, freesAtMs }, share }) => ({
      strategy: strategy ?? null,
      token: token.symbol,
      window,
      used: formatAmount(used, token.decimals),
      cap: formatAmount(cap, token.decimals),
      share,
      freesAtMs: freesAtMs ?? null,
    }))
}

/** A cap of zero is full. */
function shareOf({ used, cap }: CapUse): number {
  return cap === 0n ? 1 : Number((used * SHARE_PARTS) / cap) / Number(SHARE_PARTS)
}

function profitOf(seen: Observations['profit']): ProfitRow | null {
  if (seen === undefined) return null
  const { valueToken, cost, realised, unrealised, held, days } = seen
  const text = (amount: bigint): string => formatAmount(amount, valueToken.decimals)
  return {
    token: valueToken.symbol,
    cost: text(cost),
    realised: text(realised),
    unrealised: decimalText(unrealised, valueToken.decimals),
    held: held.map(({ token, amount, ofUnknownCost: unknown, paidWith, cost: own, profit }) => ({
      token: token.symbol,
      amount: formatAmount(amount, token.decimals),
      unknownCost: unknown === 0n ? '' : unknownCostText(amountText(unknown, token), paidWith),
      cost: amount === unknown && own === 0n ? null : text(own),
      profit: amount === unknown ? null : decimalText(profit, valueToken.decimals),
    })),
    days: days.map(({ realised: ofDay, againstFeed, ...day }) => ({
      ...day,
      realised: text(ofDay),
      againstFeed: decimalText(againstFeed, valueToken.decimals),
    })),
  }
}

function tradedToday(seen: Observations['profit'], nowMs: number): string | null {
  if (seen === undefined) return null
  const { days, valueToken } = seen
  const today = formatDay(Math.floor(nowMs / 1000))
  const traded = days.find(({ day }) => day === today)
  return decimalText(traded === undefined ? 0n : traded.againstFeed, valueToken.decimals)
}

/** Null without an aggregator, or if nothing requests its funds: a dry-run, or no enabled strategy with calls. */
function gasTankOf({ settings, strategies, observations }: OverviewParts): GasTankRow | null {
  const { aggregator, mode } = settings
  if (aggregator === undefined) return null
  const seen = observations.gasTank
  const isRequested =
    mode !== 'dry-run' && strategies.some((each) => each.enabled && makesCalls(each))
  if (seen === undefined && !isRequested) return null
  const known = seen?.type === 'gas-tank' ? seen : undefined
  const failure = seen?.type === 'gas-tank-unknown' ? seen.message : null
  return {
    account: aggregator.wallet,
    balance: decimalText(known?.balance, ETHER.decimals),
    outstanding: decimalText(known?.outstanding, ETHER.decimals),
    available: decimalText(known && known.balance - known.outstanding, ETHER.decimals),
    runwaySeconds: known?.runwaySeconds ?? null,
    alertBelow: decimalText(aggregator.gasTank.alertBelowWei, ETHER.decimals),
    unknown: seen === undefined ? 'not requested yet' : failure,
  }
}
