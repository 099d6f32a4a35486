import { inSlices } from '../../adapters/notify/slices.ts'
import type { Log } from '../../adapters/tell/log.ts'
import type { Fact } from '../../domain/book/fact.ts'
import { type Told, tellAll } from '../../domain/book/tell.ts'
import type { Observation, RecordPlace } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import { Bookkeeper } from '../../engine/bookkeeper.ts'
import { valueTokenOf } from '../../engine/portfolio.ts'
import type { Clock, Journal } from '../../ports.ts'

/** Between two slices of the journal: orders go first. */
const REST_MS = 16

export type Bookkeeping = {
  /** Facts come with the record that tells them. */
  saw(event: Observation, record: RecordPlace | undefined): void
  /** Reads the journal back up to a record, beside whatever the daemon does. */
  begin(journal: Journal, lastSeq: number): void
  close(): void
}

/** Keeps costs and profit; undefined where the config has no price feed, in whose token they would be. */
export function openBookkeeping(
  settings: Settings,
  parts: {
    readonly clock: Clock
    readonly log: Log
    readonly observe: (event: Observation) => void
  },
): Bookkeeping | undefined {
  const { clock, log, observe } = parts
  const valueToken = valueTokenOf(settings.prices.values())
  if (valueToken === undefined) return undefined
  const keeper = new Bookkeeper({ valueToken, observe })
  const closed = new AbortController()
  return {
    saw(event, record) {
      if (record === undefined) keeper.saw(event)
      // What comes with its record is a fact.
      else keeper.told(event as Fact, record.atMs)
    },
    begin(journal, lastSeq) {
      const told = tellAll(journal.records({ seq: 1 }), journal.state)
      const rest = async (): Promise<void> => {
        await clock.sleep(REST_MS, closed.signal)
        closed.signal.throwIfAborted()
      }
      keeper.readBack(inSlices<Told>(told, rest), lastSeq).catch((error: unknown) => {
        if (!closed.signal.aborted)
          log.warn('costs and profit are not told: the journal could not be read back', {
            err: error,
          })
      })
    },
    close: () => closed.abort(),
  }
}
