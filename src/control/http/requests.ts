import type { IncomingMessage } from 'node:http'
import { type HostCheck, strangeHostText } from './hosts.ts'
import { json, plain, type Reply } from './replies.ts'

/** What scrapers and supervisors ask for. */
const MACHINE_PATHS: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz'])

/** What a request asks for. */
export type Asked = {
  readonly path: string
  readonly query: URLSearchParams
  /** Of the page, not of the metrics and the probes. */
  readonly isOfSite: boolean
}

export function askedIn({ url = '/' }: IncomingMessage): Asked {
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
  return { path, query, isOfSite: !MACHINE_PATHS.has(path) }
}

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD'])

/** Why a request gets no answer, whatever it asks for. */
export function refusalOf(
  { method, headers }: IncomingMessage,
  { path, isOfSite }: Asked,
  check: HostCheck,
): Reply | undefined {
  if (!METHODS.has(method)) return json(405, { error: 'only GET is served here' })
  // On an open port, scrapers use their own host names; on loopback there are none.
  const isChecked = isOfSite || (check.isLoopback && headers.host !== undefined)
  if (isChecked && !check.isOurs(headers.host)) return plain(421, strangeHostText(headers.host))
  const isData = path.startsWith('/api/') || path === '/events'
  const from = headers['sec-fetch-site']
  if (isData && from !== undefined && from !== 'same-origin' && from !== 'none')
    return json(403, { error: 'this is only for the page itself' })
  return undefined
}

const REVISION = /^\d{1,15}$/

/** What a listener has seen: as it says when it comes again by itself, or when it first comes. */
export function revisionIn(
  { headers }: IncomingMessage,
  query: URLSearchParams,
): number | undefined {
  const said = headers['last-event-id'] ?? query.get('since')
  return typeof said === 'string' && REVISION.test(said) ? Number(said) : undefined
}
