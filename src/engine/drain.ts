import type { IntentId } from '../domain/order/intent.ts'
import type { OrderContext } from '../venues/context.ts'

type Running = ReadonlyMap<IntentId, Promise<void>>

/** Follows pending orders until they end or `ms` have passed. Unsigned ones stay in the journal for the next start. */
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

/** True for a live authorization, a fill to unwrap, a pending wallet transaction, or an end that is not yet durable. */
function isInFlight(context: OrderContext, id: IntentId): boolean {
  const { intents, transactions } = context.ports.journal.state
  if (intents.get(id)?.state !== 'planned') return true
  return [...transactions.values()].some(({ record }) => record.intentId === id)
}

/** Waits for a task until the signal is aborted; its later outcome is ignored. */
export function untilAborted<Value>(
  signal: AbortSignal,
  task: Promise<Value>,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(undefined)
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    task.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}
