import { createClock } from '../../adapters/clock.ts'
import type { Clock } from '../../ports.ts'

/** The machine's clock, for as long as a command or a daemon runs. */
export function openClock(): Clock & { close(): Promise<void> } {
  return createClock()
}

/** Runs a task with the machine's clock, and stops it after. */
export async function withClock<Result>(task: (clock: Clock) => Promise<Result>): Promise<Result> {
  const clock = createClock()
  try {
    return await task(clock)
  } finally {
    await clock.close()
  }
}
