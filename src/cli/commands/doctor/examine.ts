import type { DaemonState } from '../../../domain/book/state.ts'
import { createPricePaths } from '../../../domain/price.ts'
import type { ChainSettings, Settings } from '../../../domain/settings.ts'
import { makesCalls, pairsOf, readsMarket, type Strategy } from '../../../domain/strategy.ts'
import type { Token } from '../../../domain/token.ts'
import { type Address, formatBrief } from '../../../domain/units.ts'
import { soldTokens } from '../../../engine/spend.ts'
import type { AggregatorReply, ChainView, GasTankAccount } from '../../../ports.ts'
import type { Asking } from '../../compose/checkup.ts'
import { tradedTokens, wantedApproval } from '../account/approvals.ts'
import { intentOf, reportOf, wantedOf } from '../look/quote.ts'
import { type Looked, look, lookAndJudge, lookAtChain } from './bounded.ts'
import { type Check, unknown } from './check.ts'
import { addressesOf, judgeCode, judgeTokens } from './contracts.ts'
import { isUsable, judgeChain } from './nodes.ts'
import { judgeOperator } from './operator.ts'
import { judgeFeed } from './prices.ts'
import { judgeAggregator, judgeGasless, judgeQuote } from './services.ts'
import { judgeRights, judgeTrader } from './trader.ts'

/** What is known before anything outside is asked. */
export type Known = {
  readonly settings: Settings
  /** None where they cannot be read. */
  readonly strategies: readonly Strategy[]
  readonly state: DaemonState
  /** Of the wallet that trades; undefined where nothing says it. */
  readonly owner: Address | undefined
  readonly operator: Address | undefined
}

/** What chains came to: their nodes, and the settings with those alone that can be asked. */
export type ChainsLooked = {
  readonly checks: readonly Check[]
  readonly settings: Settings
  /** First block of the gasless service's chain, where a node said it. */
  readonly genesisHash: `0x${string}` | undefined
}

/** Meets every node of every chain, side by side. */
export async function lookAtChains(
  { settings }: Pick<Known, 'settings'>,
  asking: Asking,
): Promise<ChainsLooked> {
  const looked = await Promise.all(
    [...settings.chains.values()].map(async (chain) => {
      const nodes = await look('node', () => asking.nodes(chain), NODES_MS_MAX)
      if (!nodes.ok) return { chain: { ...chain, rpcUrls: [] }, checks: nodes.checks, first: [] }
      const sights = nodes.value
      const rpcUrls = chain.rpcUrls.filter((_, n) => {
        const sight = sights[n]
        return sight !== undefined && isUsable(sight, chain)
      })
      const checks = judgeChain({ chain, nodes: sights, nowMs: asking.now() })
      const first = sights.flatMap(({ met }) => (met.ok ? (met.value.genesisHash ?? []) : []))
      return { chain: { ...chain, rpcUrls }, checks, first }
    }),
  )
  const own = looked.find(({ chain }) => chain.name === settings.gasless.chain)
  return {
    checks: looked.flatMap(({ checks }) => checks),
    settings: { ...settings, chains: new Map(looked.map(({ chain }) => [chain.name, chain])) },
    genesisHash: own?.first[0],
  }
}

/** Nodes are asked two or three times in a row, each time for no longer than one look. */
const NODES_MS_MAX = 15_000

/** Everything that is asked of chains and services once it is known which nodes can be asked, side by side. */
export async function lookOutside(known: Known, asking: Asking): Promise<readonly Check[]> {
  const { chains } = known.settings
  const market = look('wallet', () => marketOf(known, asking))
  const checks = await Promise.all([
    ...[...chains.values()].map((chain) => lookAtContracts(known, chain, asking)),
    market.then((looked) => judgeMarket(known, looked)),
    lookAtRights(known, asking),
    lookAtGasless(known, asking),
    market.then((looked) => lookAtQuote(known, looked, asking)),
    lookAtOperator(known, asking),
  ])
  return checks.flat()
}

