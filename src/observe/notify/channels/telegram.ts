import type { Severity, TelegramReceiver } from '../../../domain/notify.ts'
import { type BotReply, createBotApi } from '../../telegram/bot-api.ts'
import type { Message } from '../message.ts'
import type { Channel, ChannelName, ChannelOptions, Delivery } from './channel.ts'

/** Telegram asks for one message a second in a chat. */
const PACE_MS = 1_000
/** Of the text as it is read; with its marks it stays below the 4,096 that Telegram takes. */
const LENGTH_MAX = 3_500
const MARKS: Readonly<Record<Severity, string>> = {
  info: '',
  warning: '\u26a0\ufe0f ',
  alarm: '\u{1f6a8} ',
}

/** A chat that a bot writes to. What is no trouble makes no sound. */
export function telegramChannel(
  { name, key }: ChannelName,
  receiver: TelegramReceiver,
  { timeoutMs }: ChannelOptions,
): Channel {
  const { token, chat, thread, apiRoot } = receiver
  const bot = createBotApi({ token, apiRoot, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  return {
    name,
    key,
    paceMs: PACE_MS,
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
}

/** Cut before it is marked up, so that no tag is cut in two. */
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
  const foot = link === undefined ? escaped(when) : `${escaped(when)}, ${anchor(link)}`
  return [`${MARKS[severity]}<b>${escaped(subject)}</b>`, ...shown, `<i>${foot}</i>`].join('\n')
}

function anchor(link: string): string {
  return `<a href="${escaped(link)}">transaction</a>`
}

/** Commands between backticks are code, to be copied by a tap. */
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
