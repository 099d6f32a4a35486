/** A queue of tasks that a loop runs between its turns. */
export function createBackgroundTasks(closing: AbortSignal) {
  const waiting: { readonly task: () => Promise<void>; readonly drop: () => void }[] = []
  let sleep = new AbortController()
  closing.addEventListener(
    'abort',
    () => {
      sleep.abort()
      for (const { drop } of waiting.splice(0)) drop()
    },
    { once: true },
  )
  return {
    run<Result>(task: () => Promise<Result>): Promise<Result> {
      if (closing.aborted) return Promise.reject(new Error('the daemon is stopping'))
      return new Promise((resolve, reject) => {
        waiting.push({
          task: () => task().then(resolve, reject),
          drop: () => reject(new Error('the daemon is stopping')),
        })
        sleep.abort()
      })
    },
    /** Runs the queued tasks. Never rejects: an error rejects its own task. */
    async runQueued(): Promise<void> {
      for (const { task } of waiting.splice(0)) await task()
    },
    wake: () => sleep.abort(),
    /** The loop sleeps on this signal. It aborts when a task is queued, `wake` is called or the loop closes. */
    nextSignal(): AbortSignal {
      const isQuiet = waiting.length === 0 && !closing.aborted
      if (!isQuiet) sleep.abort()
      else if (sleep.signal.aborted) sleep = new AbortController()
      return sleep.signal
    },
  }
}
