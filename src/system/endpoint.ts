import { errors, Pool } from 'undici'
import { codeOf } from '../domain/errors.ts'
import { outsideText } from '../domain/text/outside-text.ts'
import { exchangeText, type TextAnswer } from './exchange.ts'
import { createScrubber } from './scrubber.ts'

/** A complete body with any status, or the reason for a missing one. */
export type HttpAnswer = ({ readonly ok: true } & TextAnswer) | Failure

type Failure = {
  readonly ok: false
  readonly status: 'timeout' | 'malformed' | 'unreachable'
  readonly message: string
}

export type RpcEndpoint = ReturnType<typeof openEndpoint>

type EndpointOptions = {
  /** http or https. Credentials are sent as basic auth. */
  readonly url: string
  /** Used in messages instead of the URL. */
  readonly label: string
  /** Per request, from connecting to the last byte. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** Longer bodies are aborted. Default 16 MiB. */
  readonly bodyBytesMax?: number | undefined
}

const TIMEOUT_MS = 10_000
const BODY_BYTES_MAX = 16 * 1024 * 1024
const CONNECTIONS_MAX = 32
const MESSAGE_LENGTH_MAX = 200
const WEB_ADDRESS = /[a-z][a-z0-9+.-]*:\/\/\S+/gi

/** Throws TypeError for an unusable URL, without quoting it. */
export function openEndpoint(options: EndpointOptions) {
  const { label, timeoutMs = TIMEOUT_MS, bodyBytesMax: bytesMax = BODY_BYTES_MAX } = options
  const url = parseUrl(options.url, label)
  // The deadline in `post` covers every phase, so undici's timers are redundant.
  const pool = new Pool(url.origin, {
    connections: CONNECTIONS_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const path = url.pathname + url.search
  const ownHeaders = { 'content-type': 'application/json', ...basicAuth(url) }

  return {
    label,
    /** Outside text, cut to one line, without URLs, keys or raw transactions. */
    scrub: messageScrub(options.url),
    close: () => pool.close(),
    /** One POST with one overall time limit, no retries, no redirects. Never rejects. */
    async post(body: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
      const all = { ...ownHeaders, ...headers }
      const request = { method: 'POST', path, headers: all, body } as const
      try {
        return { ok: true, ...(await exchangeText(pool, { request, timeoutMs, bytesMax })) }
      } catch (error) {
        return failureOf(error, timeoutMs)
      }
    },
  }
}

function failureOf(error: unknown, timeoutMs: number): Failure {
  if (error instanceof errors.BodyTimeoutError)
    return { ok: false, status: 'timeout', message: `did not answer within ${timeoutMs} ms` }
  if (error instanceof errors.ResponseExceededMaxSizeError)
    return { ok: false, status: 'malformed', message: 'sent too long a body' }
  // Only the code, because the error's text names the address.
  const code = codeOf(error)
  const shown = code !== undefined && /^\w{1,40}$/.test(code) ? code : 'no code'
  return { ok: false, status: 'unreachable', message: `could not be reached (${shown})` }
}

function parseUrl(text: string, label: string): URL {
  // The URL parser's error would contain the whole text, including keys.
  if (!URL.canParse(text)) throw new TypeError(`the RPC URL of ${label} is no URL`)
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`the RPC URL of ${label} must begin with http:// or https://`)
  return url
}

/** Header for the credentials of a URL. */
export function basicAuth(url: URL): Readonly<Record<string, string>> {
  if (url.username === '' && url.password === '') return {}
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { authorization: `Basic ${Buffer.from(user).toString('base64')}` }
}

function messageScrub(url: string): (text: string) => string {
  const scrubber = createScrubber()
  scrubber.add(url)
  return (text) => {
    const said = scrubber.text(text).replace(WEB_ADDRESS, '[address]').replace(/\s+/g, ' ')
    return outsideText(said, MESSAGE_LENGTH_MAX)
  }
}
