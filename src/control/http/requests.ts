import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { json, plain, type Reply } from './replies.ts'

/** Paths for scrapers and supervisors. */
const MACHINE_PATHS: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz'])

type RequestTarget = {
  readonly path: string
  readonly query: URLSearchParams
  /** True for the page and its data, false for metrics and probes. */
  readonly isOfSite: boolean
}

export function targetOf({ url = '/' }: IncomingMessage): RequestTarget {
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
  return { path, query, isOfSite: !MACHINE_PATHS.has(path) }
}

/** Why a request is refused before its path is served; undefined if it is not. */
export function refusalOf(
  { method, headers }: IncomingMessage,
  { path, isOfSite }: RequestTarget,
  check: ReturnType<typeof createHostCheck>,
): Reply | undefined {
  if (method !== 'GET' && method !== 'HEAD') return json(405, { error: 'only GET is served here' })
  // Scrapers reach a network port under host names of their own; on loopback there are none.
  const isChecked = isOfSite || (check.isLoopback && headers.host !== undefined)
  if (isChecked && !check.isOurs(headers.host)) return plain(421, strangeHostText(headers.host))
  const isData = path.startsWith('/api/') || path === '/events'
  const from = headers['sec-fetch-site']
  if (isData && from !== undefined && from !== 'same-origin' && from !== 'none')
    return json(403, { error: 'this is only for the page itself' })
  return undefined
}

/** The client's last revision: from the browser's reconnect header, or the query of its first request. */
export function revisionIn(
  { headers }: IncomingMessage,
  query: URLSearchParams,
): number | undefined {
  const said = headers['last-event-id'] ?? query.get('since')
  return typeof said === 'string' && /^\d{1,15}$/.test(said) ? Number(said) : undefined
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i

/**
 * Checks a request's host name. A web page can point its own name at this machine (DNS rebinding) and then read the
 * responses. An IP address cannot be redirected, so it is always accepted.
 */
export function createHostCheck(host: string, others: readonly string[]) {
  const names = new Set(['localhost', ...[host, ...others].map(normal)])
  return {
    isOurs(header: string | undefined): boolean {
      const name = nameIn(header)
      return name !== undefined && (isIP(name) !== 0 || names.has(name))
    },
    /** True if only this machine reaches the server, so that no scraper uses another host name. */
    isLoopback: LOOPBACK.test(host),
  }
}

/** The normalized name in a `Host` header, without its port. */
function nameIn(header: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::\d{1,5})?$/i.exec(header ?? '')
  const name = match?.[1] ?? match?.[2]
  return name === undefined ? undefined : normal(name)
}

function normal(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Reply to a request under another host name. Quotes the name only if it is valid. */
function strangeHostText(header: string | undefined): string {
  const name = nameIn(header)
  const host = name === undefined ? 'a request without a usable Host' : `the name ${name}`
  return `${host} is not served here: ask by the address, or list the name under http.hosts in the config and restart\n`
}
