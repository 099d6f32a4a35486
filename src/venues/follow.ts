import { assertNever } from '../domain/errors.ts'
import { backoffMs, pollDelayMs } from '../domain/policy.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import { reportUnknown } from './authorization.ts'
import { LATE, within } from './chain-requests.ts'
import type { Refusal } from './close.ts'
import type { OrderContext } from './context.ts'
import { projectionOf } from './projections.ts'
import type { FollowSteps } from './venue.ts'

/**
 * Follows a possibly live authorization until the chain shows its outcome. Returns when the intent changed its state, or the
 * daemon has drained. Operator requests run between two turns and end a sleep. Their signal wakes every order; unaffected
 * ones poll once early.
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
    if (isPoll || tries > 1) await clock.sleep(pauseMs, context.requests.bell(open.intent.id))
    await context.requests.handle(open.intent.id)
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
 * Waits for a service while reading the chain, so that a hanging request cannot hide the order's outcome. `ask` gives up its
 * turn at the signal, when the daemon stops, and by itself if the order has changed its state by then.
 */
export async function whileReadingChain<Answer>(
  context: OrderContext,
  open: OpenIntent,
  how: {
    readonly ask: (end: AbortSignal) => Promise<Answer>
    readonly meanwhile: () => Promise<unknown>
  },
): Promise<Answer | undefined> {
  const { state } = open
  const answer = how.ask(context.stop)
  for (;;) {
    const reply = await within(context.ports, context.policy.silenceMs, answer)
    if (reply !== LATE) return reply
    await context.requests.handle(open.intent.id)
    if (open.state === state && !context.stop.aborted) await how.meanwhile()
    if (open.state !== state) return undefined
  }
}

/** Reports each reason for not signing again once, and starts over after a signature. Meanwhile the chain decides. */
export function createRefusalReporter(
  context: OrderContext,
  open: OpenIntent,
): (refusal: Refusal | undefined) => void {
  let reported: Refusal['reason'] | undefined
  return (refusal) => {
    if (refusal !== undefined && refusal.reason !== reported)
      reportUnknown(context, open, `not sent again (${refusal.reason}): ${refusal.detail}`)
    reported = refusal?.reason
  }
}

export function exposedAtMs(context: OrderContext, open: OpenIntent): number {
  const authorization = projectionOf(open).authorizationOf(open)
  const { exposures } = context.ports.journal.state
  const exposure =
    authorization === undefined ? undefined : exposures.get(authorization.clientOrderId)
  return exposure?.atMs ?? open.openedAtMs
}
