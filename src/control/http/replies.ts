/** An answer over HTTP, whole. */
export type Reply = {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

const JSON_TYPE = 'application/json; charset=utf-8'

export function json(status: number, value: unknown): Reply {
  return jsonText(status, `${JSON.stringify(value)}\n`)
}

/** The same of what is JSON already. */
export function jsonText(status: number, body: string): Reply {
  return { status, contentType: JSON_TYPE, body }
}

export function plain(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body }
}

/** Of every answer. What is served here is for this origin, and is kept nowhere. */
const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/**
 * Of the page and its data: nothing is loaded from elsewhere, sent elsewhere, framed, or run that is not in its own files.
 * There is no header that lets another origin read anything.
 */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'permissions-policy': ['camera', 'geolocation', 'microphone', 'payment', 'usb']
    .map((feature) => `${feature}=()`)
    .join(', '),
}

export function headersOf({
  isOfSite,
}: {
  readonly isOfSite: boolean
}): Readonly<Record<string, string>> {
  return isOfSite ? { ...COMMON_HEADERS, ...PAGE_HEADERS } : COMMON_HEADERS
}
