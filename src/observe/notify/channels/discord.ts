import type { ChatReceiver, Severity } from '../../../domain/notify.ts'
import type { Message } from '../message.ts'
import type { Channel, ChannelName, ChannelOptions, Delivery } from './channel.ts'
import { cutText } from './cut-text.ts'
import { type Answer, judge, openPoster } from './post.ts'

/** Discord takes some 30 a minute by one webhook. */
const PACE_MS = 2_000
const TITLE_MAX = 256
const DESCRIPTION_MAX = 4_096
const COLORS: Readonly<Record<Severity, number>> = {
  info: 0x2e_9e_5b,
  warning: 0xe0_a0_1c,
  alarm: 0xd0_38_38,
}

/** An incoming webhook of a Discord channel: one embed, coloured by severity. Nobody can be mentioned by what it says. */
export function discordChannel(
  { name, key }: ChannelName,
  { url }: ChatReceiver,
  options: ChannelOptions,
): Channel {
  const poster = openPoster(url, options)
  return {
    name,
    key,
    paceMs: PACE_MS,
    deliver: async (message) => judged(await poster.post(JSON.stringify(bodyOf(message)))),
    close: poster.close,
  }
}

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

/** Commands between backticks stay code; everything else means itself. */
function withCode(line: string): string {
  const parts = line.split('`')
  // An odd one is no pair.
  if (parts.length % 2 === 0) return escaped(line)
  return parts.map((part, index) => (index % 2 === 0 ? escaped(part) : `\`${part}\``)).join('')
}

/** Markdown, masked links and mentions lose their meaning. */
function escaped(text: string): string {
  return text.replace(/[\\*_~|`[\]<>]|^#/g, '\\$&')
}

/** Discord says how long to wait in its answer's body, in seconds. */
function judged(answer: Answer | string): Delivery {
  const delivery = judge(answer, {
    401: REMADE,
    404: REMADE,
  })
  if (delivery.ok || typeof answer === 'string' || answer.statusCode !== 429) return delivery
  const wait = /"retry_after":\s*(\d{1,9}(?:\.\d+)?)/.exec(answer.text)?.[1]
  return wait === undefined ? delivery : { ...delivery, retryAfterMs: Number(wait) * 1_000 }
}

const REMADE = 'The webhook was deleted: make another one in the settings of the channel.'
