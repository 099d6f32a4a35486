import type { Aggregator, Turn } from '../../../src/ports.ts'
import { type PacedAggregator, paceAggregator } from '../../../src/venues/call/paced.ts'

/** A service behind a queue without waits. */
export function unpaced(service: Aggregator): PacedAggregator {
  return paceAggregator(service, {
    run: (_, task) => task(TURN),
    runUnless: async (end, _, task) => (end.aborted ? undefined : task(TURN)),
  })
}

const TURN: Turn = { giveBack: () => undefined }
