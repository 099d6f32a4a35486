import type { CloseReason, JournalEvent } from '../domain/book/journal.ts'
import type { OpenIntent } from '../domain/book/state.ts'
import { type Outcome, worseEnd } from '../domain/intent.ts'
import type { Route } from '../domain/observation.ts'
import type { Permit } from '../domain/permit.ts'
import { backoffMs, type ExecutionPolicy, type TrustedTime, trustedTime } from '../domain/policy.ts'
import type { PricePath } from '../domain/price.ts'
import type { Reply, ServiceFault } from '../domain/quote.ts'
import type {
  AccountLimits,
  AggregatorSettings,
  GaslessSettings,
  Mode,
} from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import type { Hex } from '../domain/units.ts'
import type {
  Aggregator,
  CallChain,
  Chain,
  ChainReply,
  ChainView,
  Ports,
  Signer,
} from '../ports.ts'
import { pauseObservation, stopsAfter } from './streak.ts'

/** What every step of an order is given. Frozen while the daemon runs, but for the strategies: their files may change. */
export type OrderContext = {
  readonly ports: Ports
  /** `dry-run` signs nothing: what passes the firewall is booked on paper. */
  readonly mode: Mode
  readonly policy: ExecutionPolicy
  readonly chainId: number
  readonly gasless: GaslessSettings
  readonly account: AccountLimits
  readonly strategies: ReadonlyMap<string, Strategy>
  /** Feeds that give the price of a pair, sell per buy; undefined where they do not connect it. */
  readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
  readonly hashPermit: (permit: Permit) => Hex
  /** Aborted when the daemon begins to drain: nothing new is signed. */
  readonly closing: AbortSignal
  /** Aborted when the drain is over: whatever waits stops waiting, and the journal keeps the rest. */
  readonly stop: AbortSignal
  /** The wallet that trades, on the gasless service's chain. */
  readonly wallet: WalletContext
  /** Undefined where the config has no aggregator. */
  readonly aggregator: AggregatorContext | undefined
}

/** As much of it as sending a transaction takes, which commands that trade nothing have too. */
export type SendingContext = Pick<OrderContext, 'policy' | 'closing' | 'stop'> & {
  readonly ports: Pick<Ports, 'clock' | 'random' | 'journal' | 'observe'>
}

/** A wallet that sends transactions of its own. */
export type WalletContext = {
  readonly chain: Pick<Chain, 'draft' | 'broadcast' | 'transaction'>
  readonly chainId: number
  readonly signer: Signer
  /** Runs its transactions one at a time, so that no two share a nonce. */
  readonly turn: <Result>(task: () => Promise<Result>) => Promise<Result>
}

/** The aggregation service and the chain it works on. */
export type AggregatorContext = {
  readonly settings: AggregatorSettings
  readonly service: Aggregator
  readonly chain: CallChain
  readonly wallet: WalletContext
}

/** Runs tasks one after another, in the order asked. */
export function createTurns(): WalletContext['turn'] {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task, task)
    last = result.catch(() => undefined)
    return result
  }
}

/**
 * Asks the service through its queue, again with backoff while it is rate limited or unavailable, at most
 * `requestTriesMax` times. For calls that change nothing; submits have their own rules.
 */
export async function askService<Value>(
  context: OrderContext,
  route: Route,
  call: () => Promise<Reply<Value>>,
): Promise<Reply<Value>> {
  const { ports, policy } = context
  for (let tries = 1; ; tries += 1) {
    const reply = await ports.queue.run(route, call)
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
  call: () => Promise<ChainReply<Value>>,
): Promise<ChainReply<Value>> {
  const { ports, policy } = context
  for (let tries = 1; ; tries += 1) {
    const reply = await call()
    if (reply.ok || reply.fault.tag !== 'unavailable') return reply
    ports.observe({ type: 'chain-trouble', doing, message: reply.fault.message })
    if (tries >= policy.requestTriesMax || context.closing.aborted) return reply
    await ports.clock.sleep(backoffMs(policy, tries, ports.random.jitter()), context.closing)
  }
}

/** The time that deadlines are judged by; see `trustedTime`. */
export function trustedNow(context: OrderContext, view: ChainView): TrustedTime {
  return trustedTime({
    localMs: context.ports.clock.now(),
    serviceOffsetMs: context.ports.gasless.clockOffsetMs(),
    blockTimeSeconds: view.blockTimeSeconds,
  })
}

/** Gives an intent its outcome and, with the last intent of its slot, the slot. */
export async function closeIntent(
  context: OrderContext,
  open: OpenIntent,
  end: { readonly outcome: Outcome; readonly reason: CloseReason; readonly detail?: string },
): Promise<void> {
  const { intent } = open
  const { journal, observe } = context.ports
  const closed: JournalEvent = {
    type: 'intent-closed',
    intentId: intent.id,
    outcome: end.outcome,
    reason: end.reason,
  }
  const slot = { strategy: intent.strategy, slotSeconds: intent.slotSeconds }
  if (!isLastOfSlot(context, open)) return journal.append(closed)
  const before = journal.state.strategies
    .get(intent.strategy)
    ?.openSlots.find(({ slotSeconds }) => slotSeconds === intent.slotSeconds)?.ended
  const worst = before === undefined ? end : worseEnd(before, end)
  const { outcome, reason, detail } = { detail: undefined, ...worst }
  const { strategies, account } = context
  const stops = stopsAfter(outcome, {
    strategy: intent.strategy,
    state: journal.state,
    strategies,
    account,
  })
  await journal.append(closed, { type: 'slot-closed', ...slot, outcome, reason, detail }, ...stops)
  observe({
    type: 'slot-closed',
    ...slot,
    outcome,
    reason,
    ...(detail === undefined ? {} : { detail }),
    count: 1,
  })
  for (const event of stops) observe(pauseObservation(event))
}

function isLastOfSlot(context: OrderContext, open: OpenIntent): boolean {
  for (const other of context.ports.journal.state.intents.values()) {
    if (other === open) continue
    const { strategy, slotSeconds } = other.intent
    if (strategy === open.intent.strategy && slotSeconds === open.intent.slotSeconds) return false
  }
  return true
}
