import { capsOf } from '../../domain/book/caps.ts'
import type { DaemonState } from '../../domain/book/state.ts'
import type { AccountLimits, Finality, Mode } from '../../domain/settings.ts'
import { makesCalls, type Strategy } from '../../domain/strategy.ts'
import type { Token } from '../../domain/token.ts'
import { ETHER } from '../../domain/token.ts'
import { formatAmount } from '../../domain/units.ts'
import { limitRows } from './limit-rows.ts'
import type { GasTankRow, Overview, ProfitRow } from './model.ts'
import { orderRows } from './order-rows.ts'
import type { SeenGasTank, Sightings } from './sightings.ts'
import type { Valued } from './valuation.ts'

/** What an overview is made of, beside what was seen. */
export type OverviewParts = {
  readonly version: string
  readonly mode: Mode
  readonly startedAtMs: number
  readonly wallets: Overview['wallets']
  readonly tokens: readonly Token[]
  readonly finality: { readonly gasless: Finality; readonly aggregated: Finality }
  /** The aggregator's; undefined without one. */
  readonly gasTank:
    | { readonly account: string; readonly alertBelowWei: bigint | undefined }
    | undefined
  readonly state: DaemonState
  /** The operator's files as they are now. */
  readonly strategies: readonly Strategy[]
  readonly account: AccountLimits
  readonly ready: { readonly ok: boolean; readonly reasons: readonly string[] }
  readonly sightings: Sightings
  readonly valued: Valued
  readonly nowMs: number
}

/** All but the strategies' rows and the fills. The revision and its time are the sender's. */
export function overviewOf(parts: OverviewParts): Omit<Overview, 'revision' | 'atMs'> {
  const { state, sightings, strategies, nowMs, ready } = parts
  const { finality, account, tokens } = parts
  const { waiting } = sightings
  const orders = orderRows(state, { nowMs, finality, waiting })
  const enabled = strategies.filter((strategy) => strategy.enabled)
  const paused = enabled.filter(({ name }) => state.strategies.get(name)?.paused !== undefined)
  let fills = 0
  for (const record of state.strategies.values()) fills += record.fills
  return {
    version: parts.version,
    mode: parts.mode,
    startedAtMs: parts.startedAtMs,
    ready: { ok: ready.ok, reasons: ready.reasons },
    halted: haltedOf(state),
    stale: sightings.stale ?? null,
    wallets: parts.wallets,
    ...parts.valued,
    profit: profitOf(sightings.profit),
    gasTank: gasTankOf(parts, sightings.gasTank),
    limits: limitRows(capsOf(state, { strategies: enabled, account, tokens, nowMs })),
    orders: orders.rows,
    counts: {
      strategies: strategies.length,
      active: enabled.length - paused.length,
      paused: paused.length,
      fills,
      unresolved: state.intents.size,
      overdue: orders.overdue,
    },
  }
}

function haltedOf({ halted }: DaemonState): Overview['halted'] {
  if (halted === undefined) return null
  const { atMs: sinceMs, cause, detail } = halted
  return { sinceMs, cause, detail }
}

function profitOf(seen: Sightings['profit']): ProfitRow | null {
  if (seen === undefined) return null
  const { valueToken, cost, realised, unrealised, held } = seen
  const text = (amount: bigint): string => formatAmount(amount, valueToken.decimals)
  return {
    token: valueToken.symbol,
    cost: text(cost),
    realised: text(realised),
    unrealised: unrealised === undefined ? null : text(unrealised),
    held: held.map(({ token, amount, cost: own, value }) => ({
      token: token.symbol,
      amount: formatAmount(amount, token.decimals),
      cost: text(own),
      value: value === undefined ? null : text(value),
    })),
  }
}

const NOTHING = { balance: null, outstanding: null, available: null, runwaySeconds: null }

/** Nothing where a run has no use for it, and so never asks. */
function gasTankOf(
  { gasTank: configured, strategies, mode }: OverviewParts,
  seen: SeenGasTank | undefined,
): GasTankRow | null {
  if (configured === undefined) return null
  const { account, alertBelowWei } = configured
  const alertBelow = alertBelowWei === undefined ? null : ether(alertBelowWei)
  if (seen === undefined) {
    const isAsked =
      mode !== 'dry-run' && strategies.some((each) => each.enabled && makesCalls(each))
    return isAsked ? { account, ...NOTHING, alertBelow, unknown: 'it was not asked for yet' } : null
  }
  if (seen.tag === 'unknown') return { account, ...NOTHING, alertBelow, unknown: seen.why }
  const { balance, outstanding, runwaySeconds } = seen.tank
  return {
    account,
    balance: ether(balance),
    outstanding: ether(outstanding),
    available: ether(balance - outstanding),
    runwaySeconds: runwaySeconds ?? null,
    alertBelow,
    unknown: null,
  }
}

function ether(wei: bigint): string {
  return formatAmount(wei, ETHER.decimals)
}
