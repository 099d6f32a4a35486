import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { expect } from 'vitest'

/** Longer than anything takes on a busy machine, and short enough to fail before the test's own time limit. */
export const WAIT_MS_MAX = 120_000
const PAUSE_MS_MIN = 2
const PAUSE_MS_MAX = 500
/** A wait exceeds the awaited time by at most this much, plus the cost of one read. */
const LATER_MAX = 1 / 16

type Present<Value> = Exclude<Value, undefined | null | false>

/**
 * Reads until the value is as the test needs it and returns it: truthy, accepted by a function, or equal to the
 * expected one. A read that throws counts as not yet. Pauses grow with the cost of a read and the time waited so far,
 * so that polling takes little time from the awaited work.
 */
export async function waitFor<Value>(
  what: string,
  read: () => Value | Promise<Value>,
  wanted: ((value: Value) => boolean) | object | string | number | bigint = Boolean,
): Promise<Present<Value>> {
  const isSo = typeof wanted === 'function' ? (wanted as (value: Value) => boolean) : undefined
  const begunMs = performance.now()
  let last: { readonly value?: Value; readonly error?: unknown }
  do {
    last = {}
    const startedMs = performance.now()
    try {
      const value = await read()
      last = { value }
      if (isSo === undefined) expect(value).toEqual(wanted)
      if (isSo === undefined || isSo(value)) return value as Present<Value>
    } catch (error) {
      last = { ...last, error }
    }
    const nowMs = performance.now()
    const wishedMs = Math.max(4 * (nowMs - startedMs), LATER_MAX * (nowMs - begunMs), PAUSE_MS_MIN)
    await pause(Math.min(wishedMs, PAUSE_MS_MAX))
  } while (performance.now() - begunMs < WAIT_MS_MAX)
  const seen = 'value' in last ? inspect(last.value, { maxStringLength: 10_000 }) : last.error
  const { error: cause } = last
  throw new Error(`waited ${WAIT_MS_MAX / 1_000} s for ${what}; last seen: ${seen}`, { cause })
}
