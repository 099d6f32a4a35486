import { onTestFinished, vi } from 'vitest'
import type { Clock } from '../../src/ports.ts'
import { createQueue } from '../../src/venues/queue/queue.ts'
import { GASLESS_SHARES } from '../../src/venues/queue/route-shares.ts'
import type { Pace, PaceParts } from '../simulation/simulation.ts'

/** The queue of the live adapters in the time of a simulation. */
export function paced(parts: PaceParts): Pace {
  useTimeOf(parts.clock)
  return createQueue({ shares: GASLESS_SHARES, ...parts })
}

/** p-queue takes no clock: until the test ends, the machine's time and timers are those of the simulation. */
function useTimeOf(clock: Pick<Clock, 'now' | 'sleep'>): void {
  vi.spyOn(Date, 'now').mockImplementation(() => clock.now())
  vi.stubGlobal('setTimeout', (fire: () => void, ms: number) => {
    const cancelled = new AbortController()
    void clock.sleep(ms, cancelled.signal).then(() => cancelled.signal.aborted || fire())
    return cancelled
  })
  vi.stubGlobal('clearTimeout', (timer: unknown) => {
    if (timer instanceof AbortController) timer.abort()
  })
  onTestFinished(() => {
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })
}
