import { programEnded } from '../journal/events/strategy/strategies.ts'
import type { Ports } from '../ports.ts'
import type { SlicedTotal } from '../strategies/kind.ts'
import { kindOf, type Strategy } from '../strategies/registry.ts'
import { isFinished } from '../strategies/spending/slots-ahead.ts'
import { promisedBy } from '../venues/swap/swap-projection.ts'
import type { Upcoming } from './upcoming.ts'

/**
 * Detects finished TWAP schedules: no slice left and nothing in flight. Journals an unsold rest once, so that a shortfall
 * does not look like a normal end. Reads the ledger, because the last slice may be missed, skipped, failed, or from an
 * earlier process.
 */
export function createProgramsWatch(
  { journal, observe }: Pick<Ports, 'journal' | 'observe'>,
  upcoming: Upcoming,
): () => Promise<void> {
  const shown = new Map<string, bigint>()
  const report = async (strategy: Strategy, sliced: SlicedTotal): Promise<void> => {
    const { name } = strategy
    const { token, total, rule, key: program } = sliced
    const record = journal.state.strategies.get(name)
    if (record === undefined || !isFinished(journal.state, strategy)) return
    if (promisedBy(journal.state, token, name) > 0n) return
    const { symbol, decimals } = token
    const unsold = sliced.unsold(record)
    if (shown.get(name) !== unsold)
      observe({ type: 'unsold', strategy: name, token: symbol, amount: unsold, decimals })
    shown.set(name, unsold)
    if (unsold === 0n || record.endedProgram === program) return
    const { lastSlotSeconds: slotSeconds } = record
    const ended = { program, token, total, unsold, rule }
    await journal.append(programEnded({ strategy: name, slotSeconds, ...ended }))
  }
  return async () => {
    for (const strategy of upcoming.strategies) {
      const sliced = kindOf(strategy).slicedTotal(strategy)
      if (sliced !== undefined) await report(strategy, sliced)
    }
  }
}
