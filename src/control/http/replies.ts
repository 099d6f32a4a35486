export type Reply = {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export function json(status: number, value: unknown): Reply {
  return jsonText(status, `${JSON.stringify(value)}\n`)
}

/** `body` is JSON text. */
export function jsonText(status: number, body: string): Reply {
  return { status, contentType: 'application/json; charset=utf-8', body }
}

export function plain(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body }
}

/** For every response: same origin only, never cached. */
const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** For the page and its data: it contacts only its own origin and cannot be framed, and no other origin may read it. */
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

export function headersOf(isOfSite: boolean): Readonly<Record<string, string>> {
  return isOfSite ? { ...COMMON_HEADERS, ...PAGE_HEADERS } : COMMON_HEADERS
}
