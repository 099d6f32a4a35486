import type { IntentId } from '../../domain/intent.ts'

/**
 * What is asked of orders that are under way. Each does it in its own turn: while it waits for an answer nobody else changes
 * what it is about to record.
 */
export type Asked = {
  /** Resolves as the task does, once the order came to it. Rejects when the daemon stops before. */
  run<Result>(id: IntentId, task: () => Promise<Result>): Promise<Result>
  /** Does what was asked of an order. Never rejects: an error is its task's own. */
  attend(id: IntentId): Promise<void>
  /**
   * What an order sleeps on between turns: aborted while something waits for it, when something is asked of any order, and
   * when the daemon stops.
   */
  bell(id: IntentId): AbortSignal
}

type Task = { readonly begin: () => Promise<void>; readonly drop: () => void }

/** `stop` ends it: what nobody came to by then is rejected. */
export function createAsked(stop: AbortSignal): Asked {
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
    run(id, task) {
      if (stop.aborted) return Promise.reject(stopping())
      return new Promise((resolve, reject) => {
        const begin = (): Promise<void> => task().then(resolve, reject)
        const tasks = waiting.get(id) ?? []
        waiting.set(id, [...tasks, { begin, drop: () => reject(stopping()) }])
        bell.abort()
      })
    },
    async attend(id) {
      for (const { begin } of take(id)) await begin()
    },
    bell(id) {
      if (waiting.has(id)) return AbortSignal.abort()
      if (bell.signal.aborted && !stop.aborted) bell = new AbortController()
      return bell.signal
    },
  }
}

function stopping(): Error {
  return new Error('the daemon is stopping')
}
