import { createHmac } from 'node:crypto'
import { webAddress } from '../../../config/scalars.ts'
import { type NotifyEvent, subscriptionFor, WEBHOOK_EVENTS_USUAL } from '../../../domain/notify.ts'
import type { Message } from '../message.ts'
import { address, defineChannel, routing, secret, variable } from './channel.ts'
import { deliveryOf, openPoster } from './post.ts'

const TIMEOUT_MS = 5_000
const SECRET_PREFIX = 'whsec_'

/** The JSON body. Chat services show `text` or `content`, which are equal. `id` is equal in every attempt. */
type WebhookPayload = {
  readonly version: 1
  readonly id: string
  readonly event: string
  /** ISO 8601, UTC: the time of the event, not of sending. */
  readonly at: string
  readonly text: string
  readonly content: string
  readonly strategy?: string | undefined
  readonly intentId?: string | undefined
  readonly details: Message['details']
}

/** With a secret, requests are signed by the Standard Webhooks specification. */
export const webhook = defineChannel({
  kind: 'webhook',
  list: { of: 'webhooks', about: 'Webhooks of your own programs' },
  fields: () => ({
    url: address(webAddress.describe('URL that receives a POST for each event')),
    ...routing(WEBHOOK_EVENTS_USUAL),
    secret: secret(
      variable(
        /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/,
        '`whsec_` and 24 to 64 bytes as base64, from a variable',
      )
        .optional()
        .describe('Key to sign each request, by the Standard Webhooks specification'),
      (text) => [text, text.slice(SECRET_PREFIX.length)],
    ),
  }),
  isProgram: true,
  identity: ({ url }) => [url],
  paceMs: 0,
  async open({ url, secret, on }, { clock, timeoutMs = TIMEOUT_MS }) {
    const { post, close } = await openPoster(url, { timeoutMs })
    const key =
      secret === undefined ? undefined : Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return {
      async deliver(message) {
        const { id } = message
        const body = JSON.stringify(payloadOf(message, eventOf(message, on)))
        const timestamp = `${Math.floor(clock.now() / 1_000)}`
        const signed = key && {
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signatureOf(key, { id, timestamp, body })}`,
        }
        return deliveryOf(await post(body, signed))
      },
      close,
    }
  },
})

/** The event's name in this receiver's subscription. */
function eventOf({ event }: Message, on: readonly NotifyEvent[]): string {
  return event === 'test' ? event : (subscriptionFor(event, on) ?? event)
}

function payloadOf(message: Message, event: string): WebhookPayload {
  const { id, atMs, text, strategy, intentId, details } = message
  const at = new Date(atMs).toISOString()
  return { version: 1, id, at, event, text, strategy, intentId, details, content: text }
}

/** HMAC-SHA256 over `id.timestamp.body`, as base64. */
function signatureOf(
  key: Buffer,
  { id, timestamp, body }: { id: string; timestamp: string; body: string },
): string {
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
}
