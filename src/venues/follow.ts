import type { OpenIntent } from '../domain/book/state.ts'
import { bookOf } from '../domain/book/venues.ts'
import { assertNever } from '../domain/errors.ts'
import { backoffMs, pollDelayMs } from '../domain/policy.ts'
import { LATE, within } from './ask.ts'
import type { OrderContext } from './context.ts'
import type { FollowSteps } from './venue.ts'

/**
 * Follows an authorization that may be live until the chain says what became of it. Returns when the intent moved to
 * another state, or when the daemon has drained. What an operator asks of the order is done between two turns, and at once
 * where it sleeps; the bell is for all orders, and whoever it is not for only looks early.
 */
export async function followOrder(
  context: OrderContext,
  open: OpenIntent,
  steps: FollowSteps,
): Promise<void> {
  const { clock, random } = context.ports
  const { state } = open
  const sinceMs = exposedAtMs(context, open)
  for (let tries = 1; open.state === state && !context.stop.aborted; tries += 1) {
    const isPoll = state === 'accepted'
    const pauseMs = isPoll
      ? pollDelayMs(context.policy, clock.now() - sinceMs, random.jitter())
      : backoffMs(context.policy, tries, random.jitter())
    if (isPoll || tries > 1) await clock.sleep(pauseMs, context.asked.bell(open.intent.id))
    await context.asked.attend(open.intent.id)
    if (open.state !== state || context.stop.aborted) return
    await takeTurn(state, steps)
  }
}

function takeTurn(state: OpenIntent['state'], steps: FollowSteps): Promise<unknown> {
  switch (state) {
    case 'exposed':
      return steps.replay()
    case 'accepted':
      return steps.poll()
    case 'lapsing':
      return steps.resolve()
    case 'planned':
    case 'filled':
    case 'closed':
      return Promise.resolve()
    default:
      return assertNever(state)
  }
}

/**
 * Waits for a service, and asks the chain meanwhile: a queue that is held by a limit, or a request that hangs, must not
 * hide what became of the order. Undefined when there is nothing to answer any more.
 */
export async function attended<Answer>(
  context: OrderContext,
  open: OpenIntent,
  { answer, meanwhile }: { answer: Promise<Answer>; meanwhile: () => Promise<unknown> },
): Promise<Answer | undefined> {
  const { state } = open
  for (;;) {
    const reply = await within(context.ports, context.policy.silenceMs, answer)
    if (reply !== LATE) return reply
    await context.asked.attend(open.intent.id)
    if (open.state === state && !context.stop.aborted) await meanwhile()
    if (open.state !== state) return undefined
  }
}

/** When the authorization on record was made. */
export function exposedAtMs(context: OrderContext, open: OpenIntent): number {
  const authorization = bookOf(open).authorizationOf(open)
  const { exposures } = context.ports.journal.state
  const exposure =
    authorization === undefined ? undefined : exposures.get(authorization.clientOrderId)
  return exposure?.atMs ?? open.openedAtMs
}
