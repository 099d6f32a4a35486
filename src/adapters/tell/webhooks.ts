import { errors, Pool } from 'undici'
import type { WebhookEvent } from '../../domain/settings.ts'
import type { Clock } from '../../ports.ts'
import { exchangeText } from '../http/exchange.ts'
import type { Log } from './log.ts'
import type { Scrubber } from './scrubber.ts'

const QUEUE_MAX = 100
const TRIES = 3
const BACKOFF_MS = [1_000, 5_000] as const
const TIMEOUT_MS = 5_000
/** Of an answer that nobody reads. */
const ANSWER_BYTES_MAX = 64 * 1024

/** One message to the operator. `text` is a whole sentence for people, `details` the same for programs. */
export type Notification = {
  readonly event: WebhookEvent
  readonly text: string
  readonly strategy?: string
  readonly intentId?: string
  /** Amounts are decimal text. */
  readonly details: Readonly<Record<string, string | number>>
}

/**
 * What is posted, as `application/json`. `text` and `content` say the same: chat services show the one or the other.
 * `id` is equal in every try of one notification, so that a receiver can drop repeats.
 */
export type WebhookPayload = Notification & {
  readonly version: 1
  readonly id: string
  readonly content: string
  /** ISO 8601, UTC: when it happened, not when it was sent. */
  readonly at: string
}

export type Webhooks = {
  /** Queues it for every webhook that asked for the event. Returns at once; never throws. */
  notify(notification: Notification): void
  /** Sends what is queued until `deadlineMs` (epoch), drops the rest with a warning, and accepts nothing more. */
  flush(deadlineMs: number): Promise<void>
}

export type WebhookOptions = {
  readonly webhooks: readonly { readonly url: string; readonly on: readonly WebhookEvent[] }[]
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Log
  readonly scrubber: Scrubber
  /** For the whole answer, 5000 unless told otherwise. */
  readonly timeoutMs?: number
}

type Hook = {
  /** `webhook 1`: its place in the config, since its URL is a secret. */
  readonly label: string
  readonly pool: Pool
  readonly path: string
  readonly on: ReadonlySet<WebhookEvent>
  readonly waiting: WebhookPayload[]
  worker: Promise<void> | undefined
  dropped: number
}

type Attempt = 'delivered' | { readonly fault: string; readonly final: boolean }

/**
 * Posts notifications beside the trading and never in its way: one queue of at most 100 a webhook, three tries each
 * with 1 s and 5 s between them, no redirects. What does not fit or arrive is counted in the log.
 */
export function createWebhooks(options: WebhookOptions): Webhooks {
  const { clock, log, scrubber, timeoutMs = TIMEOUT_MS } = options
  const stop = new AbortController()
  const hooks = options.webhooks.map(createHook)
  const startedAtMs = clock.now()
  let count = 0
  let closed = false

  async function work(hook: Hook): Promise<void> {
    while (!stop.signal.aborted) {
      const payload = hook.waiting.shift()
      if (payload === undefined) {
        // Here and not when the promise settles: what is queued in between would wait for the next one.
        hook.worker = undefined
        return
      }
      await deliver(hook, payload)
    }
  }

  async function deliver(hook: Hook, payload: WebhookPayload): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const attempt = await post(hook, payload, timeoutMs)
      if (attempt === 'delivered') return
      if (attempt.final || tries >= TRIES || stop.signal.aborted) {
        const { fault } = attempt
        log.warn(`${hook.label} did not take a "${payload.event}" notification: ${fault}`, {
          tries,
        })
        return
      }
      await clock.sleep(BACKOFF_MS[tries - 1] ?? 0, stop.signal)
    }
  }

  function enqueue(hook: Hook, payload: WebhookPayload): void {
    if (hook.waiting.length >= QUEUE_MAX) {
      hook.waiting.shift()
      hook.dropped += 1
      // The first one is news, and then every hundredth: a dead receiver must not fill the log.
      if (hook.dropped % QUEUE_MAX === 1)
        log.warn(`${hook.label} is too slow: ${hook.dropped} notifications dropped so far`)
    }
    hook.waiting.push(payload)
    hook.worker ??= work(hook)
  }

  /** Ends the requests under way as well. */
  async function destroy(): Promise<void> {
    await Promise.all(hooks.map(({ pool }) => pool.destroy()))
  }

  return {
    notify(notification) {
      const takers = hooks.filter((hook) => hook.on.has(notification.event))
      if (closed || takers.length === 0) return
      count += 1
      const nowMs = clock.now()
      const payload = scrubber.value({
        version: 1,
        id: `${startedAtMs}-${count}`,
        at: new Date(nowMs).toISOString(),
        ...notification,
        content: notification.text,
      }) as WebhookPayload
      for (const hook of takers) enqueue(hook, payload)
    },
    async flush(deadlineMs) {
      closed = true
      const done = new AbortController()
      const alarm = clock.sleep(Math.max(0, deadlineMs - clock.now()), done.signal).then(() => {
        stop.abort()
        return destroy()
      })
      await Promise.all(hooks.map((hook) => hook.worker))
      done.abort()
      await alarm
      for (const hook of hooks) reportLeft(hook, log)
    },
  }
}

function createHook(
  webhook: { readonly url: string; readonly on: readonly WebhookEvent[] },
  index: number,
): Hook {
  const { origin, pathname, search } = new URL(webhook.url)
  return {
    label: `webhook ${index + 1}`,
    // The exchange has one deadline for all of it.
    pool: new Pool(origin, { connections: 1, headersTimeout: 0, bodyTimeout: 0 }),
    path: pathname + search,
    on: new Set(webhook.on),
    waiting: [],
    worker: undefined,
    dropped: 0,
  }
}

function reportLeft(hook: Hook, log: Log): void {
  const left = hook.waiting.length
  if (left > 0) log.warn(`${hook.label}: ${left} notifications not sent before the end`)
}

async function post(hook: Hook, payload: WebhookPayload, timeoutMs: number): Promise<Attempt> {
  const answer = { status: 0 }
  try {
    await exchangeText(hook.pool, {
      request: {
        method: 'POST',
        path: hook.path,
        headers: { 'content-type': 'application/json', 'user-agent': 'tranched' },
        body: JSON.stringify(payload),
      },
      timeoutMs,
      bytesMax: ANSWER_BYTES_MAX,
      onHead: ({ statusCode }) => {
        answer.status = statusCode
      },
    })
  } catch (error) {
    // A receiver that answered has spoken, whatever becomes of the rest of its answer.
    if (answer.status === 0) return { fault: faultOf(error), final: false }
  }
  return judge(answer.status)
}

function judge(statusCode: number): Attempt {
  if (statusCode >= 200 && statusCode < 300) return 'delivered'
  const passing = statusCode >= 500 || statusCode === 408 || statusCode === 429
  return { fault: `HTTP ${statusCode}`, final: !passing }
}

/** Only the code: the message of a network error names the host. */
function faultOf(error: unknown): string {
  if (error instanceof errors.BodyTimeoutError || error instanceof errors.ClientDestroyedError)
    return 'no answer in time'
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'request failed'
}
