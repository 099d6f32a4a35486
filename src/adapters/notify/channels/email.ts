import type { EmailReceiver, Severity } from '../../../domain/notify.ts'
import { outsideText } from '../../../domain/outside-text.ts'
import { type Message, plainText } from '../message.ts'
import type { Channel, ChannelName, ChannelOptions, Delivery } from './channel.ts'

const PACE_MS = 1_000
const CONNECT_MS = 10_000
const SILENCE_MS = 15_000
const SUBJECT_MAX = 200
const SMTPS_PORT = 465
const SUBMISSION_PORT = 587
const LOOPBACK = /^(localhost|\[?::1\]?|127(\.\d{1,3}){3})$/
const IMPORTANCE: Readonly<Record<Severity, 'low' | 'normal' | 'high'>> = {
  info: 'low',
  warning: 'normal',
  alarm: 'high',
}

/** A mail of its own for each message, one connection each. Encrypted, or not at all: only this machine is spoken to plainly. */
export function emailChannel(
  { name, key }: ChannelName,
  receiver: EmailReceiver,
  { timeoutMs = SILENCE_MS }: ChannelOptions,
): Channel {
  const { smtp, from, to } = receiver
  const closed = new AbortController()
  return {
    name,
    key,
    paceMs: PACE_MS,
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
}

function serverOf(smtp: string) {
  const { protocol, hostname, port, username, password } = new URL(smtp)
  const secure = protocol === 'smtps:'
  const usualPort = secure ? SMTPS_PORT : SUBMISSION_PORT
  const isHere = LOOPBACK.test(hostname)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port === '' ? usualPort : port),
    secure,
    // Without TLS nothing is said, neither login nor mail.
    requireTLS: !secure && !isHere,
    ignoreTLS: !secure && isHere,
    ...(username === ''
      ? {}
      : {
          auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
        }),
  }
}

/** Texts are plain, so that nothing in them is a tag; what goes into a header is one line. */
function mailOf(message: Message, from: string, to: readonly string[]) {
  const { id, subject, severity } = message
  const domain = from.slice(from.lastIndexOf('@') + 1)
  return {
    from: { name: 'tranched', address: from },
    to: to.map((address) => ({ name: '', address })),
    subject: outsideText(subject, SUBJECT_MAX),
    text: plainText(message),
    // The same in every try, so that a mailbox can tell repeats.
    messageId: `<${id.replace(/[^A-Za-z0-9-]/g, '.')}@${domain}>`,
    priority: IMPORTANCE[severity],
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}

/** Codes alone: what a server says may repeat addresses and logins. */
function failureOf(error: unknown): Delivery {
  const { code, responseCode } = (error ?? {}) as { code?: unknown; responseCode?: unknown }
  const status = typeof responseCode === 'number' ? responseCode : undefined
  const name = typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'sending failed'
  return {
    ok: false,
    // Somebody on the way could hide that the server offers TLS.
    final: status !== undefined && status >= 500 && name !== 'ETLS',
    answered: status !== undefined,
    fault: status === undefined ? name : `${name}, SMTP ${status}`,
    remedy: REMEDIES[name] ?? 'Check the address and the port of the mail server.',
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  EAUTH: 'Check user and password of the mail server; some want a password made for programs.',
  EENVELOPE: 'The server does not take the sender or a recipient: check `from` and `to`.',
  ETLS: 'The server offers no TLS: use smtps:// and port 465.',
}
