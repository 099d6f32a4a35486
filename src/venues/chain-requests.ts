import { backoffMs, CLOCK_SKEW_MS_MAX, type TrustedTime, trustedTime } from '../domain/policy.ts'
import type { ChainReply } from '../ports.ts'
import type { OrderContext, SendingContext } from './context.ts'

/** What is asked of a node: its route in the metrics, and what it is for in the log. */
export type ChainQuestion = {
  readonly route: 'identity' | 'view' | 'draft' | 'compare'
  readonly doing: string
}

/**
 * Asks the node, again with backoff while it is unavailable, at most `requestTriesMax` times; not any more once the
 * daemon drains.
 */
export async function askChain<Value>(
  context: SendingContext,
  { route, doing }: ChainQuestion,
  ask: () => Promise<ChainReply<Value>>,
): Promise<ChainReply<Value>> {
  const { ports, policy, closing } = context
  for (let tries = 1; ; tries += 1) {
    const reply = await askChainOnce(context, doing, ask)
    if (reply.ok || reply.fault.tag !== 'unavailable') return reply
    if (tries >= policy.requestTriesMax) return reply
    await ports.clock.sleep(backoffMs(policy, tries, ports.random.jitter()), closing)
    if (closing.aborted) return reply
    ports.observe({ type: 'retry', service: 'rpc', route, cause: reply.fault.tag })
  }
}

/** Asks until the chain answers. Undefined when the daemon closes before that. */
export async function askUntilClosing<Value>(
  context: SendingContext,
  question: ChainQuestion,
  ask: () => Promise<ChainReply<Value>>,
): Promise<Value | undefined> {
  const { ports, policy, closing } = context
  while (!closing.aborted) {
    const reply = await askChain(context, question, ask)
    if (closing.aborted) return undefined
    if (reply.ok) return reply.value
    await ports.clock.sleep(policy.backoffMsMax, closing)
    if (closing.aborted) return undefined
    const { tag: cause } = reply.fault
    ports.observe({ type: 'retry', service: 'rpc', route: question.route, cause })
  }
  return undefined
}

/** Asks the node once, for what has its own way of asking again. */
export async function askChainOnce<Value>(
  { ports }: Pick<SendingContext, 'ports'>,
  doing: string,
  ask: () => Promise<ChainReply<Value>>,
): Promise<ChainReply<Value>> {
  const reply = await ask()
  if (!reply.ok && reply.fault.tag === 'unavailable')
    ports.observe({ type: 'chain-trouble', doing, message: reply.fault.message })
  return reply
}

/** Stands for an answer that has not come in time; the request goes on. */
export const LATE = Symbol('late')

/** Waits at most `ms` for an answer that is under way. */
export async function within<Answer>(
  { clock }: Pick<OrderContext['ports'], 'clock'>,
  ms: number,
  answer: Promise<Answer>,
): Promise<Answer | typeof LATE> {
  const answered = new AbortController()
  const late = clock.sleep(ms, answered.signal).then((): typeof LATE => LATE)
  try {
    return await Promise.race([answer, late])
  } finally {
    // A reason, for without one an error with a stack is made each time.
    answered.abort(LATE)
  }
}

/** What is nice to know is not worth more of an order's time. */
const SOON_MS = 3_000

/** An answer that nothing depends on: undefined when it does not come within a few seconds. */
export async function soon<Answer>(
  ports: Pick<OrderContext['ports'], 'clock'>,
  answer: Promise<Answer>,
): Promise<Answer | undefined> {
  const reply = await within(ports, SOON_MS, answer)
  return reply === LATE ? undefined : reply
}

/** The time that deadlines are judged by; see `trustedTime`. The service's clock counts where it is known. */
export function trustedNow(
  context: SendingContext,
  seen: { readonly blockTimeSeconds: number; readonly serviceOffsetMs?: number | undefined },
): TrustedTime {
  return trustedTime({
    localMs: context.ports.clock.now(),
    serviceOffsetMs: seen.serviceOffsetMs,
    blockTimeSeconds: seen.blockTimeSeconds,
  })
}

/** The service's clock is known by its answers alone: one that differs is heard again, or it would stay as it was last heard. */
export async function hearServiceClock({
  ports,
  closing,
}: Pick<OrderContext, 'ports' | 'closing'>): Promise<void> {
  const { gasless, queue } = ports
  if (Math.abs(gasless.clockOffsetMs() ?? 0) <= CLOCK_SKEW_MS_MAX) return
  await soon(
    ports,
    queue.runUnless(closing, 'tokens', () => gasless.tokens()),
  )
}

/** Nothing is known of the chain now, and why. */
export function unavailable(message: string): Extract<ChainReply<never>, { readonly ok: false }> {
  return { ok: false, fault: { tag: 'unavailable', message } }
}
