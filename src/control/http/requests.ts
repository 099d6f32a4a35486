import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { json, plain, type Reply } from './replies.ts'

/** Paths for scrapers and supervisors. */
const MACHINE_PATHS: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz'])

/** Takes commands, by POST. */
export const CONTROL_PATH = '/api/control'
/** Longest body, bytes. */
const BODY_MAX = 1_024

type RequestTarget = {
  readonly path: string
  readonly query: URLSearchParams
  /** True for the page and its data, false for metrics and probes. */
  readonly isOfSite: boolean
  /** True for data of the page and metrics, which a token may protect. */
  readonly isData: boolean
}

export function targetOf({ url = '/' }: IncomingMessage): RequestTarget {
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
  const isData = path.startsWith('/api/') || path === '/events' || path === '/metrics'
  return { path, query, isOfSite: !MACHINE_PATHS.has(path), isData }
}

/** Why a request is refused before its path is served; undefined if it is not. */
export function refusalOf(
  { method, headers }: IncomingMessage,
  { path, isOfSite, isData }: RequestTarget,
  check: ReturnType<typeof createHostCheck>,
): Reply | undefined {
  const allowed = path === CONTROL_PATH ? ['POST'] : ['GET', 'HEAD']
  if (!allowed.includes(method ?? ''))
    return {
      ...json(405, { error: `only ${allowed[0]} is served here` }),
      headers: { allow: allowed.join(', ') },
    }
  // Scrapers reach a network port under host names of their own; on loopback there are none.
  const isChecked = isOfSite || (check.isLoopback && headers.host !== undefined)
  if (isChecked && !check.isOurs(headers.host)) return plain(421, strangeHostText(headers.host))
  const { origin, 'sec-fetch-site': from } = headers
  // A typed address comes from no site; commands come from the page alone, or from no browser.
  const isElsewhere = from !== undefined && from !== 'same-origin' && from !== 'none'
  const isForeign = path === CONTROL_PATH && origin !== undefined && hostOf(origin) !== headers.host
  if (isOfSite && isData && (isElsewhere || isForeign))
    return json(403, { error: 'this is only for the page itself' })
  return undefined
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

/** A request's body; undefined above `BODY_MAX`. Rejects if the client disconnects. */
export async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
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
