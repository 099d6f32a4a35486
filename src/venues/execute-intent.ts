import { assertNever } from '../domain/errors.ts'
import type { IntentId } from '../domain/order/intent.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import { closeIntent, type End, settledEnd } from './close.ts'
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
        await attempt(context, open)
        break
      }
      case 'exposed':
      case 'accepted':
      case 'lapsing':
        await followOrder(context, open, venueOf(open).steps(context, open))
        break
      case 'filled':
        await finish(context, open, { outcome: 'filled', reason: 'filled' })
        break
      case 'closed':
        return
      default:
        assertNever(open.state)
    }
  }
}

async function attempt(context: OrderContext, open: OpenIntent): Promise<void> {
  const end = settledEnd(open) ?? (await venueOf(open).attempt(context, open))
  // A drain decides nothing: the next start retries.
  if (end !== undefined && !context.closing.aborted) await finish(context, open, end)
}

async function finish(context: OrderContext, open: OpenIntent, end: End): Promise<void> {
  if (await venueOf(open).finish(context, open)) await closeIntent(context, open, end)
}
