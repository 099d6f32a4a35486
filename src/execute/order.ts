import type { OpenIntent } from '../domain/book/state.ts'
import { assertNever } from '../domain/errors.ts'
import type { IntentId } from '../domain/intent.ts'
import { attemptCall } from './call/attempt.ts'
import { callSteps } from './call/follow.ts'
import { closeIntent, type OrderContext } from './context.ts'
import { followOrder } from './follow.ts'
import { attemptOrder } from './swap/attempt.ts'
import { swapSteps } from './swap/follow.ts'
import { leaveNoWeth } from './swap/prepare.ts'

/**
 * Carries one intent from wherever the journal says it is to its outcome. A new intent starts at the top; one found
 * after a crash enters at its own state. Both venues pass through the same states; they differ in what an attempt and
 * its following mean. Returns early, leaving the rest to the next start, only when draining.
 */
export async function executeIntent(context: OrderContext, id: IntentId): Promise<void> {
  const { intents } = context.ports.journal.state
  for (;;) {
    const open = intents.get(id)
    if (open === undefined || context.stop.aborted) return
    switch (open.state) {
      case 'planned':
        if (context.closing.aborted) return
        await (open.venue === 'gasless' ? attemptOrder(context, open) : attemptCall(context, open))
        break
      case 'exposed':
      case 'accepted':
      case 'lapsing':
        await followOrder(
          context,
          open,
          open.venue === 'gasless' ? swapSteps(context, open) : callSteps(context, open),
        )
        break
      case 'filled':
        await finish(context, open)
        break
      case 'closed':
        return
      default:
        assertNever(open.state)
    }
  }
}

/** After a proven fill only our own unwrapping is left; then the slot has its outcome. */
async function finish(context: OrderContext, open: OpenIntent): Promise<void> {
  if (open.venue === 'gasless' && !(await leaveNoWeth(context, open))) return
  await closeIntent(context, open, { outcome: 'filled', reason: 'filled' })
}
