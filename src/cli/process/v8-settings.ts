import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Strategies of a usual daemon. */
const STRATEGIES_MAX = 100

/**
 * Keeps V8's young generation small while files are read: garbage of a thousand must not enlarge it. Loads no module of Node
 * meanwhile, whose code cache V8 refuses under changed settings.
 */
export function withSmallHeap<Result>(read: () => Result): Result {
  keepHeapSmall()
  try {
    return read()
  } finally {
    letHeapGrow()
  }
}

/** The same until the daemon is ready, if it takes far longer to start than the 13 ms of modules without a code cache. */
export function keepHeapSmallFor({ length }: readonly unknown[]): void {
  if (length > STRATEGIES_MAX) keepHeapSmall()
}

function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Lets the young generation grow under load, so that short-lived objects of an order are not promoted. */
export function letHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}

/**
 * Settings of a daemon that trades. Under changed ones V8 refuses the code caches of the program and of Node's own modules, so
 * call it when both are loaded, and load-program.ts has made a missing cache.
 *
 * - Optimises code early: orders are few and their path is long, so under V8's own settings the first thousand would run in
 *   its interpreter. bench/orders has 35 % less of the main thread at concurrency 1, 15 % less at 32.
 * - Collects garbage once the heap has grown by half of what was live, not fourfold: 20,000 orders (bench/memory) end at 1.3 of
 *   2,000, not at 1.7, for 2 % more of the main thread at concurrency 32.
 */
export function settleIn(): void {
  setFlagsFromString('--always-sparkplug')
  setFlagsFromString('--interrupt-budget=2500')
  setFlagsFromString('--heap-growing-percent=50')
}

/** Collects the garbage of a start, such as a thousand files, and returns its memory, which an idle heap would keep for hours. */
export function collectGarbage(): void {
  const flags = ['expose-gc', 'compact-on-every-full-gc']
  for (const flag of flags) setFlagsFromString(`--${flag}`)
  runInNewContext('globalThis.gc?.()')
  for (const flag of flags) setFlagsFromString(`--no-${flag}`)
}
