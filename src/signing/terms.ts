import { keccak256, stringToHex } from 'viem/utils'
import type { Intent } from '../domain/order/intent.ts'
import { scheduleKey } from '../domain/schedule/schedule.ts'
import type { Modules } from '../ports.ts'
import { asksModule, kindOf, type Strategy } from '../strategies/registry.ts'

type VersionOf = Modules['versionOf']

export const CHANGED_TERMS =
  'its strategy file says otherwise by now: what was not signed is dropped, and the next slot goes by the file as it is'

/** Fields that do not affect orders: identity, start time, and spending limits, which the signer checks separately. */
const SHAPE_NO_ORDER: readonly string[] = ['name', 'file', 'enabled', 'schedule', 'limits']

/** Cache: a reload creates new strategy objects, and they never change. */
const known = new WeakMap<Strategy, string>()

/**
 * The terms of a strategy's file as 32 hex digits: equal if both files decide the same orders, including a custom module and
 * its params. Journaled with each intent, so an upgrade that changes decisions drops unsigned orders and nothing else.
 */
export function termsOf(strategy: Strategy, versionOf: VersionOf): string {
  let text = known.get(strategy)
  if (text === undefined) {
    text = digestOf(textOf(strategy))
    known.set(strategy, text)
  }
  return asksModule(strategy) ? digestOf(`${text} ${versionOf(strategy)}`) : text
}

/** True if an intent was decided under the file's current terms. Older journals do not record terms. */
export function isByTerms({ terms }: Intent, strategy: Strategy, versionOf: VersionOf): boolean {
  return terms === undefined || terms === termsOf(strategy, versionOf)
}

/** A schedule affects orders only through the slices of a total, because each slice is a share of it. */
function textOf(strategy: Strategy): string {
  const kind = kindOf(strategy)
  const others = [...SHAPE_NO_ORDER, ...kind.shapesNoOrder]
  const terms = Object.entries(strategy).filter(([name]) => !others.includes(name))
  const slices = kind.slicedTotal(strategy) && scheduleKey(strategy.schedule)
  return JSON.stringify(inOrder({ ...Object.fromEntries(terms), slices }))
}

/** Sorts fields by name, so that only values matter; amounts become digits. */
function inOrder(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inOrder)
  const entries: [string, unknown][] = value instanceof Map ? [...value] : Object.entries(value)
  entries.sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, inner]) => [name, inOrder(inner)]))
}

/** 32 hex digits. */
export function digestOf(text: string): string {
  return keccak256(stringToHex(text)).slice(2, 34)
}
