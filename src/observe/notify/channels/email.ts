import { listOf, scalar } from '../../../config/scalars.ts'
import { EVENTS_USUAL, type Severity } from '../../../domain/notify.ts'
import { outsideText } from '../../../domain/text/outside-text.ts'
import { addressSecrets, isLoopback } from '../../../domain/web-address.ts'
import { type Message, plainText } from '../message.ts'
import { type Delivery, defineChannel, plain, routing, secret, variable } from './channel.ts'

const CONNECT_MS = 10_000
const SILENCE_MS = 15_000
const SUBJECT_MAX = 200
const SMTPS_PORT = 465
const SUBMISSION_PORT = 587
const IMPORTANCE: Readonly<Record<Severity, 'low' | 'normal' | 'high'>> = {
  info: 'low',
  warning: 'normal',
  alarm: 'high',
}

/** One plain address, so that it cannot end a header line or add a recipient. */
const mailAddress = variable(
  /^[^\s@<>(),;:"\\[\]\p{Cc}]{1,64}@[A-Za-z0-9.-]{1,190}$/u,
  'one plain mail address, such as me@example.com',
)

const smtpAddress = scalar({
  expected: 'smtps://USER:PASSWORD@HOST:465 or smtp://USER:PASSWORD@HOST:587, from a variable',
  read(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isSmtp = url?.protocol === 'smtp:' || url?.protocol === 'smtps:'
    if (!isSmtp || url.hostname === '') return { ok: false, message: 'this is not an SMTP address' }
    if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '')
      return { ok: false, message: 'this has more than a login, a host and a port' }
    return isDecodable(url.username) && isDecodable(url.password)
      ? { ok: true, value: text }
      : { ok: false, message: 'its login is not percent-encoded as in any other address' }
  },
})

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/** One mail and one connection per message. Always encrypted, except to this machine. */
export const email = defineChannel({
  kind: 'email',
  list: { of: 'mailboxes', about: 'Email' },
  fields: () => ({
    smtp: {
      ...secret(
        smtpAddress.describe(
          'Mail server with its login; always encrypted, except on this machine',
        ),
        addressSecrets,
      ),
      isCredential: (smtp) => new URL(smtp).password !== '',
    },
    from: plain(mailAddress.describe('Sender address')),
    to: plain(listOf(mailAddress, 'a list of mail addresses').describe('Recipient addresses')),
    ...routing(EVENTS_USUAL),
  }),
  identity: ({ smtp, from, to }) => [new URL(smtp).host, from, ...to],
  paceMs: 1_000,
  async open({ smtp, from, to }, { timeoutMs = SILENCE_MS }) {
    const closed = new AbortController()
    return {
      async deliver(message, signal) {
        // Loaded with the first mail: a daemon that sends none does not pay for it.
        const { createTransport } = await import('nodemailer')
        const transport = createTransport({
          ...serverOf(smtp),
          connectionTimeout: Math.min(CONNECT_MS, timeoutMs),
          greetingTimeout: Math.min(CONNECT_MS, timeoutMs),
          dnsTimeout: CONNECT_MS,
          socketTimeout: timeoutMs,
          disableFileAccess: true,
          disableUrlAccess: true,
        })
        const end = (): void => transport.close()
        const over = AbortSignal.any([signal, closed.signal])
        over.addEventListener('abort', end, { once: true })
        try {
          await transport.sendMail(mailOf(message, from, to))
          return { ok: true }
        } catch (error) {
          return failureOf(error)
        } finally {
          over.removeEventListener('abort', end)
          transport.close()
        }
      },
      async close() {
        closed.abort()
      },
    }
  },
})

function serverOf(smtp: string) {
  const { protocol, hostname, port, username, password } = new URL(smtp)
  const secure = protocol === 'smtps:'
  const usualPort = secure ? SMTPS_PORT : SUBMISSION_PORT
  const isHere = isLoopback(hostname)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port === '' ? usualPort : port),
    secure,
    // A server without TLS gets neither login nor mail.
    requireTLS: !secure && !isHere,
    ignoreTLS: !secure && isHere,
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
  }
}

/** Plain text, so that nothing is parsed as markup. A header is one line. */
function mailOf(message: Message, from: string, to: readonly string[]) {
  const { id, subject, severity } = message
  const domain = from.slice(from.lastIndexOf('@') + 1)
  return {
    from: { name: 'tranched', address: from },
    to: to.map((address) => ({ name: '', address })),
    subject: outsideText(subject, SUBJECT_MAX),
    text: plainText(message),
    // Equal in every attempt, so that a mailbox can drop duplicates.
    messageId: `<${id.replace(/[^A-Za-z0-9-]/g, '.')}@${domain}>`,
    priority: IMPORTANCE[severity],
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}

/** Only codes: the server's text may repeat addresses and logins. */
function failureOf(error: unknown): Delivery {
  const { code, responseCode } = (error ?? {}) as { code?: unknown; responseCode?: unknown }
  const status = typeof responseCode === 'number' ? responseCode : undefined
  const name = typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'sending failed'
  return {
    ok: false,
    // An attacker on the path could hide the server's TLS.
    final: status !== undefined && status >= 500 && name !== 'ETLS',
    answered: status !== undefined,
    fault: status === undefined ? name : `${name}, SMTP ${status}`,
    remedy: REMEDIES[name] ?? 'Check the address and the port of the mail server.',
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  EAUTH: 'Check user and password of the mail server; some require an app password.',
  EENVELOPE: 'The server rejects the sender or a recipient: check `from` and `to`.',
  ETLS: 'The server offers no TLS: use smtps:// and port 465.',
}
