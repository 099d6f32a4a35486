import { botToken, integer, webAddress } from '../../../config/scalars.ts'
import type { BotReply } from '../../../control/telegram/bot-api.ts'
import { EVENTS_USUAL, type Severity } from '../../../domain/notify.ts'
import { tokenSecrets } from '../../../domain/web-address.ts'
import type { Message } from '../message.ts'
import {
  address,
  type Delivery,
  defineChannel,
  plain,
  routing,
  secret,
  variable,
} from './channel.ts'

/** Length of the text without markup; with markup it stays below Telegram's limit of 4,096. */
const LENGTH_MAX = 3_500
const MARKS: Readonly<Record<Severity, string>> = {
  info: '',
  warning: '\u26a0\ufe0f ',
  alarm: '\u{1f6a8} ',
}

/** Messages of severity `info` are silent. */
export const telegram = defineChannel({
  kind: 'telegram',
  list: { of: 'Telegram chats', about: 'Telegram chats' },
  fields: () => ({
    token: secret(botToken.describe('Token of the bot'), tokenSecrets),
    chat: plain(
      variable(/^(-?\d{1,20}|@\w{4,64})$/, 'the number of a chat, or @name of a channel', [
        'string',
        'integer',
      ]).describe('Chat to write to'),
    ),
    thread: plain(
      integer({ min: 1, max: 2_147_483_647 }).optional().describe('Topic of a group with topics'),
    ),
    apiRoot: address(
      webAddress.prefault('https://api.telegram.org').describe('URL of your own Bot API server'),
    ),
    ...routing(EVENTS_USUAL),
  }),
  /** The bot's number, which stays the same when its token is replaced. */
  identity: ({ token, chat, thread }) => [token.slice(0, token.indexOf(':')), chat, thread],
  /** Telegram allows one message a second per chat. */
  paceMs: 1_000,
  async open({ token, chat, thread, apiRoot }, { timeoutMs }) {
    const { createBotApi } = await import('../../../control/telegram/bot-api.ts')
    const bot = createBotApi({ token, apiRoot, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
    return {
      async deliver(message) {
        const sent = await bot.sendMessage({
          chat_id: chat.startsWith('@') ? chat : Number(chat),
          ...(thread === undefined ? {} : { message_thread_id: thread }),
          text: htmlOf(message),
          parse_mode: 'HTML',
          link_preview_options: { is_disabled: true },
          disable_notification: message.severity === 'info',
        })
        return deliveryOf(sent)
      },
      close: bot.close,
    }
  },
})

/** Cuts before adding markup, so that no tag is cut. */
function htmlOf({ subject, lines, link, when, severity }: Message): string {
  const shown: string[] = []
  let left = LENGTH_MAX - subject.length
  for (const line of lines) {
    if (line.length > left) {
      shown.push('...')
      break
    }
    left -= line.length
    shown.push(withCode(line))
  }
  const foot =
    link === undefined
      ? escaped(when)
      : `${escaped(when)}, <a href="${escaped(link)}">transaction</a>`
  return [`${MARKS[severity]}<b>${escaped(subject)}</b>`, ...shown, `<i>${foot}</i>`].join('\n')
}

/** Commands in backticks become code, which a tap copies. */
function withCode(line: string): string {
  return escaped(line).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

function deliveryOf(reply: BotReply<unknown>): Delivery {
  if (reply.ok) return { ok: true }
  const { final, code, fault, retryAfterMs } = reply
  const remedy = code === undefined ? UNREACHABLE : REMEDIES[code]
  return { ok: false, final, answered: code !== undefined, retryAfterMs, fault, remedy }
}

const UNREACHABLE = 'Check that this machine can reach the Bot API.'
const REMEDIES: Readonly<Record<number, string>> = {
  400: 'Check the chat: the bot has to be in it, and a private chat has to be opened with /start.',
  401: 'Check the token: BotFather shows it with /token.',
  403: 'The bot was blocked, or removed from the chat: add it again.',
  404: 'Check the token: BotFather shows it with /token.',
}
