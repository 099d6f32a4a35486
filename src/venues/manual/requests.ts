import type { IntentId } from '../../domain/order/intent.ts'

export type PendingRequests = ReturnType<typeof createPendingRequests>

type Task = { readonly begin: () => Promise<void>; readonly drop: () => void }

/** Operator requests about pending orders. Each runs in its order's own turn, so the order does not change meanwhile. */
export function createPendingRequests(stop: AbortSignal) {
  const waiting = new Map<IntentId, Task[]>()
  let bell = new AbortController()
  const take = (id: IntentId): readonly Task[] => {
    const tasks = waiting.get(id) ?? []
    waiting.delete(id)
    return tasks
  }
  stop.addEventListener(
    'abort',
    () => {
      bell.abort()
      for (const id of [...waiting.keys()]) for (const { drop } of take(id)) drop()
    },
    { once: true },
  )
  return {
    run<Result>(id: IntentId, task: () => Promise<Result>): Promise<Result> {
      if (stop.aborted) return Promise.reject(stopping())
      return new Promise((resolve, reject) => {
        const begin = (): Promise<void> => task().then(resolve, reject)
        const tasks = waiting.get(id) ?? []
        waiting.set(id, [...tasks, { begin, drop: () => reject(stopping()) }])
        bell.abort()
      })
    },
    /** Runs the order's requests. Never rejects: an error rejects its own request. */
    async handle(id: IntentId): Promise<void> {
      for (const { begin } of take(id)) await begin()
    },
    /**
     * Orders sleep on this signal between turns. It aborts on any new request, while the order's own are pending, and at
     * stop.
     */
    bell(id: IntentId): AbortSignal {
      if (waiting.has(id)) return AbortSignal.abort()
      if (bell.signal.aborted && !stop.aborted) bell = new AbortController()
      return bell.signal
    },
  }
}

function stopping(): Error {
  return new Error('the daemon is stopping')
}
