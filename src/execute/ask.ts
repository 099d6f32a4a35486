import type { GaslessRoute } from '../domain/observation.ts'
import { backoffMs, type TrustedTime, trustedTime } from '../domain/policy.ts'
import type { Reply, ServiceFault } from '../domain/quote.ts'
import type { ChainReply } from '../ports.ts'
import type { OrderContext, SendingContext } from './context.ts'

/**
 * Asks the service through its queue, again with backoff while it is rate limited or unavailable, at most
 * `requestTriesMax` times. For what changes nothing; submissions have their own rules.
 */
export async function askService<Value>(
  context: OrderContext,
  route: GaslessRoute,
  ask: () => Promise<Reply<Value>>,
): Promise<Reply<Value>> {
  const { ports, policy } = context
  for (let tries = 1; ; tries += 1) {
    const reply = await ports.queue.run(route, ask)
    const pauseMs = reply.ok ? undefined : retryPauseMs(context, reply.fault, tries)
    if (reply.ok || pauseMs === undefined) return reply
    if (tries >= policy.requestTriesMax || context.closing.aborted) return reply
    ports.observe({ type: 'retry', service: 'gasless', route, cause: reply.fault.tag })
    await ports.clock.sleep(pauseMs, context.closing)
  }
}

function retryPauseMs(
  context: OrderContext,
  fault: ServiceFault,
  tries: number,
): number | undefined {
  const backoff = backoffMs(context.policy, tries, context.ports.random.jitter())
  if (fault.tag === 'rateLimited') return Math.max(fault.retryAfterMs, backoff)
  return fault.tag === 'unavailable' ? backoff : undefined
}

/** Asks the node, again with backoff while it is unavailable, at most `requestTriesMax` times. */
export async function askChain<Value>(
  context: SendingContext,
  doing: string,
  ask: () => Promise<ChainReply<Value>>,
): Promise<ChainReply<Value>> {
  const { ports, policy } = context
  for (let tries = 1; ; tries += 1) {
    const reply = await ask()
    if (reply.ok || reply.fault.tag !== 'unavailable') return reply
    ports.observe({ type: 'chain-trouble', doing, message: reply.fault.message })
    if (tries >= policy.requestTriesMax || context.closing.aborted) return reply
    await ports.clock.sleep(backoffMs(policy, tries, ports.random.jitter()), context.closing)
  }
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
