import { errors, Pool } from 'undici'
import { outsideText } from '../../domain/outside-text.ts'
import { createScrubber } from '../tell/scrubber.ts'
import { exchangeText, type HttpHead } from './exchange.ts'

/** What came back for a request: a whole body, whatever its status, or why there is none. */
export type HttpAnswer =
  | ({ readonly ok: true; readonly text: string } & HttpHead)
  | ({ readonly ok: false } & Trouble)

/** Why there is no body: a word for the metrics, and one for the log. */
type Trouble = {
  readonly status: 'timeout' | 'malformed' | 'unreachable'
  readonly message: string
}

/** One HTTP address that takes JSON-RPC. */
export type RpcEndpoint = {
  /** What messages call it. */
  readonly label: string
  /** One POST, bounded as a whole, without retries or redirects. Never rejects. */
  post(body: string, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>
  /** Text that the other side wrote, cut to one line, without addresses, keys or raw transactions. */
  scrub(text: string): string
  /** Waits for the requests under way. */
  close(): Promise<void>
}

export type EndpointOptions = {
  /** http or https. Credentials go out as basic auth. */
  readonly url: string
  /** Used in messages, the URL never is. */
  readonly label: string
  /** For a whole request, from connecting to the last byte. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** A longer body is not read to its end. Default 16 MiB. */
  readonly bodyBytesMax?: number | undefined
}

const TIMEOUT_MS = 10_000
const BODY_BYTES_MAX = 16 * 1024 * 1024
const CONNECTIONS_MAX = 32
const MESSAGE_LENGTH_MAX = 200
const WEB_ADDRESS = /[a-z][a-z0-9+.-]*:\/\/\S+/gi

/** Throws TypeError for a URL that cannot be used, without quoting it. */
export function openEndpoint(options: EndpointOptions): RpcEndpoint {
  const { label, timeoutMs = TIMEOUT_MS, bodyBytesMax = BODY_BYTES_MAX } = options
  const url = parseUrl(options.url, label)
  // The one deadline in `post` covers every phase, so undici's own timers would only be a second opinion.
  const pool = new Pool(url.origin, {
    connections: CONNECTIONS_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const path = url.pathname + url.search
  const ownHeaders = { 'content-type': 'application/json', ...authorization(url) }

  return {
    label,
    scrub: messageScrub(options.url),
    close: () => pool.close(),
    async post(body, headers = {}) {
      const request = {
        method: 'POST',
        path,
        headers: { ...ownHeaders, ...headers },
        body,
      } as const
      try {
        const bytesMax = bodyBytesMax
        return { ok: true, ...(await exchangeText(pool, { request, timeoutMs, bytesMax })) }
      } catch (error) {
        return { ok: false, ...troubleOf(error, timeoutMs) }
      }
    },
  }
}

function troubleOf(error: unknown, timeoutMs: number): Trouble {
  if (error instanceof errors.BodyTimeoutError)
    return { status: 'timeout', message: `did not answer within ${timeoutMs} ms` }
  if (error instanceof errors.ResponseExceededMaxSizeError)
    return { status: 'malformed', message: 'sent too long a body' }
  // Only the code: the text of such an error names the address that was dialled.
  return { status: 'unreachable', message: `could not be reached (${errorCode(error)})` }
}

function parseUrl(text: string, label: string): URL {
  // The error of the URL parser carries the text it could not parse, key and all.
  if (!URL.canParse(text)) throw new TypeError(`the RPC URL of ${label} is no URL`)
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`the RPC URL of ${label} must begin with http:// or https://`)
  return url
}

function authorization(url: URL): Readonly<Record<string, string>> {
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

function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'no code'
}
