import { webAddress } from '../../../config/scalars.ts'
import { EVENTS_USUAL, type Severity } from '../../../domain/notify.ts'
import { address, defineChannel, plain, routing, secret, variable } from './channel.ts'
import { deliveryOf, openPoster } from './post.ts'

const TITLE_MAX = 250
/** ntfy turns a message of more than 4,096 bytes into an attachment. */
const MESSAGE_BYTES_MAX = 3_900
/** A shorter topic may be an ordinary word, which must not be masked. */
const SECRET_TOPIC_LENGTH_MIN = 12

const LOUDNESS: Readonly<Record<Severity, { readonly priority: number; readonly tags: string[] }>> =
  {
    info: { priority: 2, tags: ['white_check_mark'] },
    warning: { priority: 4, tags: ['warning'] },
    alarm: { priority: 5, tags: ['rotating_light'] },
  }

export const ntfy = defineChannel({
  kind: 'ntfy',
  list: { of: 'ntfy topics', about: 'ntfy topics, for push messages' },
  fields: () => ({
    server: address(webAddress.prefault('https://ntfy.sh').describe('URL of the ntfy server')),
    topic: {
      ...plain(
        variable(/^[A-Za-z0-9_-]{1,64}$/, 'up to 64 letters, digits, `_` or `-`').describe(
          'Topic; anyone who knows it can read it, unless the server requires a login',
        ),
      ),
      secretsIn: (topic) => (topic.length < SECRET_TOPIC_LENGTH_MIN ? [] : [topic]),
    },
    token: secret(
      variable(/^\S{8,200}$/, 'an access token, from a variable')
        .optional()
        .describe('Access token, instead of user and password'),
    ),
    user: plain(
      variable(/^[^\s:]{1,100}$/, 'a user name')
        .optional()
        .describe('User name at the server'),
    ),
    password: secret(
      variable(/^[^\r\n]{1,200}$/, 'a password, from a variable')
        .optional()
        .describe('Password of the user'),
    ),
    ...routing(EVENTS_USUAL),
  }),
  identity: ({ server, topic }) => [server, topic],
  conflict({ token, user, password }) {
    if ((user === undefined) !== (password === undefined))
      return { message: 'user and password belong together', expected: 'both, or a token' }
    if (token === undefined || user === undefined) return undefined
    return { message: 'this has two logins', expected: 'a token, or user and password' }
  },
  paceMs: 1_000,
  async open(settings, options) {
    const { server, topic } = settings
    const { post, close } = await openPoster(server, options)
    const login = loginOf(settings)
    return {
      async deliver({ subject, lines, link, when, severity }) {
        const body = {
          topic,
          title: subject.slice(0, TITLE_MAX),
          message: cutBytes([...lines, when].join('\n')),
          ...LOUDNESS[severity],
          ...(link === undefined ? {} : { click: link }),
        }
        return deliveryOf(await post(JSON.stringify(body), login), { 401: LOGIN, 403: LOGIN })
      },
      close,
    }
  },
})

const LOGIN = 'Check its token, or user and password, and that they may write to the topic.'

type Login = Readonly<Record<'token' | 'user' | 'password', string | undefined>>

function loginOf({ token, user, password }: Partial<Login>): Readonly<Record<string, string>> {
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
