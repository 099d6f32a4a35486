import { keccak256, stringToHex } from 'viem/utils'
import type { Intent } from '../../domain/intent.ts'
import { scheduleKey } from '../../domain/schedule/schedule.ts'
import type { CustomStrategy, Strategy } from '../../domain/strategy.ts'
import type { Modules } from '../../ports.ts'

type VersionOf = Modules['versionOf']

/** Why an order that was decided by other terms is not signed. */
export const CHANGED_TERMS =
  'its strategy file says otherwise by now: what was not signed is dropped, and the next slot goes by the file as it is'

/**
 * What shapes no order: whose it is, when it may begin, and how much of all is allowed, which the signer asks for by itself.
 * A module's version tells it from any other, so that its place is not asked.
 */
const NO_TERMS: ReadonlySet<string> = new Set<keyof CustomStrategy | 'label' | 'fireAtOnce'>([
  'name',
  'file',
  'enabled',
  'schedule',
  'limits',
  'label',
  'module',
  'fireAtOnce',
])

/** Files are read into new strategies, which never change. */
const known = new WeakMap<Strategy, string>()

/**
 * The terms of a strategy's file, as 32 hex digits: alike where orders that are decided by one are just what the other would
 * have, module and params of a custom one included. They go into the journal with each intent, so that a change of how they
 * are made drops the orders that an upgrade finds unsigned, and no more.
 */
export function termsOf(strategy: Strategy, versionOf: VersionOf): string {
  const text = known.get(strategy) ?? digestOf(textOf(strategy))
  known.set(strategy, text)
  return strategy.kind === 'custom' ? digestOf(`${text} ${versionOf(strategy)}`) : text
}

/** Whether a strategy's file still says what an intent was decided by. Intents of older journals do not tell. */
export function isByTerms({ terms }: Intent, strategy: Strategy, versionOf: VersionOf): boolean {
  return terms === undefined || terms === termsOf(strategy, versionOf)
}

/** Of a schedule the slices of a program alone: each is a share of its amount. */
function textOf(strategy: Strategy): string {
  const terms = Object.entries(strategy).filter(([name]) => !NO_TERMS.has(name))
  const slices = strategy.kind === 'twap' ? scheduleKey(strategy.schedule) : undefined
  return JSON.stringify(inOrder({ ...Object.fromEntries(terms), slices }))
}

/** Fields by name, so that nothing but their values counts; amounts as their digits. */
function inOrder(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inOrder)
  const entries: [string, unknown][] = value instanceof Map ? [...value] : Object.entries(value)
  entries.sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, inner]) => [name, inOrder(inner)]))
}

/** As 32 hex digits. */
export function digestOf(text: string): string {
  return keccak256(stringToHex(text)).slice(2, 34)
}
