import type { OpenIntent } from '../domain/book/state.ts'
import { assertNever } from '../domain/errors.ts'
import type { IntentId } from '../domain/intent.ts'
import { closeIntent, type End, settledEnd } from './close.ts'
import type { OrderContext } from './context.ts'
import { followOrder } from './follow.ts'
import { venueOf } from './venues.ts'

/**
 * Carries one intent from wherever the journal says it is to its outcome. A new intent starts at the top; one found
 * after a crash enters at its own state. Every venue's orders pass through the same states; venues differ in what an
 * attempt and its following mean. Returns early, leaving the rest to the next start, only when draining.
 */
export async function executeIntent(context: OrderContext, id: IntentId): Promise<void> {
  const { intents } = context.ports.journal.state
  for (;;) {
    await context.asked.attend(id)
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

/** One attempt, with the end if there is to be no other. */
async function attempt(context: OrderContext, open: OpenIntent): Promise<void> {
  const end = settledEnd(open) ?? (await venueOf(open).attempt(context, open))
  // What a drain has cut short decides nothing: the next start tries again.
  if (end !== undefined && !context.closing.aborted) await finish(context, open, end)
}

/** What our own after-work leaves to do, then the end; or neither, when the daemon stops before. */
async function finish(context: OrderContext, open: OpenIntent, end: End): Promise<void> {
  if (await venueOf(open).finish(context, open)) await closeIntent(context, open, end)
}
