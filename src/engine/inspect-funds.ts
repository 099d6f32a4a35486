import { usualSliceOf } from '../decide/twap.ts'
import { NO_MEMORY } from '../domain/book/memory.ts'
import { acceptPath, type PriceFeed } from '../domain/price.ts'
import type { Strategy } from '../domain/strategy.ts'
import { ETHER, NATIVE_TOKEN, type Token } from '../domain/token.ts'
import type { Ratio } from '../domain/units.ts'
import type { OrderContext } from '../execute/context.ts'
import type { ChainView } from '../ports.ts'
import { portfolioOf } from './portfolio.ts'
import { dcaBound } from './spend.ts'
import { balancesOf, GAS_RESERVE_WEI } from './view.ts'

/** What is looked at once a minute for those who watch, whether or not anything is due. Nothing is decided by it. */
export type Looking = {
  readonly context: OrderContext
  /** Name of the wallet that trades. */
  readonly wallet: string
  readonly feeds: readonly PriceFeed[]
  /** Those with a slot ahead. */
  readonly strategies: readonly Strategy[]
  /** All that the wallet may hold, whether or not anything trades it. */
  readonly tokens: readonly Token[]
}

/** Tells all that one whole read of the market shows: holdings, their value, feeds, needs and clocks. */
export function reportLook(looking: Looking, view: ChainView): void {
  const { feeds, context } = looking
  const { observe } = context.ports
  for (const { pair, maxAgeSeconds } of feeds) {
    const updatedAtSeconds = view.readings.get(pair)?.updatedAtSeconds
    observe({ type: 'feed-read', pair, updatedAtSeconds, maxAgeSeconds })
  }
  reportPortfolio(looking, view)
  reportNeeds(looking, view)
  reportClocks(looking, view)
}

/** Tells what of the wallet a read shows. */
export function reportBalances(
  { context, wallet }: Pick<Looking, 'context' | 'wallet'>,
  tokens: readonly Token[],
  view: ChainView,
): void {
  for (const { symbol: token, amount, decimals } of balancesOf(tokens, view))
    context.ports.observe({ type: 'wallet-balance', wallet, token, amount, decimals })
}

function reportPortfolio({ context, feeds, tokens }: Looking, view: ChainView): void {
  const { mode, pricePath, ports } = context
  const paper = mode === 'dry-run' ? ports.journal.state.paper : undefined
  const portfolio = portfolioOf(view, { tokens, feeds, pricePath, paper })
  ports.observe({ type: 'portfolio', ...portfolio })
}

/**
 * What the next slot of each strategy that sells by the clock alone takes at the most. What may be triggered one day is no need:
 * a wallet without it lacks nothing today.
 */
function reportNeeds({ context, wallet, strategies, tokens }: Looking, view: ChainView): void {
  const needs = new Map<string, bigint>()
  for (const strategy of strategies) {
    const { state } = context.ports.journal
    if (state.strategies.get(strategy.name)?.paused !== undefined) continue
    const need = needOf(context, strategy, view)
    if (need === undefined) continue
    needs.set(need.symbol, (needs.get(need.symbol) ?? 0n) + need.amount)
  }
  const { observe } = context.ports
  const tell = ({ symbol: token, decimals }: Token, amount: bigint | undefined): void =>
    observe({ type: 'wallet-needed', wallet, token, amount, decimals })
  for (const token of tokens)
    if (token.address !== NATIVE_TOKEN) tell(token, needs.get(token.symbol))
  tell(ETHER, (needs.get(ETHER.symbol) ?? 0n) + GAS_RESERVE_WEI)
}

function needOf(
  { pricePath, ports }: OrderContext,
  strategy: Strategy,
  view: ChainView,
): { readonly symbol: string; readonly amount: bigint } | undefined {
  if (strategy.kind !== 'dca' && strategy.kind !== 'twap') return undefined
  const { token, native } = strategy.sell
  const symbol = native ? ETHER.symbol : token.symbol
  const record = ports.journal.state.strategies.get(strategy.name)
  const priceOf = (sell: Token, buy: Token): Ratio | undefined => {
    const answer = acceptPath(pricePath(sell, buy), view.readings, view.blockTimeSeconds)
    return answer.ok ? answer.price.ratio : undefined
  }
  const spent = record?.spent.get(token.address) ?? 0n
  const memory = record?.memory ?? NO_MEMORY
  const amount =
    strategy.kind === 'dca'
      ? dcaBound(strategy, { priceOf })
      : usualSliceOf(strategy, { memory, spent })
  return amount === undefined ? undefined : { symbol, amount }
}

function reportClocks({ context }: Looking, view: ChainView): void {
  const { clock, gasless, observe } = context.ports
  const blockMs = view.blockTimeSeconds * 1_000
  const source = context.gasless.chain
  observe({ type: 'clock-offset', source, offsetMs: blockMs - clock.now() })
  const offsetMs = gasless.clockOffsetMs()
  if (offsetMs !== undefined) observe({ type: 'clock-offset', source: 'gasless', offsetMs })
}
