import type { Mode } from '../../domain/settings.ts'
import {
  type HoldLifted,
  holdLifted,
  type StrategyHeld,
  strategyHeld,
} from '../../journal/events/strategy/stops.ts'
import type { DaemonState, Hold } from '../../journal/state/daemon-state.ts'
import type { ChainView, Modules } from '../../ports.ts'
import { digestOf, termsOf } from '../../signing/terms.ts'
import { type MarketView, type Skip, skip } from '../../strategies/decision/decision.ts'
import {
  type Implausible,
  implausibleIn,
  isBounded,
} from '../../strategies/decision/plausibility.ts'
import { kindOf, pairsOf, type Strategy } from '../../strategies/registry.ts'
import type { OrderContext } from '../../venues/context.ts'
import { type ViewContext, viewOf } from '../market-snapshot.ts'

export type FirstCheck = {
  /** Replaces the decision, because the strategy waits for approval. */
  readonly skip?: Skip
  readonly terms?: string
  readonly alongside: readonly (StrategyHeld | HoldLifted)[]
  /** A likely mistake that does not hold the strategy. */
  readonly warning?: string
}

const NOTHING_NEW: FirstCheck = { alongside: [] }
/** Messages shown; further ones are only counted. */
const SHOWN_MAX = 3

type Asked = {
  readonly state: DaemonState
  readonly mode: Mode
  /** Undefined if terms are not checked, as in a backtest. */
  readonly terms?: string | undefined
}

/**
 * Terms of a strategy with price levels, plus its feeds, which give the levels a meaning. Undefined for other strategies.
 */
export function termsOfPrices(
  strategy: Strategy,
  versionOf: Modules['versionOf'],
  pricePath: ViewContext['pricePath'],
): string | undefined {
  if (!isBounded(strategy)) return undefined
  const last = digests.get(strategy)
  if (last?.pricePath === pricePath) return last.digest
  const terms = termsOf(strategy, versionOf)
  const feeds = pairsOf(strategy).map(({ sell, buy }) =>
    pricePath(sell, buy)?.map(({ feed, inverted }) => `${feed.feed} ${inverted}`),
  )
  const digest = digestOf(`${terms} ${feeds.join()}`)
  digests.set(strategy, { pricePath, digest })
  return digest
}

/** From this many strategies on, computing all digests in one tick would make it late. */
const MANY = 400
const PREPARED_AT_ONCE = 25

/** Computes the terms of many strategies in slices of a few milliseconds, before their first slots need them. */
export async function prepareTerms(
  { pricePath, ports, closing }: OrderContext,
  strategies: readonly Strategy[],
): Promise<void> {
  if (strategies.length < MANY) return
  for (const [index, strategy] of strategies.entries()) {
    if (index % PREPARED_AT_ONCE === 0) await ports.clock.sleep(0)
    if (closing.aborted) return
    termsOfPrices(strategy, ports.modules.versionOf, pricePath)
  }
}

type LastDigest = Pick<ViewContext, 'pricePath'> & { readonly digest: string }

/**
 * The last digest of each strategy in force: computing it takes longer than the rest of a decision. A strategy with prices
 * asks no module, so its terms never change.
 */
const digests = new WeakMap<Strategy, LastDigest>()

/**
 * Checks terms that no decision has used yet. If they look like a mistake at the current price, a live strategy that waits
 * for a price is held until approved; any other logs one warning. An unknown price does not hold a strategy.
 */
export function firstCheck(
  { state, mode, terms }: Asked,
  strategy: Strategy,
  market: MarketView,
): FirstCheck {
  const record = state.strategies.get(strategy.name)
  if (terms === undefined || record === undefined || !isBounded(strategy)) return NOTHING_NEW
  const { name } = strategy
  const lift = (detail: string): FirstCheck['alongside'] =>
    record.held === undefined ? [] : [holdLifted({ strategy: name, terms, cause: 'file', detail })]
  if (record.terms === terms) return { alongside: lift('its file is as it was before') }
  if (mayFireAtOnce(strategy)) return { terms, alongside: lift('its file says fireAtOnce: true') }
  // An older version wrote this record without terms, so the current terms count as used.
  if (record.terms === undefined) return { terms, alongside: [] }
  const found = implausibleIn(strategy, market)
  const detail = implausibleText(found)
  if (detail === undefined)
    return found.isPartial ? NOTHING_NEW : { terms, alongside: lift('its file was changed') }
  if (mode !== 'live' || kindOf(strategy).trigger === undefined)
    return { terms, alongside: [], warning: detail }
  return {
    skip: skip('needs-approval', heldText(name, detail)),
    alongside: [strategyHeld({ strategy: name, terms, detail })],
  }
}

export function implausibleText({ fires, far }: Implausible): string | undefined {
  const all = [...fires, ...far]
  if (all.length === 0) return undefined
  const more = all.length > SHOWN_MAX ? [`${all.length - SHOWN_MAX} more`] : []
  return [...all.slice(0, SHOWN_MAX), ...more].join('; ')
}

/** Likely mistakes at a block just read, for read-only commands; undefined if none. */
export function implausibleNow(
  strategy: Strategy,
  context: ViewContext & Pick<Asked, 'terms'>,
  chain: ChainView,
): string | undefined {
  if (!isBounded(strategy) || mayFireAtOnce(strategy)) return undefined
  const found = implausibleIn(strategy, viewOf(context, chain, { strategy, slotSeconds: 0 }))
  const record = context.state.strategies.get(strategy.name)
  const isNew =
    record === undefined || (record.terms !== undefined && record.terms !== context.terms)
  // A strategy's price level is expected to be reached after its first decision.
  const text = implausibleText(isNew ? found : { ...found, fires: [] })
  return text && `it looks like a mistake: ${text}`
}

/** The hold of a strategy's terms; undefined if the terms changed or the file allows them. */
export function heldNow(
  state: DaemonState,
  strategy: Strategy,
  terms: string | undefined,
): Hold | undefined {
  const held = state.strategies.get(strategy.name)?.held
  return held?.terms === terms && !mayFireAtOnce(strategy) ? held : undefined
}

export function heldText(name: string, detail: string): string {
  return `${detail}; \`tranched approve ${name}\` lets it trade`
}

function mayFireAtOnce(strategy: Strategy): boolean {
  return kindOf(strategy).trigger?.mayFireAtOnce(strategy) ?? false
}
