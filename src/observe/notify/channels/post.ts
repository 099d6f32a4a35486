import { errors, Pool } from 'undici'
import { exchangeText, type HttpHead } from '../../http/exchange.ts'
import type { Delivery } from './channel.ts'

const TIMEOUT_MS = 10_000
/** Of an answer that hardly anybody reads. */
const ANSWER_BYTES_MAX = 64 * 1024
/** Statuses below 500 that say nothing about the message. */
const PASSING: readonly number[] = [408, 425, 429]

export type Answer = {
  readonly statusCode: number
  readonly text: string
  /** As the header says, if it does. */
  readonly retryAfterMs: number | undefined
}

export type Poster = {
  /** One POST, without retries or redirects. Never rejects: a string says why nobody answered. */
  post(body: string, headers?: Readonly<Record<string, string>>): Promise<Answer | string>
  /** The same as a GET. */
  get(): Promise<Answer | string>
  close(): Promise<void>
}

/** The address of a receiver. Credentials in it go out as basic auth; nothing here ever quotes it. */
export function openPoster(
  url: string,
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number | undefined } = {},
): Poster {
  const { origin, pathname, search, username, password } = new URL(url)
  // The exchange has one deadline for all of it.
  const pool = new Pool(origin, { connections: 1, headersTimeout: 0, bodyTimeout: 0 })
  const login = username === '' ? {} : { authorization: basicAuth(username, password) }
  async function ask(
    request: Parameters<typeof exchangeText>[1]['request'],
  ): Promise<Answer | string> {
    const head: { statusCode?: number; retryAfterMs?: number | undefined } = {}
    try {
      const { statusCode, text } = await exchangeText(pool, {
        request,
        timeoutMs,
        bytesMax: ANSWER_BYTES_MAX,
        onHead(answer) {
          head.statusCode = answer.statusCode
          head.retryAfterMs = retryAfterMs(answer.headers)
        },
      })
      return { statusCode, text, retryAfterMs: head.retryAfterMs }
    } catch (error) {
      const { statusCode } = head
      if (statusCode === undefined) return faultOf(error)
      // A receiver that answered has spoken, whatever becomes of the rest of its answer.
      return { statusCode, text: '', retryAfterMs: head.retryAfterMs }
    }
  }
  const path = pathname + search
  const own = { 'user-agent': 'tranched', ...login }
  return {
    post: (body, headers = {}) =>
      ask({
        ...{ method: 'POST', path, body },
        headers: { 'content-type': 'application/json', ...own, ...headers },
      }),
    get: () => ask({ method: 'GET', path, headers: own }),
    close: () => pool.destroy(),
  }
}

/** Credentials as they stand in an address, for a header. */
function basicAuth(username: string, password: string): string {
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(user).toString('base64')}`
}

/** Seconds, or a date by the receiver's own clock. Nothing for a header that is neither. */
function retryAfterMs(headers: HttpHead['headers']): number | undefined {
  const { 'retry-after': after, date } = headers
  if (typeof after !== 'string') return undefined
  if (/^\d{1,9}(\.\d+)?$/.test(after)) return Number(after) * 1_000
  const ms = Date.parse(after) - Date.parse(typeof date === 'string' ? date : '')
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** What an answer means, by its status alone: a redirect is not followed, and so is a refusal. */
export function judge(
  answer: Answer | string,
  remedies: Readonly<Record<number, string>> = {},
): Delivery {
  if (typeof answer === 'string')
    return { ok: false, final: false, answered: false, fault: answer, remedy: UNREACHABLE }
  const { statusCode, retryAfterMs } = answer
  if (statusCode >= 200 && statusCode < 300) return { ok: true }
  const final = statusCode < 500 && !PASSING.includes(statusCode)
  const fault = `HTTP ${statusCode}`
  const remedy = remedies[statusCode] ?? (final ? REFUSED : undefined)
  return { ok: false, final, answered: true, retryAfterMs, fault, remedy }
}

const UNREACHABLE = 'Check its address, and that this machine can reach it.'
const REFUSED = 'Check its address.'

/** Only the code: the message of a network error names the host. */
function faultOf(error: unknown): string {
  if (error instanceof errors.BodyTimeoutError || error instanceof errors.ClientDestroyedError)
    return 'no answer in time'
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'request failed'
}
