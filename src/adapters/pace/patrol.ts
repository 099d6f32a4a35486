import type { Clock } from '../../ports.ts'

/** Something that waits, for as long as it may. */
export type Waiter = { readonly mayWait: () => boolean; readonly giveUp: () => void }

/** Time between two looks at everything that waits. */
const LOOK_MS = 1_000

/** Watches what waits: ends what may wait no longer. Gives what ends the watch; no timer is left when nothing waits. */
export function createPatrol(clock: Pick<Clock, 'sleep'>): (waiter: Waiter) => () => void {
  const waiters = new Set<Waiter>()
  let round: AbortController | undefined

  async function walk(own: AbortController): Promise<void> {
    for (;;) {
      await clock.sleep(LOOK_MS, own.signal)
      if (own.signal.aborted) return
      for (const waiter of [...waiters]) if (!waiter.mayWait()) waiter.giveUp()
    }
  }

  return (waiter) => {
    waiters.add(waiter)
    if (round === undefined) {
      round = new AbortController()
      void walk(round)
    }
    return () => {
      waiters.delete(waiter)
      if (waiters.size > 0) return
      round?.abort()
      round = undefined
    }
  }
}
