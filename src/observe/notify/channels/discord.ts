import { webAddress } from '../../../config/scalars.ts'
import { EVENTS_USUAL, type Severity } from '../../../domain/notify.ts'
import type { TextAnswer } from '../../../system/exchange.ts'
import type { Message } from '../message.ts'
import { cutText, type Delivery, defineChannel, routing, secretAddress } from './channel.ts'
import { deliveryOf, openPoster } from './post.ts'

const TITLE_MAX = 256
const DESCRIPTION_MAX = 4_096
const COLORS: Readonly<Record<Severity, number>> = {
  info: 0x2e_9e_5b,
  warning: 0xe0_a0_1c,
  alarm: 0xd0_38_38,
}

/** One embed, coloured by severity. Its text cannot mention anyone. */
export const discord = defineChannel({
  kind: 'discord',
  list: { of: 'Discord webhooks', about: 'Discord channels' },
  fields: () => ({
    url: secretAddress(webAddress.describe('Incoming webhook of a channel, from a variable')),
    ...routing(EVENTS_USUAL),
  }),
  identity: ({ url }) => [url],
  /** Discord allows some 30 messages a minute per webhook. */
  paceMs: 2_000,
  async open({ url }, options) {
    const { post, close } = await openPoster(url, options)
    return {
      deliver: async (message) => discordDelivery(await post(JSON.stringify(bodyOf(message)))),
      close,
    }
  },
})

function bodyOf({ subject, lines, link, when, severity, atMs }: Message): object {
  const embed = {
    title: cutText(escaped(subject), TITLE_MAX),
    description: cutText(lines.map(withCode).join('\n'), DESCRIPTION_MAX),
    color: COLORS[severity],
    timestamp: new Date(atMs).toISOString(),
    footer: { text: when },
    ...(link === undefined ? {} : { url: link }),
  }
  return { embeds: [embed], allowed_mentions: { parse: [] } }
}

/** Commands in backticks stay code; the rest is literal. */
function withCode(line: string): string {
  const parts = line.split('`')
  // An unpaired backtick.
  if (parts.length % 2 === 0) return escaped(line)
  return parts.map((part, index) => (index % 2 === 0 ? escaped(part) : `\`${part}\``)).join('')
}

/** Escapes Markdown, masked links and mentions. */
function escaped(text: string): string {
  return text.replace(/[\\*_~|`[\]<>]|^#/g, '\\$&')
}

/** Discord reports the wait in the body, in seconds. */
function discordDelivery(answer: TextAnswer | string): Delivery {
  const delivery = deliveryOf(answer, { 401: REMADE, 404: REMADE })
  if (delivery.ok || typeof answer === 'string' || answer.statusCode !== 429) return delivery
  const wait = /"retry_after":\s*(\d{1,9}(?:\.\d+)?)/.exec(answer.text)?.[1]
  return wait === undefined ? delivery : { ...delivery, retryAfterMs: Number(wait) * 1_000 }
}

const REMADE = 'The webhook was deleted: make another one in the settings of the channel.'
