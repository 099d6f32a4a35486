import { assertNever } from '../domain/errors.ts'
import type { IntentId } from '../domain/order/intent.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import { type End, endOf, settledEnd } from './close.ts'
import type { OrderContext } from './context.ts'
import { followOrder } from './follow.ts'
import { venueOf } from './venues.ts'

/**
 * Carries one intent from its journaled state to its outcome. New intents start at `planned`, recovered ones at their own
 * state. All venues share these states; they differ in attempts and following. Returns early only when draining.
 */
export async function executeIntent(context: OrderContext, id: IntentId): Promise<void> {
  const { intents } = context.ports.journal.state
  for (;;) {
    await context.requests.handle(id)
    const open = intents.get(id)
    if (open === undefined || context.stop.aborted) return
    switch (open.state) {
      case 'planned': {
        if (context.closing.aborted) return
        const end = await attempt(context, open)
        if (end !== undefined) return finish(context, open, end)
        break
      }
      case 'exposed':
      case 'accepted':
      case 'lapsing':
        await followOrder(context, open, venueOf(open).steps(context, open))
        break
      case 'filled':
        return finish(context, open, { outcome: 'filled', reason: 'filled' })
      case 'closed':
        return
      default:
        assertNever(open.state)
    }
  }
}

async function attempt(context: OrderContext, open: OpenIntent): Promise<End | undefined> {
  const end = settledEnd(open) ?? (await venueOf(open).attempt(context, open))
  // A drain decides nothing: the next start retries.
  return context.closing.aborted ? undefined : end
}

async function finish(context: OrderContext, open: OpenIntent, end: End): Promise<void> {
  if (!(await venueOf(open).finish(context, open))) return
  // Nothing waits for its end on disk: a start that does not find it proves the same outcome again.
  context.ports.journal.note(...endOf(context, open, end))
}
