import type { IntentId } from '../domain/intent.ts'
import type { OrderContext } from '../execute/context.ts'

/** Intents that are being executed, each with the promise of its end. */
export type Running = ReadonlyMap<IntentId, Promise<void>>

/**
 * Follows what is in flight until it ends or `ms` have passed. What has nothing signed holds nothing up: it waits in the
 * journal for the next start.
 */
export async function drain(context: OrderContext, running: Running, ms: number): Promise<void> {
  const timeUp = new AbortController()
  const time = context.ports.clock.sleep(ms, timeUp.signal).then(() => timeUp.abort())
  while (!timeUp.signal.aborted) {
    const held = [...running].filter(([id]) => isInFlight(context, id)).map(([, done]) => done)
    if (held.length === 0) break
    await Promise.race([Promise.all(held), time])
  }
  timeUp.abort()
}

/**
 * Whether something of an intent may still execute, or is not finished: a live authorization, a fill that is to be
 * unwrapped, a transaction of our own that is not mined, an end that is not on disk yet.
 */
function isInFlight(context: OrderContext, id: IntentId): boolean {
  const { intents, transactions } = context.ports.journal.state
  if (intents.get(id)?.state !== 'planned') return true
  return [...transactions.values()].some(({ record }) => record.intentId === id)
}

/**
 * Waits for a task, but no longer than until the signal is aborted: what hangs then is left alone, and what it ends with is
 * of no interest any more.
 */
export function untilAborted(signal: AbortSignal, task: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    if (signal.aborted) done()
    else signal.addEventListener('abort', done, { once: true })
    task.then(done, (error: unknown) => {
      signal.removeEventListener('abort', done)
      reject(error)
    })
  })
}
