import { type PriceFeed, pricesAt } from '../domain/money/price.ts'
import { ETHER, NATIVE_TOKEN, shownToken, type Token } from '../domain/money/token.ts'
import { hasLiveAuthorization } from '../domain/order/order.ts'
import { hasSwaps } from '../domain/settings.ts'
import type { ChainView } from '../ports.ts'
import { NO_PROGRESS } from '../strategies/kind.ts'
import { kindOf, type Strategy } from '../strategies/registry.ts'
import type { OrderContext } from '../venues/context.ts'
import { portfolioOf } from './accounts/portfolio.ts'
import { GAS_RESERVE_WEI } from './market-snapshot.ts'

/** Inputs of the report made every minute. The report is informational only. */
export type FundsInspection = {
  readonly context: OrderContext
  readonly wallet: string
  readonly strategies: readonly Strategy[]
  /** All config tokens on the wallet's chain. */
  readonly tokens: readonly Token[]
  readonly feeds: readonly PriceFeed[]
}

/** Reports one full market read: holdings, their value, feeds, needs and clocks. */
export function reportMarket(inspection: FundsInspection, view: ChainView): void {
  const { feeds, context } = inspection
  const { observe } = context.ports
  for (const { pair, maxAgeSeconds } of feeds) {
    const updatedAtSeconds = view.readings.get(pair)?.updatedAtSeconds
    observe({ type: 'feed-read', pair, updatedAtSeconds, maxAgeSeconds })
  }
  reportPortfolio(inspection, view)
  reportNeeds(inspection, view)
  reportClocks(inspection, view)
}

export function reportBalances(
  { context, wallet }: Pick<FundsInspection, 'context' | 'wallet'>,
  tokens: readonly Token[],
  view: ChainView,
): void {
  const report = ({ symbol: token, decimals }: Token, amount: bigint | undefined): void =>
    context.ports.observe({ type: 'wallet-balance', wallet, token, amount, decimals })
  report(ETHER, view.nativeBalance)
  for (const token of tokens)
    if (token.address !== NATIVE_TOKEN) report(token, view.balances.get(token.address))
}

function reportPortfolio({ context, feeds, tokens }: FundsInspection, view: ChainView): void {
  const { mode, pricePath, ports } = context
  const paper = mode === 'dry-run' ? ports.journal.state.paper : undefined
  const portfolio = portfolioOf(view, { tokens, feeds, pricePath, paper })
  ports.observe({ type: 'portfolio', ...portfolio })
}

/** Reports the maximum that each scheduled strategy sells in its next slot. Price-triggered sales do not count. */
function reportNeeds(
  { context, wallet, strategies, tokens }: FundsInspection,
  view: ChainView,
): void {
  const needs = new Map<string, bigint>()
  for (const strategy of strategies) {
    const { state } = context.ports.journal
    if (state.strategies.get(strategy.name)?.paused !== undefined) continue
    const need = needOf(context, strategy, view)
    if (need === undefined) continue
    needs.set(need.symbol, (needs.get(need.symbol) ?? 0n) + need.amount)
  }
  const { observe } = context.ports
  const report = ({ symbol: token, decimals }: Token, amount: bigint | undefined): void =>
    observe({ type: 'wallet-needed', wallet, token, amount, decimals })
  for (const token of tokens)
    if (token.address !== NATIVE_TOKEN) report(token, needs.get(token.symbol))
  const reserve = hasSwaps(context) ? GAS_RESERVE_WEI : 0n
  report(ETHER, (needs.get(ETHER.symbol) ?? 0n) + reserve)
}

function needOf(
  { pricePath, ports }: OrderContext,
  strategy: Strategy,
  view: ChainView,
): { readonly symbol: string; readonly amount: bigint } | undefined {
  const priceOf = pricesAt(pricePath, view)
  const progress = ports.journal.state.strategies.get(strategy.name) ?? NO_PROGRESS
  const kind = kindOf(strategy)
  const [asset] = kind.sells(strategy)
  const amount = kind.nextSale(strategy, { progress, priceOf })
  if (asset === undefined || amount === undefined) return undefined
  return { symbol: shownToken(asset).symbol, amount }
}

function reportClocks({ context }: FundsInspection, view: ChainView): void {
  const { clock, gasless, observe } = context.ports
  const blockMs = view.blockTimeSeconds * 1_000
  const source = context.gasless.chain
  observe({ type: 'clock-offset', source, offsetMs: blockMs - clock.now() })
  const offsetMs = gasless.clockOffsetMs()
  if (offsetMs !== undefined) observe({ type: 'clock-offset', source: 'gasless', offsetMs })
}

/** Reports how many orders are open, at each turn of the loop. */
export function reportOpen(context: OrderContext): void {
  let openPermits = 0
  const { intents } = context.ports.journal.state
  for (const open of intents.values()) if (hasLiveAuthorization(open.state)) openPermits += 1
  context.ports.observe({ type: 'open-orders', openPermits, unresolvedIntents: intents.size })
}
