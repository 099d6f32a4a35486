/** Runs work while no snapshot is being taken. Work must not wait for other gated work. */
export type During = <T>(work: () => Promise<T>) => Promise<T>

export type Gate = ReturnType<typeof createGate>

/** Runs work in parallel, or a snapshot alone. So a snapshot never contains half a change of a service and its chain. */
export function createGate() {
  const underWay = new Set<Promise<unknown>>()
  let shut: Promise<unknown> | undefined
  return {
    async during<T>(work: () => Promise<T>): Promise<T> {
      while (shut !== undefined) await shut
      const run = work()
      underWay.add(run)
      try {
        return await run
      } finally {
        underWay.delete(run)
      }
    },
    /** Waits for current work, and delays new work until `task` is done. */
    async alone<T>(task: () => Promise<T>): Promise<T> {
      while (shut !== undefined) await shut
      const run = Promise.allSettled(underWay).then(task)
      shut = Promise.allSettled([run])
      try {
        return await run
      } finally {
        shut = undefined
      }
    },
  }
}