function isSilent({ rpcUrls }: ChainSettings): boolean {
  return rpcUrls.length === 0
}

async function lookAtContracts(
  { settings }: Known,
  chain: ChainSettings,
  asking: Asking,
): Promise<readonly Check[]> {
  const { name } = chain
  if (isSilent(chain))
    return [unknown('code', `${name}: its contracts were not looked at, for no node can be asked`)]
  const named = addressesOf(settings, name)
  const addresses = [...new Set(named.map(({ address }) => address))]
  const tokens = [...settings.tokens.values()].filter((token) => token.chain === name)
  const [code, decimals] = await Promise.all([
    lookAtChain(
      'code',
      () => asking.code(chain, addresses),
      (codes) => judgeCode(name, named, codes),
    ),
    tokens.length === 0
      ? []
      : lookAtChain(
          'token-decimals',
          () =>
            asking.tokens(
              chain,
              tokens.map(({ address }) => address),
            ),
          (seen) => judgeTokens(tokens, seen),
        ),
  ])
  return [...code, ...decimals]
}

/** The wallet and every feed at one block; undefined where there is nobody to ask, or nothing to ask for. */
async function marketOf(
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

function judgeMarket(known: Known, market: Market): readonly Check[] {
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

async function lookAtRights({ settings, owner }: Known, asking: Asking): Promise<readonly Check[]> {
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

async function lookAtOperator(
  { settings, strategies, operator: account }: Known,
  asking: Asking,
): Promise<readonly Check[]> {
  const { aggregator } = settings
  if (aggregator === undefined) return []
  const { operator } = asking
  if (operator === undefined || account === undefined)
    return [
      unknown('aggregator', 'the account behind calls was not looked at: its key is not at hand'),
    ]
  const chain = settings.chains.get(aggregator.chain)
  const isAsked = chain !== undefined && !isSilent(chain)
  const [{ checks, info }, sight] = await Promise.all([
    logIn(settings, operator),
    isAsked ? look('operator-delegation', operator.sight) : undefined,
  ])
  if (sight === undefined)
    return [
      ...checks,
      unknown(
        'operator-delegation',
        `the account behind calls was not looked at: no node of ${aggregator.chain} can be asked`,
      ),
    ]
  if (!sight.ok) return [...checks, ...sight.checks]
  const { value } = sight
  if (!value.ok)
    return [
      ...checks,
      unknown(
        'operator-delegation',
        `the account behind calls could not be read: ${value.fault.message}`,
      ),
    ]
  const callers = strategies
    .filter((each) => each.enabled && makesCalls(each))
    .map(({ name }) => name)
  return [
    ...checks,
    ...judgeOperator({ account, settings: aggregator, callers, info, ...value.value }),
  ]
}

/** A dry-run signs nothing, the login included. */
async function logIn(
  { mode }: Settings,
  operator: NonNullable<Asking['operator']>,
): Promise<{
  readonly checks: readonly Check[]
  readonly info: AggregatorReply<GasTankAccount> | undefined
}> {
  if (mode === 'dry-run')
    return {
      checks: [
        unknown(
          'aggregator',
          'the login to the aggregation service was not tried: a dry-run signs none',
        ),
      ],
      info: undefined,
    }
  const login = await look('aggregator', operator.login)
  if (!login.ok) return { checks: login.checks, info: undefined }
  const { reply, durationMs } = login.value
  return { checks: [judgeAggregator(reply, durationMs)], info: reply }
}

function lookAtGasless({ settings, strategies }: Known, asking: Asking): Promise<readonly Check[]> {
  const traded = strategies
    .filter(({ enabled }) => enabled)
    .flatMap(pairsOf)
    .flatMap(({ sell, buy }) => [sell.symbol, buy.symbol])
  return lookAndJudge(
    'gasless',
    () => asking.service(),
    ({ reply: tokens, ...sight }) =>
      judgeGasless({ tokens, ...sight, named: tradedTokens(settings), traded: new Set(traded) }),
  )
}

/** One quote of the first strategy that can say what it would ask for. */
async function lookAtQuote(
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
