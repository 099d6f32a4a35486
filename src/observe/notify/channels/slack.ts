import type { ChatReceiver, Severity } from '../../../domain/notify.ts'
import type { Message } from '../message.ts'
import type { Channel, ChannelName, ChannelOptions } from './channel.ts'
import { cutText } from './cut-text.ts'
import { judge, openPoster } from './post.ts'

/** Slack takes one a second by one webhook. */
const PACE_MS = 1_000
const HEADER_MAX = 150
const SECTION_MAX = 3_000
const MARKS: Readonly<Record<Severity, string>> = {
  info: '',
  warning: ':warning: ',
  alarm: ':rotating_light: ',
}

/** An incoming webhook of a Slack channel. */
export function slackChannel(
  { name, key }: ChannelName,
  { url }: ChatReceiver,
  options: ChannelOptions,
): Channel {
  const poster = openPoster(url, options)
  return {
    name,
    key,
    paceMs: PACE_MS,
    deliver: async (message) =>
      judge(await poster.post(JSON.stringify(bodyOf(message))), {
        403: REMADE,
        404: REMADE,
        410: REMADE,
      }),
    close: poster.close,
  }
}

const REMADE = 'The webhook or its channel is gone: add another one in the settings of the app.'

function bodyOf({ subject, lines, link, when, severity }: Message): object {
  const header = cutText(`${MARKS[severity]}${subject}`, HEADER_MAX)
  const body = cutText(lines.map(escaped).join('\n'), SECTION_MAX)
  const foot =
    link === undefined ? escaped(when) : `${escaped(when)}  <${escaped(link)}|transaction>`
  return {
    // For notifications, and for clients that show no blocks.
    text: escaped(subject),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: header, emoji: true } },
      ...(body === '' ? [] : [{ type: 'section', text: { ...MARKDOWN, text: body } }]),
      { type: 'context', elements: [{ ...MARKDOWN, text: foot }] },
    ],
  }
}

/** `verbatim`: names and addresses in the text are not made into links. */
const MARKDOWN = { type: 'mrkdwn', verbatim: true } as const

/** All that Slack asks for; with it no text is a link, a mention or a command. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
