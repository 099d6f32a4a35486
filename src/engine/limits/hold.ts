import { type MarketView, type Skip, skip } from '../decide/decision.ts'
import { type Implausible, implausibleIn, isBounded } from '../decide/plausibility.ts'
import type { EventOf } from '../domain/book/journal.ts'
import type { DaemonState, Hold } from '../domain/book/state.ts'
import type { Mode } from '../domain/settings.ts'
import { pairsOf, type Strategy, type SwapStrategy } from '../domain/strategy.ts'
import { digestOf, termsOf } from '../execute/authority/terms.ts'
import type { ChainView, Modules } from '../ports.ts'
import { type ViewContext, viewOf } from './view.ts'

/** What is said of a first look at a strategy's terms, beside the decision itself. */
export type FirstLook = {
  /** Decided instead: it waits for an approval. */
  readonly skip?: Skip
  /** Terms that the decision was the first of. */
  readonly terms?: string
  readonly alongside: readonly (EventOf<'strategy-held'> | EventOf<'hold-lifted'>)[]
  /** What looks like a mistake and holds nothing. */
  readonly warning?: string
}

const NOTHING_NEW: FirstLook = { alongside: [] }
/** Further sentences are counted. */
const SHOWN_MAX = 3

type Asked = {
  readonly state: DaemonState
  readonly mode: Mode
  /** Of the strategy's file; undefined where nothing is judged by them, as in a backtest. */
  readonly terms?: string | undefined
}

/**
 * The terms of a strategy that names prices, and the feeds that they are held against: another feed makes another price of the same
 * level. Undefined of any other strategy, which is never held.
 */
export function termsOfPrices(
  strategy: Strategy,
  versionOf: Modules['versionOf'],
  pricePath: ViewContext['pricePath'],
): string | undefined {
  if (!isBounded(strategy)) return undefined
  const feeds = pairsOf(strategy).map(({ sell, buy }) =>
    pricePath(sell, buy)?.map(({ feed, inverted }) => `${feed.feed} ${inverted}`),
  )
  return digestOf(`${termsOf(strategy, versionOf)} ${feeds.join()}`)
}

/**
 * Looks at terms that no decision was recorded by. Where they look like a mistake by the price of now, a threshold strategy of a live
 * daemon is held until an operator approves them; any other is warned of once. A price that is not known holds nothing.
 */
export function firstLook(
  { state, mode, terms }: Asked,
  strategy: SwapStrategy,
  market: MarketView,
): FirstLook {
  const record = state.strategies.get(strategy.name)
  if (terms === undefined || record === undefined || !isBounded(strategy)) return NOTHING_NEW
  const { name } = strategy
  const lift = (detail: string): FirstLook['alongside'] =>
    record.held === undefined
      ? []
      : [{ type: 'hold-lifted', strategy: name, terms, cause: 'file', detail }]
  if (record.terms === terms) return { alongside: lift('its file is as it was before') }
  if (mayFireAtOnce(strategy)) return { terms, alongside: lift('its file says fireAtOnce: true') }
  // Written by a version that did not record terms: what it decided by was no first look.
  if (record.terms === undefined) return { terms, alongside: [] }
  const found = implausibleIn(strategy, market)
  const detail = implausibleText(found)
  if (detail === undefined)
    return found.isPartial ? NOTHING_NEW : { terms, alongside: lift('its file was changed') }
  if (mode !== 'live' || strategy.kind !== 'threshold')
    return { terms, alongside: [], warning: detail }
  return {
    skip: skip('needs-approval', heldText(name, detail)),
    alongside: [{ type: 'strategy-held', strategy: name, terms, detail }],
  }
}

/** All that looks like a mistake, in one line; undefined where nothing does. */
export function implausibleText({ fires, far }: Implausible): string | undefined {
  const all = [...fires, ...far]
  if (all.length === 0) return undefined
  const more = all.length > SHOWN_MAX ? [`${all.length - SHOWN_MAX} more`] : []
  return [...all.slice(0, SHOWN_MAX), ...more].join('; ')
}

/** What looks like a mistake by a block that was just read, for whoever only looks; undefined where nothing does. */
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
  // Once a strategy has decided, a level that the price has reached is what it waited for.
  const text = implausibleText(isNew ? found : { ...found, fires: [] })
  return text && `it looks like a mistake: ${text}`
}

/** The hold of a strategy's terms; undefined where they are others than those held, or the file lets them fire. */
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

export function mayFireAtOnce(strategy: Strategy): boolean {
  return strategy.kind === 'threshold' && strategy.fireAtOnce
}
