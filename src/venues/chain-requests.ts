import { setMaxListeners } from 'node:events'
import { backoffMs, CLOCK_SKEW_MS_MAX, type TrustedTime, trustedTime } from '../domain/policy.ts'
import type { ChainReply } from '../ports.ts'
import type { OrderContext, SendingContext } from './context.ts'

/** A node request: its metrics route, and its purpose in the log. */
type ChainQuestion = {
  readonly route: 'identity' | 'view' | 'draft' | 'compare'
  readonly doing: string
}

/** Queries the node with backoff, at most `requestTriesMax` times. Stops when the daemon drains. */
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

/** Retries until the chain answers; undefined if the daemon drains first. */
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

/** The answer did not arrive in time; the request continues. */
export const LATE = Symbol('late')

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
    // Without a reason, `abort` would create an error with a stack.
    answered.abort(LATE)
  }
}

/** The signal came first; the request continues. */
export const ABORTED = Symbol('aborted')

export async function unless<Answer>(
  signal: AbortSignal,
  answer: Promise<Answer>,
): Promise<Answer | typeof ABORTED> {
  if (signal.aborted) return ABORTED
  let stop = (): void => undefined
  const aborted = new Promise<typeof ABORTED>((resolve) => {
    stop = () => resolve(ABORTED)
  })
  setMaxListeners(0, signal)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([answer, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const SOON_MS = 3_000

/** An optional answer: undefined if it takes more than a few seconds. */
export async function soon<Answer>(
  ports: Pick<OrderContext['ports'], 'clock'>,
  answer: Promise<Answer>,
): Promise<Answer | undefined> {
  const reply = await within(ports, SOON_MS, answer)
  return reply === LATE ? undefined : reply
}

/** The time that decides deadlines, including the service's clock if known; see `trustedTime`. */
export function trustedNow(
  context: SendingContext,
  seen: { readonly blockTimeSeconds: number; readonly serviceOffsetMs?: number | undefined },
): TrustedTime {
  const { blockTimeSeconds, serviceOffsetMs } = seen
  return trustedTime({ localMs: context.ports.clock.now(), serviceOffsetMs, blockTimeSeconds })
}

/** Refreshes the service's clock, which only its answers reveal. */
export async function hearServiceClock(context: TokensContext): Promise<void> {
  if (Math.abs(context.ports.gasless.clockOffsetMs() ?? 0) <= CLOCK_SKEW_MS_MAX) return
  await readTokenList(context)
}

type TokensContext = Pick<OrderContext, 'ports' | 'closing'>

/** The service's token list; undefined if its turn does not come within a few seconds. */
export async function readTokenList({ ports, closing }: TokensContext) {
  const leave = new AbortController()
  const end = AbortSignal.any([closing, leave.signal])
  const answer = ports.queue.runUnless(end, 'tokens', () => ports.gasless.tokens())
  const reply = await soon(ports, answer)
  leave.abort()
  return reply
}

export function unavailable(message: string): Extract<ChainReply<never>, { readonly ok: false }> {
  return { ok: false, fault: { tag: 'unavailable', message } }
}
