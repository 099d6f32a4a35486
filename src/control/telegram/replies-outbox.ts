import type { Clock } from '../../ports.ts'
import type { BotApi, BotReply } from './bot-api.ts'

/** Texts are plain text. */
export type Outgoing =
  | {
      readonly tag: 'message'
      readonly chat: number
      readonly text: string
      /** Pressing a button returns its `data`, at most 64 bytes. */
      readonly buttons?: readonly { readonly text: string; readonly data: string }[]
    }
  /** Replaces one of the bot's messages and removes its buttons. */
  | {
      readonly tag: 'edit'
      readonly chat: number
      readonly messageId: number
      readonly text: string
    }
  /** Answers a pressed button with a short notice. */
  | { readonly tag: 'press'; readonly queryId: string; readonly text: string }

export type Outbox = ReturnType<typeof createOutbox>

type OutboxInput = {
  readonly api: Pick<BotApi, 'sendMessage' | 'editMessageText' | 'answerCallbackQuery'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly onUnsent: (detail: string) => void
}

const QUEUE_MAX = 20
/** After this, no one waits for the answer any more. */
const AGE_MS_MAX = 120_000
/** Telegram allows about one per second in a chat. */
const PER_MINUTE = 30
const MINUTE_MS = 60_000
const TRIES = 2
const RETRY_MS = 1_000
/** Telegram refuses longer notices. */
const PRESS_LENGTH_MAX = 200
const NO_PREVIEW = { link_preview_options: { is_disabled: true } } as const

type Waiting = { readonly outgoing: Outgoing; readonly atMs: number }

/** Sends messages in order and in the background, with two tries each. A new one displaces the oldest if 20 wait. */
export function createOutbox({ api, clock, onUnsent }: OutboxInput) {
  const stop = new AbortController()
  const waiting: Waiting[] = []
  const sentAtMs: number[] = []
  let worker: Promise<void> | undefined
  let isClosed = false

  async function work(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await untilAllowed()
      if (stop.signal.aborted) return onUnsent('an answer was not sent before the end')
      await deliver(next)
    }
    // Cleared here and not when the promise settles: a message put in between would wait for the next one.
    worker = undefined
  }

  async function untilAllowed(): Promise<void> {
    const oldest = sentAtMs.length < PER_MINUTE ? undefined : sentAtMs.shift()
    if (oldest === undefined) return
    const restMs = oldest + MINUTE_MS - performance.now()
    if (restMs > 0) await clock.sleep(restMs, stop.signal)
  }

  async function deliver({ outgoing, atMs }: Waiting): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const ageMs = performance.now() - atMs
      if (ageMs > AGE_MS_MAX) return onUnsent('an answer was not sent: it had waited too long')
      sentAtMs.push(performance.now())
      const reply = await send(api, outgoing)
      if (reply.ok) return
      if (reply.final || tries >= TRIES || stop.signal.aborted)
        return onUnsent(`an answer was not sent: ${reply.fault}`)
      const restMs = Math.min(reply.retryAfterMs ?? RETRY_MS, AGE_MS_MAX)
      await clock.sleep(restMs, stop.signal)
    }
  }

  return {
    /** Returns at once; never throws. */
    put(outgoing: Outgoing): void {
      if (isClosed) return
      if (waiting.length >= QUEUE_MAX) {
        waiting.shift()
        onUnsent('an answer was not sent: too many wait')
      }
      waiting.push({ outgoing, atMs: performance.now() })
      worker ??= work()
    },
    /** Accepts no more messages, and sends waiting ones for at most `graceMs`. */
    async close(graceMs: number): Promise<void> {
      isClosed = true
      const done = new AbortController()
      const grace = clock.sleep(graceMs, done.signal)
      await Promise.race([worker, grace])
      stop.abort()
      done.abort()
    },
  }
}

function send(api: OutboxInput['api'], outgoing: Outgoing): Promise<BotReply<unknown>> {
  const { text } = outgoing
  switch (outgoing.tag) {
    case 'message': {
      const { chat: chat_id, buttons } = outgoing
      const row = buttons?.map(({ text, data }) => ({ text, callback_data: data }))
      const keyboard = row && { reply_markup: { inline_keyboard: [row] } }
      return api.sendMessage({ chat_id, text, ...NO_PREVIEW, ...keyboard })
    }
    case 'edit': {
      const { chat: chat_id, messageId: message_id } = outgoing
      return api.editMessageText({ chat_id, message_id, text, ...NO_PREVIEW })
    }
    case 'press':
      return api.answerCallbackQuery({
        callback_query_id: outgoing.queryId,
        text: text.slice(0, PRESS_LENGTH_MAX),
      })
  }
}
