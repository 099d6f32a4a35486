import { amountText } from '../../domain/money/amount-text.ts'
import { type Asset, shownToken, type Token, wrappedEther } from '../../domain/money/token.ts'
import { baseUnits, minOf } from '../../domain/money/units.ts'
import {
  everyCap,
  NO_CAPS,
  type OrderSize,
  type PriceBounds,
  type SwapBase,
} from '../../domain/strategy.ts'
import { type Decision, type MarketView, noPrice, priceOf, skip } from '../decision/decision.ts'
import { byHoldings, mostToSell, notCovered, outsideBounds, swapIntent } from '../decision/swap.ts'
import type { StrategyKind } from '../kind.ts'

/** Name of the strategy of orders by hand. No file may use it. */
export const MANUAL = 'manual'

/** Time in which an order by hand must start. */
const START_WITHIN_MS = 300_000
const OPEN_MAX = 100

/** Orders by hand that belong to no strategy. It has no file and no schedule; only the account's limits bound it. */
export type ManualStrategy = SwapBase & {
  readonly kind: 'manual'
  readonly assets: readonly Asset[]
}

export const manual: StrategyKind<ManualStrategy> = {
  ...byHoldings,
  decision: {
    by: 'market',
    decide: () => skip('finished', '`tranched sell` and `tranched buy` place its orders'),
  },
  describe: () => 'orders by hand',
  // The signer checks tokens by themselves.
  shapesNoOrder: ['assets', 'slippageBps', 'maxDeviationBps'],
  assets: ({ assets }) => assets,
  sells: ({ assets }) => assets,
  pairs: () => [],
}

export function manualStrategy(input: {
  readonly tokens: readonly Token[]
  readonly slippageBps: number
  readonly maxDeviationBps: number
}): ManualStrategy {
  const { tokens, ...bounds } = input
  const ether = wrappedEther(tokens)
  return {
    ...bounds,
    kind: 'manual',
    name: MANUAL,
    file: '',
    enabled: true,
    // Over since 1970: no slot is ever due.
    schedule: {
      ...{ type: 'interval', everySeconds: 60, count: 1, startSeconds: 0, jitterMs: 0 },
      ...{ missed: 'skip', maxLatenessMs: START_WITHIN_MS, overlap: 'allow' },
    },
    limits: {
      ...everyCap(() => NO_CAPS),
      cooldownMs: 0,
      maxOpenIntents: OPEN_MAX,
      maxFailures: undefined,
      drawdownBps: undefined,
    },
    priceCheck: 'feed',
    assets: [
      ...tokens.map((token) => ({ token, native: false })),
      ...(ether === undefined ? [] : [{ token: ether, native: true }]),
    ],
  }
}

/** An order by hand. */
export type ManualOrder = {
  /** Names the order in the journal, so that it can be found if the daemon's answer is lost. */
  readonly id: string
  readonly sell: Asset
  readonly buy: Asset
  readonly size: OrderSize
  /** The limit that was given: sell base units per buy base unit. */
  readonly price: PriceBounds
  readonly slippageBps: number | undefined
  /** Whether it sells what its strategy bought. */
  readonly isOfPurchases: boolean
}

export function decideOrder(strategy: SwapBase, order: ManualOrder, view: MarketView): Decision {
  const { sell, buy, size, price, slippageBps = strategy.slippageBps } = order
  const answer = priceOf(view, sell.token, buy.token)
  if (!answer.ok) return noPrice(answer)
  const { ratio } = answer.price
  const terms = { ...strategy, slippageBps, priceCheck: 'feed' } as const
  const bound = mostToSell(terms, size, ratio)
  // Exact output: at most what was allowed for it.
  const exact = { ...terms, slippageBps: 0, maxDeviationBps: 0 }
  const allowed = price.max === undefined ? bound : mostToSell(exact, size, price.max)
  const maxSell = baseUnits(minOf(bound, allowed))
  const blocked = outsideBounds(ratio, order) ?? notCovered(view, sell, maxSell)
  if (blocked !== undefined) return blocked
  const entry = order.isOfPurchases ? { of: strategy.name, paidIn: buy.token } : undefined
  const intent = swapIntent(terms, view, { leg: 0, sell, buy, size, maxSell, price, entry })
  const startBeforeMs = view.slotSeconds * 1_000 + START_WITHIN_MS
  return { tag: 'trade', intents: [{ ...intent, startBeforeMs }] }
}

/** The order in words, as a person would type it. */
export function orderText({ sell, buy, size }: Pick<ManualOrder, 'sell' | 'buy' | 'size'>): string {
  const [sold, bought] = [shownToken(sell), shownToken(buy)]
  return size.side === 'sell'
    ? `sell ${amountText(size.amount, sold)} for ${bought.symbol}`
    : `buy ${amountText(size.amount, bought)} for ${sold.symbol}`
}
