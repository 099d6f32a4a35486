import type { ModuleReply, ModuleView } from '../domain/module.ts'
import type { CustomStrategy } from '../domain/strategy.ts'
import type { Asset } from '../domain/token.ts'
import { baseUnits, maxOf } from '../domain/units.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  priceOf,
  type Skip,
  skip,
  unreadable,
} from './decision.ts'
import { firstLine, type ModuleAnswer, readAnswer, type WantedOrder } from './module-answer.ts'
import { NO_BOUNDS, notCovered, swapIntent } from './swap.ts'

/**
 * Reads what the operator's module answered, and believes nothing of it: its orders become intents only within its own
 * tokens, prices, balances and limits. What is malformed, or no answer at all, skips the slot.
 */
export function decideCustom(
  strategy: CustomStrategy,
  view: MarketView,
  reply: ModuleReply,
): Decision {
  const answer = answerIn(reply, strategy)
  if (answer.tag === 'failed') return skip('module-failed', answer.text)
  const remember = answer.memory === undefined ? {} : { memory: answer.memory }
  if (answer.tag === 'skip') return { ...skip('module-skipped', answer.text), ...remember }
  const { orders, memoryOnFill } = answer
  if (orders.length === 0) return { ...skip('module-skipped', 'it wants no orders'), ...remember }
  const barred = notPossible(orders, view)
  if (barred !== undefined) return { ...barred, ...remember }
  const intents = orders.map(({ sell, buy, amount }, leg) => {
    const size = { side: 'sell', amount } as const
    return swapIntent(strategy, view, { leg, sell, buy, size, maxSell: amount, price: NO_BOUNDS })
  })
  const later = memoryOnFill === undefined ? {} : { memoryOnFill }
  return { tag: 'trade', intents, ...remember, ...later }
}

type Asked = ModuleAnswer | { readonly tag: 'failed'; readonly text: string }

function answerIn(reply: ModuleReply, { assets }: CustomStrategy): Asked {
  if (!reply.ok) return { tag: 'failed', text: firstLine(reply.detail) }
  try {
    return readAnswer(reply.value, assets)
  } catch (error) {
    return { tag: 'failed', text: thrownText(error) }
  }
}

/** Anything can be thrown, also what cannot be made a text. */
function thrownText(error: unknown): string {
  try {
    return firstLine(String(error instanceof Error ? error.message : error))
  } catch {
    return 'it threw something that has no text'
  }
}

/** What a strategy's module is asked with; a skip where one of its balances is not known: it would take it for nothing. */
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

/** Every order needs a price, and all that sell one token need its balance together. */
function notPossible(orders: readonly WantedOrder[], view: MarketView): Skip | undefined {
  const asked = new Map<Asset, bigint>()
  for (const { sell, buy, amount } of orders) {
    const price = priceOf(view, sell.token, buy.token)
    if (!price.ok) return noPrice(price)
    const together = (asked.get(sell) ?? 0n) + amount
    asked.set(sell, together)
    const short = notCovered(view, sell, baseUnits(together))
    if (short !== undefined) return short
  }
  return undefined
}
