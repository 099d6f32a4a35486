import { setFlagsFromString } from 'node:v8'

/**
 * Keeps V8's young generation small during a task: garbage of a thousand files that are read must not enlarge the heap for
 * good. No longer: under these settings V8 compiles the modules of Node itself, whose code cache it refuses.
 */
export function withSmallHeap<Result>(task: () => Result): Result {
  setFlagsFromString('--semi-space-growth-factor=1')
  try {
    return task()
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2')
  }
}

/**
 * Optimises code early. Orders are few and their path is long, so under V8's own settings the first thousand would run in its
 * interpreter: bench/orders has 35 % less of the main thread at concurrency 1, 15 % less at 32. V8 reads a code cache only
 * under the settings it was made under, so call it after load-program.ts has made one.
 */
export function optimiseEarly(): void {
  setFlagsFromString('--always-sparkplug')
  setFlagsFromString('--interrupt-budget=2500')
}
