/** Runs a piece of work, once nobody is taking a picture. A piece of work must not wait for another one inside. */
export type During = <T>(work: () => Promise<T>) => Promise<T>

/** Lets pieces of work run side by side, or one alone: what changes a service and its chain is never seen half done. */
export type Gate = {
  readonly during: During
  /** Waits for the work under way, and holds up new work until `task` is done. */
  alone<T>(task: () => Promise<T>): Promise<T>
}

export function createGate(): Gate {
  const underWay = new Set<Promise<unknown>>()
  let shut: Promise<void> | undefined
  return {
    async during(work) {
      while (shut !== undefined) await shut
      const run = work()
      underWay.add(run)
      try {
        return await run
      } finally {
        underWay.delete(run)
      }
    },
    async alone(task) {
      while (shut !== undefined) await shut
      const { promise, resolve } = deferred()
      shut = promise
      try {
        await Promise.allSettled(underWay)
        return await task()
      } finally {
        shut = undefined
        resolve()
      }
    },
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
