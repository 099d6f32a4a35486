import type { OpenIntent } from '../domain/book/state.ts'
import { backoffMs } from '../domain/policy.ts'
import { type FailureReason, isFailureReason, isPassing } from '../domain/reason.ts'
import type { Chain } from '../ports.ts'
import { askChainOnce, trustedNow } from './ask.ts'
import { barredBy, type Closing, mayNotStart, type Refusal } from './close.ts'
import type { OrderContext } from './context.ts'

/** What keeps an intent from being signed now, and may be over in a while. */
export type Trouble = {
  readonly tag: 'trouble'
  readonly reason: FailureReason
  readonly detail: string
  /** The least to wait, where somebody said so. */
  readonly pauseMs?: number
  /** The request that has to be made again. */
  readonly again?: {
    readonly service: 'gasless' | 'rpc'
    readonly route: string
    readonly cause: string
  }
}

/** What one try came to. */
export type Step =
  | { readonly tag: 'sent' | 'stopped' }
  | Closing
  | Trouble
  /** Something changed meanwhile: at once again, `otherwise` after so many times in a row. */
  | { readonly tag: 'again'; readonly otherwise: Closing | Trouble }
  /** Its turn did not come before something barred it. */
  | { readonly tag: 'barred' }

export function trouble(
  reason: FailureReason,
  detail: string,
  more: Pick<Trouble, 'pauseMs' | 'again'> = {},
): Trouble {
  return { tag: 'trouble', reason, detail, ...more }
}

/** What comes of a signature that the signer did not make: what is not certain yet is waited for. */
export function unsigned({ reason, detail }: Refusal): Closing | Trouble {
  return isFailureReason(reason) && isPassing(reason)
    ? trouble(reason, detail)
    : barredBy({ ok: false, reason, detail })
}

/** How the tries of an intent are made. */
export type Tries = {
  /** What ends it before a try; else what bars any attempt. */
  readonly barred: () => Closing | undefined
  readonly tryOnce: () => Promise<Step>
  /** Asks the other clocks of its venue; see `clockDoubt`. */
  readonly clocks: () => Promise<Trouble | undefined>
  /** Tries that may follow one another at once. */
  readonly atOnceMax: number
}

/**
 * Tries until something is signed or the intent has its end: nothing signed yet is lost by waiting, so that trouble with the
 * service, the chain or the clocks is waited out, with backoff, for as long as the slot may be late. Told once as it begins
 * and once as it ends. Gives the end; undefined when it was sent, or when the daemon drains.
 */
export async function tryPatiently(
  context: OrderContext,
  open: OpenIntent,
  tries: Tries,
): Promise<Closing | undefined> {
  const { barred, tryOnce, atOnceMax } = tries
  const wait = createWait(context, open)
  let atOnce = 0
  while (!context.closing.aborted) {
    const step = await believed(tries, barred() ?? (await tryOnce()))
    // What a drain has cut short decides nothing.
    if (context.closing.aborted && step.tag !== 'sent') break
    atOnce = step.tag === 'again' ? atOnce + 1 : 0
    const came = step.tag === 'again' && atOnce >= atOnceMax ? step.otherwise : step
    if (isOver(came)) return wait.over(came)
    await wait.after(came)
  }
  return undefined
}

/** Ends that a clock which is wrong brings about as well: they stand only while clocks agree. */
const BY_CLOCK: ReadonlySet<Closing['reason']> = new Set(['too-late', 'deadline-too-far'])

async function believed({ barred, clocks }: Tries, step: Step): Promise<Step> {
  if (step.tag !== 'closing' || !BY_CLOCK.has(step.reason)) return step
  const doubt = await clocks()
  if (doubt !== undefined) return doubt
  // The clock may have been set right while it was asked.
  const isLate = step.reason === 'too-late'
  return isLate && barred()?.reason !== step.reason ? { tag: 'again', otherwise: step } : step
}

/**
 * Why this machine's clock is not believed now: the newest block, or the service's clock where one is given, says otherwise, or no
 * block can be read. Undefined while all agree.
 */
export async function clockDoubt(
  context: OrderContext,
  chain: Pick<Chain, 'identity'>,
  serviceOffsetMs?: number,
): Promise<Trouble | undefined> {
  const read = await askChainOnce(context, 'comparing clocks', () => chain.identity())
  if (!read.ok) {
    const { tag: cause, message } = read.fault
    const again = { service: 'rpc', route: 'identity', cause } as const
    return trouble('chain-unavailable', message, { again })
  }
  const { blockTimeSeconds } = read.value
  const time = trustedNow(context, { blockTimeSeconds, serviceOffsetMs })
  if (time.ok) return undefined
  context.ports.observe({ type: 'clock-trouble', detail: time.detail })
  return trouble(time.reason, time.detail)
}

type Over = Extract<Step, { readonly tag: 'closing' | 'sent' | 'stopped' }>

function isOver(step: Step): step is Over {
  return step.tag === 'closing' || step.tag === 'sent' || step.tag === 'stopped'
}

type Wait = {
  /** Rests after a trouble, told when it is the first. */
  after(step: Step): Promise<void>
  /** It is over: told where there was one. An end that came of waiting too long names what it waited for. */
  over(step: Over): Closing | undefined
}

const NO_TURN = 'its turn had not come'

function createWait(context: OrderContext, open: OpenIntent): Wait {
  const { ports, policy, closing } = context
  const { strategy, id: intentId, startBeforeMs } = open.intent
  let last: Trouble | undefined
  let sinceMs = 0
  let tries = 0
  let isCrowded = false
  return {
    async after(step) {
      isCrowded ||= step.tag === 'barred'
      if (step.tag !== 'trouble') return
      if (last === undefined) {
        sinceMs = ports.clock.now()
        const { reason, detail } = step
        ports.observe({ type: 'order-waits', strategy, intentId, reason, detail, startBeforeMs })
      }
      last = step
      tries += 1
      const backoff = backoffMs(policy, tries, ports.random.jitter())
      await restFor(context, open, Math.max(step.pauseMs ?? 0, backoff))
      if (closing.aborted) return
      if (step.again !== undefined) ports.observe({ type: 'retry', ...step.again })
    },
    over(step) {
      const end = step.tag === 'closing' ? step : undefined
      const isLate = end?.reason === 'too-late'
      if (last === undefined)
        return isLate && isCrowded ? { ...end, detail: `${end.detail}; ${NO_TURN}` } : end
      const waitedMs = Math.max(0, ports.clock.now() - sinceMs)
      const { reason, detail } = last
      ports.observe({ type: 'order-waited', strategy, intentId, reason, waitedMs })
      return isLate
        ? { ...end, detail: `${end.detail}; the last trouble: ${reason}, ${detail}` }
        : end
    },
  }
}

/** Sleeps, and looks every second whether what bars the intent, if anything, has changed. */
async function restFor(context: OrderContext, open: OpenIntent, ms: number): Promise<void> {
  const { clock } = context.ports
  const lookMs = context.policy.pollMsMin
  const before = mayNotStart(context, open)?.reason
  for (let leftMs = ms; leftMs > 0; leftMs -= lookMs) {
    await clock.sleep(Math.min(leftMs, lookMs), context.closing)
    if (context.closing.aborted || mayNotStart(context, open)?.reason !== before) return
  }
}
