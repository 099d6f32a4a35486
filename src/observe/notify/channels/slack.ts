import { webAddress } from '../../../config/scalars.ts'
import { EVENTS_USUAL, type Severity } from '../../../domain/notify.ts'
import type { Message } from '../message.ts'
import { cutText, defineChannel, routing, secretAddress } from './channel.ts'
import { deliveryOf, openPoster } from './post.ts'

const HEADER_MAX = 150
const SECTION_MAX = 3_000
const MARKS: Readonly<Record<Severity, string>> = {
  info: '',
  warning: ':warning: ',
  alarm: ':rotating_light: ',
}

export const slack = defineChannel({
  kind: 'slack',
  list: { of: 'Slack webhooks', about: 'Slack channels' },
  fields: () => ({
    url: secretAddress(webAddress.describe('Incoming webhook of a channel, from a variable')),
    ...routing(EVENTS_USUAL),
  }),
  identity: ({ url }) => [url],
  /** Slack allows one message a second per webhook. */
  paceMs: 1_000,
  async open({ url }, options) {
    const { post, close } = await openPoster(url, options)
    return {
      deliver: async (message) => deliveryOf(await post(JSON.stringify(bodyOf(message))), REMEDIES),
      close,
    }
  },
})

const REMADE = 'The webhook or its channel is gone: add another one in the settings of the app.'
const REMEDIES = { 403: REMADE, 404: REMADE, 410: REMADE }

function bodyOf({ subject, lines, link, when, severity }: Message): object {
  const header = cutText(`${MARKS[severity]}${subject}`, HEADER_MAX)
  const body = cutText(lines.map(escaped).join('\n'), SECTION_MAX)
  const foot =
    link === undefined ? escaped(when) : `${escaped(when)}  <${escaped(link)}|transaction>`
  return {
    // For notifications, and for clients without blocks.
    text: escaped(subject),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: header, emoji: true } },
      ...(body === '' ? [] : [{ type: 'section', text: { ...MARKDOWN, text: body } }]),
      { type: 'context', elements: [{ ...MARKDOWN, text: foot }] },
    ],
  }
}

/** `verbatim`: Slack does not turn names and addresses into links. */
const MARKDOWN = { type: 'mrkdwn', verbatim: true } as const

/** Slack's escapes: no text becomes a link, a mention or a command. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
