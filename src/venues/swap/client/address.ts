import type { Reply } from '../../../domain/order/quote.ts'
import { ID_LENGTH_MAX } from './gasless-wire.ts'

type BaseUrl = {
  readonly origin: string
  /** Base path of all resources, including the API's version prefix. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

const HEADERS = { accept: 'application/json', 'user-agent': 'tranched' }

/** Splits the configured base URL. Throws TypeError for an unusable one, without quoting it. */
export function parseBaseUrl(text: string): BaseUrl {
  if (!URL.canParse(text)) throw new TypeError('gasless.baseUrl is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('gasless.baseUrl must begin with http:// or https://')
  if (url.search !== '' || url.hash !== '')
    throw new TypeError('gasless.baseUrl must have no query and no fragment')
  const path = `${url.pathname.replace(/\/+$/, '')}/api/v1`
  return { origin: url.origin, path, headers: { ...HEADERS, ...basicAuth(url) } }
}

/** The service needs no credentials, but a gateway in front of it may. */
function basicAuth(url: URL): Readonly<Record<string, string>> {
  if (url.username === '' && url.password === '') return {}
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** An order id as one percent-encoded path segment. Dot segments would be removed from the path. */
export function orderSegment(orderId: string): Reply<string> {
  const length = orderId.length
  const encoded = encodeIfWellFormed(orderId)
  const usable = length >= 1 && length <= ID_LENGTH_MAX && orderId !== '.' && orderId !== '..'
  if (usable && encoded !== undefined) return { ok: true, value: encoded }
  const message = 'an order id has 1 to 128 characters and fits in a path'
  return { ok: false, fault: { tag: 'badRequest', message } }
}

function encodeIfWellFormed(text: string): string | undefined {
  try {
    return encodeURIComponent(text)
  } catch {
    // A lone surrogate has no UTF-8 form.
    return undefined
  }
}
