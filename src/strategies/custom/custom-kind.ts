import { messageOf } from '../../domain/errors.ts'
import type { ModuleReply, ModuleStrategy, ModuleView } from '../../domain/module.ts'
import type { Asset } from '../../domain/money/token.ts'
import { baseUnits, maxOf } from '../../domain/money/units.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  priceOf,
  type Skip,
  skip,
  unreadable,
} from '../decision/decision.ts'
import { byHoldings, exactly, NO_BOUNDS, notCovered, swapIntent } from '../decision/swap.ts'
import type { StrategyKind } from '../kind.ts'
import { firstLine, type ModuleAnswer, readAnswer, type WantedOrder } from './module-answer.ts'

export type CustomStrategy = ModuleStrategy & { readonly kind: 'custom' }

export const custom: StrategyKind<CustomStrategy> = {
  ...byHoldings,
  decision: {
    by: 'module',
    question(asks, market) {
      const view = moduleView(asks, market)
      return 'tag' in view ? view : { asks, view }
    },
    decide: decideCustom,
  },
  describe: ({ module, assets }) =>
    `custom ${module.split('/').at(-1)} with ${[...assets.keys()].join(', ')}`,
  assets: ({ assets }) => [...assets.values()],
  sells: ({ assets }) => [...assets.values()],
  pairs({ assets }) {
    const tokens = [...new Set([...assets.values()].map(({ token }) => token))]
    return tokens.flatMap((sell) =>
      tokens.filter((buy) => buy !== sell).map((buy) => ({ sell, buy })),
    )
  },
  // The module's version identifies it instead.
  shapesNoOrder: ['module' satisfies keyof CustomStrategy],
}

/**
 * Reads the module's answer without trusting it: its orders become intents only within its tokens, prices and balances. A
 * malformed or missing answer skips the slot.
 */
export function decideCustom(
  strategy: CustomStrategy,
  view: MarketView,
  reply: ModuleReply,
): Decision {
  const answer = answerIn(reply, strategy)
  if (typeof answer === 'string') return skip('module-failed', answer)
  const { memory } = answer
  if (answer.tag === 'skip') return skip('module-skipped', answer.text, memory)
  const { orders, memoryOnFill } = answer
  if (orders.length === 0) return skip('module-skipped', 'it wants no orders', memory)
  const blocked = notPossible(orders, view)
  if (blocked !== undefined) return { ...blocked, memory }
  const intents = orders.map(({ sell, buy, amount }, leg) =>
    swapIntent(strategy, view, { leg, sell, buy, ...exactly(amount), price: NO_BOUNDS }),
  )
  return { tag: 'trade', intents, memory, memoryOnFill }
}

function answerIn(reply: ModuleReply, { assets }: CustomStrategy): ModuleAnswer | string {
  if (!reply.ok) return firstLine(reply.detail)
  try {
    return readAnswer(reply.value, assets)
  } catch (error) {
    return firstLine(messageOf(error))
  }
}

/** The module's view. A skip if a balance is unknown, because the module would take it for 0. */
export function moduleView(strategy: CustomStrategy, view: MarketView): ModuleView | Skip {
  const names = [...strategy.assets]
  const balances: [string, { readonly amount: bigint; readonly decimals: number }][] = []
  for (const [name, asset] of names) {
    const free = availableOf(view, asset)
    if (free === undefined) return unreadable(asset)
    balances.push([name, { amount: maxOf(0n, free), decimals: asset.token.decimals }])
  }
  const prices = names.flatMap(([sellName, sell]) =>
    names.flatMap(([buyName, buy]) => {
      const answer = priceOf(view, sell.token, buy.token)
      if (!answer.ok) return []
      const { ratio, updatedAtSeconds } = answer.price
      return [[`${sellName}/${buyName}`, { ...ratio, updatedAtSeconds }]]
    }),
  )
  const { slotSeconds, nowSeconds, memory } = view
  return {
    slotSeconds,
    nowSeconds,
    balances: Object.fromEntries(balances),
    prices: Object.fromEntries(prices),
    memory,
  }
}

/** Skips unless every order has a price and the balance covers all orders of a token together. */
function notPossible(orders: readonly WantedOrder[], view: MarketView): Skip | undefined {
  const sold = new Map<Asset, bigint>()
  for (const { sell, buy, amount } of orders) {
    const price = priceOf(view, sell.token, buy.token)
    if (!price.ok) return noPrice(price)
    const together = (sold.get(sell) ?? 0n) + amount
    sold.set(sell, together)
    const short = notCovered(view, sell, baseUnits(together))
    if (short !== undefined) return short
  }
  return undefined
}
