import { setImmediate } from 'node:timers/promises'
import type { JournalEvent } from '../../domain/book/journal.ts'
import { tellAll } from '../../domain/book/tell.ts'
import type { IntentId } from '../../domain/intent.ts'
import { reasonText } from '../../domain/reason-words.ts'
import type { Journal } from '../../ports.ts'
import type { Notice } from './notices.ts'
import type { Untold } from './notifier.ts'
import { inSlices } from './slices.ts'
import { whyCommand } from './texts/text.ts'

/**
 * What the journal tells after a record, oldest first. Read beside the daemon, from the file before the one that holds the record:
 * an order that was begun earlier still is told without its amounts.
 */
export async function* untoldAfter(
  journal: Pick<Journal, 'records' | 'state'>,
  seq: number,
): AsyncGenerator<Untold> {
  const told = tellAll(journal.records({ seq: seq + 1 }), journal.state)
  for await (const { record, fact } of inSlices(told, () => setImmediate())) {
    if (record.seq <= seq) continue
    yield { record, fact, instead: fact === undefined ? insteadOf(record.event) : undefined }
  }
}

/** What can be said of an end whose beginning is not at hand. */
function insteadOf(event: JournalEvent): Notice | undefined {
  switch (event.type) {
    case 'fill-proven':
    case 'call-proven':
    case 'paper-filled':
      return briefly('filled', event.intentId, 'an order was filled')
    case 'fill-reopened':
      return briefly('reorganised', event.intentId, 'the chain took a fill back')
    case 'intent-closed':
      if (event.outcome === 'refused')
        return briefly('refused', event.intentId, `nothing was signed: ${reasonText(event.reason)}`)
      if (event.outcome === 'failed' || event.outcome === 'expired')
        return briefly('failed', event.intentId, reasonText(event.reason))
      return undefined
    default:
      return undefined
  }
}

function briefly(event: Notice['event'], intentId: IntentId, what: string): Notice {
  const [strategy = ''] = intentId.split(':')
  const text = {
    subject: `${strategy}: ${what}`,
    lines: [`The whole story: ${whyCommand(intentId)}`],
  }
  return { event, strategy, intentId, text }
}
