import type { Dispatcher } from 'undici'
import { codeOf } from '../../../domain/errors.ts'
import { retryAfterMs } from '../../../domain/text/retry-after.ts'
import type { HttpHead, TextAnswer } from '../../../system/exchange.ts'
import type { Delivery } from './channel.ts'

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
/** Statuses below 500 that do not refuse the message. */
const PASSING: readonly number[] = [408, 425, 429]

/**
 * Opens a receiver's address. Credentials in it are sent as basic auth, and no error quotes it. Loads the HTTP client on
 * demand, because reading a config loads this file.
 */
export async function openPoster(
  url: string,
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number | undefined } = {},
) {
  const { Pool } = await import('undici')
  const { exchangeText } = await import('../../../system/exchange.ts')
  const { origin, pathname, search, username, password } = new URL(url)
  // One deadline covers the whole exchange.
  const pool = new Pool(origin, { connections: 1, headersTimeout: 0, bodyTimeout: 0 })
  const login = username === '' ? {} : { authorization: basicAuth(username, password) }
  async function send(
    request: Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>,
  ): Promise<TextAnswer | string> {
    let head: HttpHead | undefined
    const onHead = (answer: HttpHead): void => {
      head = answer
    }
    try {
      return await exchangeText(pool, { request, timeoutMs, bytesMax: ANSWER_BYTES_MAX, onHead })
    } catch (error) {
      // The status counts even if the rest of the answer is lost.
      return head === undefined ? faultOf(error) : { ...head, text: '' }
    }
  }
  const path = pathname + search
  const own = { 'user-agent': 'tranched', ...login }
  return {
    /** One POST, without retries or redirects. Never rejects: a string says why there is no answer. */
    post: (body: string, headers: Readonly<Record<string, string>> = {}) =>
      send({
        method: 'POST',
        path,
        body,
        headers: { 'content-type': 'application/json', ...own, ...headers },
      }),
    get: () => send({ method: 'GET', path, headers: own }),
    close: () => pool.destroy(),
  }
}

function basicAuth(username: string, password: string): string {
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(user).toString('base64')}`
}

/** Depends on the status alone. Redirects are not followed, so one counts as a refusal. */
export function deliveryOf(
  answer: TextAnswer | string,
  remedies: Readonly<Record<number, string>> = {},
): Delivery {
  if (typeof answer === 'string')
    return { ok: false, final: false, answered: false, fault: answer, remedy: UNREACHABLE }
  const { statusCode, headers } = answer
  if (statusCode >= 200 && statusCode < 300) return { ok: true }
  const final = statusCode < 500 && !PASSING.includes(statusCode)
  const fault = `HTTP ${statusCode}`
  const remedy = remedies[statusCode] ?? (final ? REFUSED : undefined)
  const after = retryAfterMs(headers)
  return { ok: false, final, answered: true, retryAfterMs: after, fault, remedy }
}

const UNREACHABLE = 'Check its address, and that this machine can reach it.'
const REFUSED = 'Check its address.'

/** Only the code: the message of a network error names the host. */
function faultOf(error: unknown): string {
  const code = codeOf(error) ?? ''
  if (code === 'UND_ERR_BODY_TIMEOUT' || code === 'UND_ERR_DESTROYED') return 'no answer in time'
  return /^\w{1,40}$/.test(code) ? code : 'request failed'
}
