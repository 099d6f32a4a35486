import type { StrategyMemory } from '../domain/memory.ts'
import type { CustomStrategy } from '../domain/strategy.ts'
import type { Asset } from '../domain/token.ts'
import { baseUnits } from '../domain/units.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  priceOf,
  type Skip,
  skip,
} from './decision.ts'
import { NO_BOUNDS, notCovered, swapIntent } from './swap.ts'

/** What a module's `decide` is given. Frozen; amounts are bigint base units, prices exact ratios of base units. */
export type CustomView = {
  readonly slotSeconds: number
  readonly nowSeconds: number
  /** What the module's schema made of the file's `params`. */
  readonly params: unknown
  /** By the name of the token: what is free, and its decimal places. */
  readonly balances: Readonly<
    Record<string, { readonly amount: bigint; readonly decimals: number }>
  >
  /** By `SELL/BUY`: sell base units per buy base unit; absent without a usable price. */
  readonly prices: Readonly<
    Record<
      string,
      { readonly num: bigint; readonly den: bigint; readonly updatedAtSeconds: number }
    >
  >
  readonly memory: StrategyMemory
}

const ORDERS_MAX = 8
const MEMORY_ENTRIES_MAX = 64
const MEMORY_TEXT_MAX = 4_096
const MESSAGE_MAX = 200

class ModuleFault extends Error {}

/**
 * Lets the operator's module decide, and believes nothing that it gives back: its orders become intents only within its
 * own tokens, prices, balances and limits. Whatever it throws or gives back malformed skips the slot.
 */
export function decideCustom(strategy: CustomStrategy, view: MarketView): Decision {
  try {
    const answer = asRecord(strategy.decide(viewFor(strategy, view)), 'what it returned')
    const memory = memoryOf(answer['memory'], 'memory')
    const remember = memory === undefined ? {} : { memory }
    if (answer['skip'] !== undefined)
      return {
        ...skip('module-skipped', String(answer['skip']).slice(0, MESSAGE_MAX)),
        ...remember,
      }
    const orders = ordersOf(answer['orders'], strategy)
    if (orders.length === 0) return { ...skip('module-skipped', 'it wants no orders'), ...remember }
    const barred = notPossible(orders, view)
    if (barred !== undefined) return { ...barred, ...remember }
    const onFill = memoryOf(answer['memoryOnFill'], 'memoryOnFill')
    const intents = orders.map(({ sell, buy, amount }, leg) => {
      const size = { side: 'sell', amount: baseUnits(amount) } as const
      const maxSell = size.amount
      return swapIntent(strategy, view, { leg, sell, buy, size, maxSell, price: NO_BOUNDS })
    })
    const later = onFill === undefined ? {} : { memoryOnFill: onFill }
    return { tag: 'trade', intents, ...remember, ...later }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return skip('module-failed', text.split('\n', 1)[0]?.slice(0, MESSAGE_MAX) ?? '')
  }
}

function viewFor(strategy: CustomStrategy, view: MarketView): CustomView {
  const names = [...strategy.assets]
  const balances = names.map(([name, asset]) => [
    name,
    Object.freeze({ amount: availableOf(view, asset), decimals: asset.token.decimals }),
  ])
  const prices = names.flatMap(([sellName, sell]) =>
    names.flatMap(([buyName, buy]) => {
      const answer = priceOf(view, sell.token, buy.token)
      if (!answer.ok) return []
      const { ratio, updatedAtSeconds } = answer.price
      return [[`${sellName}/${buyName}`, Object.freeze({ ...ratio, updatedAtSeconds })]]
    }),
  )
  const { slotSeconds, nowSeconds, memory } = view
  return Object.freeze({
    slotSeconds,
    nowSeconds,
    params: strategy.params,
    balances: Object.freeze(Object.fromEntries(balances)),
    prices: Object.freeze(Object.fromEntries(prices)),
    memory: Object.freeze({ ...memory }),
  })
}

type WantedOrder = { readonly sell: Asset; readonly buy: Asset; readonly amount: bigint }

function ordersOf(given: unknown, strategy: CustomStrategy): readonly WantedOrder[] {
  if (!Array.isArray(given)) throw new ModuleFault('it returned neither `orders` nor `skip`')
  if (given.length > ORDERS_MAX)
    throw new ModuleFault(`it wants ${given.length} orders; ${ORDERS_MAX} are the most`)
  return given.map((each: unknown, index) => {
    const what = `orders[${index}]`
    const { sell, buy, amount } = asRecord(each, what)
    const [sold, bought] = [sell, buy].map((name) =>
      typeof name === 'string' ? strategy.assets.get(name) : undefined,
    )
    const own = [...strategy.assets.keys()].join(', ')
    if (sold === undefined || bought === undefined)
      throw new ModuleFault(`${what}: sell and buy have to be one of its tokens: ${own}`)
    if (sold.token === bought.token) throw new ModuleFault(`${what}: sell and buy are one token`)
    if (typeof amount !== 'bigint' || amount <= 0n)
      throw new ModuleFault(`${what}: amount has to be a positive bigint of base units`)
    return { sell: sold, buy: bought, amount }
  })
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

function asRecord(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (value instanceof Promise) throw new ModuleFault(`${what} is a promise; decide is synchronous`)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ModuleFault(`${what} is no object`)
  return value as Readonly<Record<string, unknown>>
}

function memoryOf(given: unknown, what: string): StrategyMemory | undefined {
  if (given === undefined) return undefined
  const entries = Object.entries(asRecord(given, what))
  if (entries.length > MEMORY_ENTRIES_MAX)
    throw new ModuleFault(
      `${what} has ${entries.length} entries; ${MEMORY_ENTRIES_MAX} are the most`,
    )
  const kept = entries.map(([name, value]): [string, string] => {
    if (typeof value !== 'string' || value.length > MEMORY_TEXT_MAX)
      throw new ModuleFault(`${what}.${name} is no text of at most ${MEMORY_TEXT_MAX} characters`)
    return [name, value]
  })
  return Object.fromEntries(kept)
}
