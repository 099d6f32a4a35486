import type { NtfyReceiver, Severity } from '../../../domain/notify.ts'
import type { Channel, ChannelName, ChannelOptions } from './channel.ts'
import { judge, openPoster } from './post.ts'

const PACE_MS = 1_000
const TITLE_MAX = 250
/** What is longer than 4,096 bytes becomes an attachment. */
const MESSAGE_BYTES_MAX = 3_900

const LOUDNESS: Readonly<Record<Severity, { readonly priority: number; readonly tags: string[] }>> =
  {
    info: { priority: 2, tags: ['white_check_mark'] },
    warning: { priority: 4, tags: ['warning'] },
    alarm: { priority: 5, tags: ['rotating_light'] },
  }

/** A topic of an ntfy server, with a token, a user, or nothing. */
export function ntfyChannel(
  { name, key }: ChannelName,
  receiver: NtfyReceiver,
  options: ChannelOptions,
): Channel {
  const { server, topic } = receiver
  const poster = openPoster(server, options)
  const login = loginOf(receiver)
  return {
    name,
    key,
    paceMs: PACE_MS,
    async deliver({ subject, lines, link, when, severity }) {
      const body = {
        topic,
        title: subject.slice(0, TITLE_MAX),
        message: cutBytes([...lines, when].join('\n')),
        ...LOUDNESS[severity],
        ...(link === undefined ? {} : { click: link }),
      }
      return judge(await poster.post(JSON.stringify(body), login), { 401: LOGIN, 403: LOGIN })
    },
    close: poster.close,
  }
}

const LOGIN = 'Check its token, or user and password, and that they may write to the topic.'

function loginOf({ token, user, password }: NtfyReceiver): Readonly<Record<string, string>> {
  if (token !== undefined) return { authorization: `Bearer ${token}` }
  if (user === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
}

function cutBytes(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MESSAGE_BYTES_MAX) return text
  return `${bytes
    .subarray(0, MESSAGE_BYTES_MAX)
    .toString()
    .replace(/\ufffd+$/, '')}...`
}
