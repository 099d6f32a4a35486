import { createHmac } from 'node:crypto'
import { type WebhookReceiver, wordFor } from '../../../domain/notify.ts'
import type { Message } from '../message.ts'
import type { Channel, ChannelName, ChannelOptions } from './channel.ts'
import { judge, openPoster } from './post.ts'

const TIMEOUT_MS = 5_000
const SECRET_PREFIX = 'whsec_'

/**
 * What is posted, as `application/json`. `text` and `content` say the same: chat services show the one or the other. `id` is equal in
 * every try of one message, so that a receiver can drop repeats.
 */
export type WebhookPayload = {
  readonly version: 1
  readonly id: string
  readonly event: string
  /** ISO 8601, UTC: when it happened, not when it was sent. */
  readonly at: string
  readonly text: string
  readonly content: string
  readonly strategy?: string | undefined
  readonly intentId?: string | undefined
  readonly details: Message['details']
}

/** A program of the operator's. Signed after the Standard Webhooks specification, where there is a secret. */
export function webhookChannel(
  { name, key }: ChannelName,
  { url, secret, on }: WebhookReceiver,
  { clock, timeoutMs = TIMEOUT_MS }: ChannelOptions,
): Channel {
  const poster = openPoster(url, { timeoutMs })
  const signing = secret === undefined ? undefined : keyOf(secret)
  return {
    name,
    key,
    paceMs: 0,
    async deliver(message) {
      const { id } = message
      const body = JSON.stringify(payloadOf(message, wordOf(message, on)))
      const timestamp = `${Math.floor(clock.now() / 1_000)}`
      const signed =
        signing === undefined
          ? {}
          : {
              'webhook-id': id,
              'webhook-timestamp': timestamp,
              'webhook-signature': `v1,${signatureOf(signing, { id, timestamp, body })}`,
            }
      return judge(await poster.post(body, signed))
    },
    close: poster.close,
  }
}

/** Under the word that this receiver asked for. */
function wordOf({ event }: Message, on: WebhookReceiver['on']): string {
  return event === 'test' ? event : (wordFor(event, on) ?? event)
}

function payloadOf(message: Message, event: string): WebhookPayload {
  const { id, atMs, text, strategy, intentId, details } = message
  const at = new Date(atMs).toISOString()
  return { version: 1, id, at, event, text, strategy, intentId, details, content: text }
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
}

/** HMAC-SHA256 over `id.timestamp.body`, as base64. */
function signatureOf(
  key: Buffer,
  { id, timestamp, body }: { id: string; timestamp: string; body: string },
): string {
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
}
