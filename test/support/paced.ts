import { createPacer } from '../../src/adapters/pace/pacer.ts'
import { createQueue } from '../../src/adapters/pace/queue.ts'
import { GASLESS_SHARES } from '../../src/adapters/pace/route-shares.ts'
import type { Pace, PaceParts } from '../../src/simulate/world.ts'

/** The pacer and the queue of the live adapters, on the time of a simulated world. */
export function paced({ requestsPerSecond, ...parts }: PaceParts): Pace {
  const shares = GASLESS_SHARES
  const { monotonicMs } = parts
  const pacer = createPacer({ shares, requestsPerSecond, monotonicMs })
  const { onRateLimit, onRetryAfter } = pacer
  return { queue: createQueue({ shares, pacer, ...parts }), onRateLimit, onRetryAfter }
}
