import { createPricePaths } from '../../../../domain/price.ts'
import type { Settings } from '../../../../domain/settings.ts'
import { pairsOf, readsMarket, type Strategy } from '../../../../domain/strategy.ts'
import type { Token } from '../../../../domain/token.ts'
import { type Address, formatBrief } from '../../../../domain/units.ts'
import { soldTokens } from '../../../../engine/spend.ts'
import type { ChainView } from '../../../../ports.ts'
import type { Asking } from '../../../compose/checkup.ts'
import { tradedTokens, wantedApproval } from '../../account/approvals.ts'
import { intentOf, reportOf, wantedOf } from '../../look/quote.ts'
import { type Looked, lookAndJudge, lookAtChain } from '../bounded.ts'
import { type Check, unknown } from '../check.ts'
import { judgeFeed } from '../judge/prices.ts'
import { judgeQuote } from '../judge/services.ts'
import { judgeRights, judgeTrader } from '../judge/trader.ts'
import { isSilent, type Known } from './known.ts'

/** The wallet and every feed at one block; undefined where there is nobody to ask, or nothing to ask for. */
export async function marketOf(
  { settings, owner }: Known,
  asking: Asking,
): Promise<{ readonly view: ChainView; readonly owner: Address } | string> {
  const chain = settings.chains.get(settings.gasless.chain)
  if (chain === undefined || isSilent(chain))
    return `the wallet that trades was not looked at: no node of ${settings.gasless.chain} can be asked`
  if (owner === undefined)
    return 'the wallet that trades was not looked at: its address is not known'
  const feeds = [...settings.prices.values()]
  const reply = await asking.view({ owner, tokens: tradedTokens(settings), feeds })
  return reply.ok
    ? { view: reply.value, owner }
    : `the wallet that trades could not be read: ${reply.fault.message}`
}

type Market = Looked<Awaited<ReturnType<typeof marketOf>>>

/** The wallet that trades, and every feed. */
export function judgeMarket(known: Known, market: Market): readonly Check[] {
  if (!market.ok) return market.checks
  if (typeof market.value === 'string') return [unknown('wallet', market.value)]
  const { view, owner } = market.value
  const { settings, state } = known
  const strategies = known.strategies.filter(({ enabled }) => enabled)
  const nowMs = view.blockTimeSeconds * 1_000
  const tokens = tradedTokens(settings).map((token) => ({
    token,
    sellers: strategies
      .filter((each) => soldTokens(each).some(({ address }) => address === token.address))
      .map(({ name }) => name),
    wanted: wantedApproval(token, { settings, strategies, state, nowMs }),
  }))
  const { approval } = settings.gasless
  const signs = settings.mode !== 'dry-run'
  return [
    ...judgeTrader({ owner, approval, view, tokens, signs }),
    ...[...settings.prices.values()].map((feed) =>
      judgeFeed({
        feed,
        reading: view.readings.get(feed.pair),
        nowSeconds: view.blockTimeSeconds,
        users: usersOf(feed.pair, settings, strategies),
      }),
    ),
  ]
}

/** Strategies whose orders are held against a feed, alone or crossed with others. */
function usersOf(
  pair: string,
  { prices }: Settings,
  strategies: readonly Strategy[],
): readonly string[] {
  const pathOf = createPricePaths(prices.values())
  return strategies
    .filter((strategy) => {
      if (!readsMarket(strategy)) return false
      const legs = pairsOf(strategy).flatMap(({ sell, buy }) => pathOf(sell, buy) ?? [])
      return legs.some(({ feed }) => feed.pair === pair)
    })
    .map(({ name }) => name)
}

/** What stands in Permit2's own table. */
export async function lookAtRights(
  { settings, owner }: Known,
  asking: Asking,
): Promise<readonly Check[]> {
  const chain = settings.chains.get(settings.gasless.chain)
  // Of both it is said already why nothing is known.
  if (chain === undefined || isSilent(chain) || owner === undefined) return []
  const tokens = tradedTokens(settings)
  return lookAtChain(
    'permit2-rights',
    () => asking.rights(owner, tokens),
    (rights) => judgeRights(rights, { tokens, nowMs: asking.now() }),
  )
}

/** One quote of the first strategy that can say what it would ask for. */
export async function lookAtQuote(
  { settings, strategies }: Known,
  market: Market,
  asking: Asking,
): Promise<readonly Check[]> {
  const swaps = strategies.filter((each) => each.enabled).filter(readsMarket)
  if (swaps.length === 0) return []
  if (!market.ok || typeof market.value === 'string')
    return [unknown('quote', 'no quote was asked for: there is nothing to hold it against')]
  const { view, owner } = market.value
  for (const strategy of swaps) {
    const wanted = wantedOf(strategy, strategy.name)
    if (typeof wanted === 'string') continue
    const intent = intentOf(wanted, owner)
    return lookAndJudge(
      'quote',
      () => asking.quote(intent),
      ({ reply, nowMs }) => {
        const { name } = strategy
        if (!reply.ok) return [judgeQuote({ strategy: name, reply })]
        const quoted = reply.value
        const { refusal } = reportOf({ settings, market: { view }, intent, quoted, nowMs })
        const sells = briefText(quoted.sellAmount, intent.sell.token)
        const buys = briefText(quoted.buyAmount, intent.buy.token)
        return [judgeQuote({ strategy: name, reply: { ok: true, refusal, sells, buys } })]
      },
    )
  }
  return [
    unknown(
      'quote',
      'no quote was asked for: what is traded depends on what the wallet holds',
      '`tranched quote --sell TOKEN --buy TOKEN --amount N` asks for one',
    ),
  ]
}

function briefText(amount: bigint, { decimals, symbol }: Token): string {
  return `${formatBrief(amount, decimals)} ${symbol}`
}
