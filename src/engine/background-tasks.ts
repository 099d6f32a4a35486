/** Tasks that others hand to a loop, to be done between its turns. */
export type Errands = {
  /** Resolves as the task does, once the loop came to it; rejects when the loop ends before. */
  run<Result>(task: () => Promise<Result>): Promise<Result>
  /** Does what has been handed in. Never rejects: an error is its task's own. */
  attend(): Promise<void>
  /** Ends the loop's sleep. */
  wake(): void
  /** Aborted as soon as a task is handed in or `wake` is called, or when the loop closes: what the loop sleeps on. */
  nextSignal(): AbortSignal
}

export function createErrands(closing: AbortSignal): Errands {
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
    run(task) {
      if (closing.aborted) return Promise.reject(new Error('the daemon is stopping'))
      return new Promise((resolve, reject) => {
        waiting.push({
          task: () => task().then(resolve, reject),
          drop: () => reject(new Error('the daemon is stopping')),
        })
        sleep.abort()
      })
    },
    async attend() {
      for (const { task } of waiting.splice(0)) await task()
    },
    wake: () => sleep.abort(),
    nextSignal() {
      const isQuiet = waiting.length === 0 && !closing.aborted
      if (!isQuiet) sleep.abort()
      else if (sleep.signal.aborted) sleep = new AbortController()
      return sleep.signal
    },
  }
}
