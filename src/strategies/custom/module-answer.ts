import type { Asset } from '../../domain/money/token.ts'
import { type BaseUnits, baseUnits } from '../../domain/money/units.ts'
import type { StrategyMemory } from '../../domain/strategy-memory.ts'
import { excerpt } from '../../domain/text/outside-text.ts'

/** An exact-input order within the module's own tokens. */
export type WantedOrder = { readonly sell: Asset; readonly buy: Asset; readonly amount: BaseUnits }

/** A checked answer. */
export type ModuleAnswer =
  | {
      readonly tag: 'orders'
      readonly orders: readonly WantedOrder[]
      readonly memory: StrategyMemory | undefined
      readonly memoryOnFill: StrategyMemory | undefined
    }
  | { readonly tag: 'skip'; readonly text: string; readonly memory: StrategyMemory | undefined }

class ModuleFault extends Error {}

const ORDERS_MAX = 8
const MEMORY_ENTRIES_MAX = 64
const MEMORY_NAME_MAX = 128
const MEMORY_TEXT_MAX = 4_096
const LINE_MAX = 200

/**
 * Reads the decoded result of a module's `decide`. An unknown key is a fault, because a misspelt `memoryOnFill` would be
 * lost.
 *
 * @throws {ModuleFault}
 */
export function readAnswer(given: unknown, assets: ReadonlyMap<string, Asset>): ModuleAnswer {
  const keys = ['orders', 'skip', 'memory', 'memoryOnFill'] as const
  const answer = fieldsOf(given, keys, 'what it returned')
  const memory = memoryOf(answer.memory, 'memory')
  if (answer.skip === undefined) {
    const orders = ordersOf(answer.orders, assets)
    const memoryOnFill = memoryOf(answer.memoryOnFill, 'memoryOnFill')
    return { tag: 'orders', orders, memory, memoryOnFill }
  }
  if (answer.orders !== undefined || answer.memoryOnFill !== undefined)
    throw new ModuleFault('it returned both `skip` and what belongs to orders')
  if (typeof answer.skip !== 'string') throw new ModuleFault('skip is no text')
  return { tag: 'skip', text: firstLine(answer.skip), memory }
}

/** Bounded, because modules write the text. */
export function firstLine(text: string): string {
  return excerpt(text.split(/[\r\n]/, 1)[0] ?? '').slice(0, LINE_MAX)
}

function ordersOf(given: unknown, assets: ReadonlyMap<string, Asset>): readonly WantedOrder[] {
  if (given === undefined) throw new ModuleFault('it returned neither `orders` nor `skip`')
  if (!Array.isArray(given)) throw new ModuleFault('orders is no list')
  if (given.length > ORDERS_MAX)
    throw new ModuleFault(`it wants ${given.length} orders; ${ORDERS_MAX} are the most`)
  const list: unknown[] = Array.from(given)
  return list.map((each, index) => orderOf(each, `orders[${index}]`, assets))
}

function orderOf(given: unknown, what: string, assets: ReadonlyMap<string, Asset>): WantedOrder {
  const { sell, buy, amount } = fieldsOf(given, ['sell', 'buy', 'amount'], what)
  const [sold, bought] = [sell, buy].map((name) =>
    typeof name === 'string' ? assets.get(name) : undefined,
  )
  const own = [...assets.keys()].join(', ')
  if (sold === undefined || bought === undefined)
    throw new ModuleFault(`${what}: sell and buy have to be one of its tokens: ${own}`)
  if (sold.token.address === bought.token.address)
    throw new ModuleFault(`${what}: sell and buy are one token`)
  if (typeof amount !== 'bigint' || amount <= 0n)
    throw new ModuleFault(`${what}: amount has to be a positive bigint of base units`)
  return { sell: sold, buy: bought, amount: baseUnits(amount) }
}

function memoryOf(given: unknown, what: string): StrategyMemory | undefined {
  if (given === undefined) return undefined
  const entries = Object.entries(asRecord(given, what))
  if (entries.length > MEMORY_ENTRIES_MAX)
    throw new ModuleFault(
      `${what} has ${entries.length} entries; ${MEMORY_ENTRIES_MAX} are the most`,
    )
  const kept = entries.map(([name, value]): [string, string] => {
    if (name.length > MEMORY_NAME_MAX)
      throw new ModuleFault(`${what} has a name of more than ${MEMORY_NAME_MAX} characters`)
    // A read before the first write would find the inherited member.
    if (name in Object.prototype)
      throw new ModuleFault(`${what} has the name ${name}, which every object has; take another`)
    if (typeof value !== 'string' || value.length > MEMORY_TEXT_MAX)
      throw new ModuleFault(`${what}.${name} is no text of at most ${MEMORY_TEXT_MAX} characters`)
    return [name, value]
  })
  return Object.fromEntries(kept)
}

function fieldsOf<Name extends string>(
  given: unknown,
  names: readonly Name[],
  what: string,
): Readonly<Record<Name, unknown>> {
  const record = asRecord(given, what)
  const known: readonly string[] = names
  const unknown = Object.keys(record).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw new ModuleFault(`${what} has an unknown key, ${unknown}; known are ${names.join(', ')}`)
  return Object.fromEntries(names.map((name) => [name, record[name]])) as Record<Name, unknown>
}

function asRecord(given: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ModuleFault(`${what} is no object`)
  return given as Readonly<Record<string, unknown>>
}
