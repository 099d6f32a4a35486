import type { Observation } from '../../domain/observation.ts'
import type { Log } from './log.ts'
import { DAEMON } from './observe-daemon.ts'
import { ORDERS } from './observe-order.ts'
import { REMOTE } from './observe-remote.ts'
import { SERVICES } from './observe-service.ts'
import { createMemory, type Memory, type Observers, type Tellers } from './observers.ts'

const TELLERS: Tellers = { ...DAEMON, ...ORDERS, ...SERVICES, ...REMOTE }

/**
 * Tells the log and the metrics what happened. Returns at once and never throws: a fault in the telling
 * must not stop an order half-way, so it becomes a log line of its own.
 */
export function createObserver(to: Observers): (event: Observation) => void {
  const memory = createMemory()
  return (event) => {
    try {
      const tell = TELLERS[event.type] as (
        event: Observation,
        to: Observers,
        memory: Memory,
      ) => void
      tell(event, to, memory)
    } catch (error) {
      reportBrokenObserver(to.log, event, error)
    }
  }
}

function reportBrokenObserver(log: Log, event: Observation, error: unknown): void {
  try {
    log.error(`could not report ${event.type}`, { err: error })
  } catch {
    // The log itself is broken (a full disk, a closed pipe): nobody is left to tell.
  }
}
