import { isIP } from 'node:net'

/**
 * Holds what a request asks for by name against the names that this server has. A web page can have its own name lead to this
 * machine (DNS rebinding) and then read what answers; an address written out leads nowhere else and is always let in.
 */
export type HostCheck = {
  /** Whether requests under this host name get everything. */
  readonly isOurs: (header: string | undefined) => boolean
  /** Only this machine reaches it, so another host name is no scraper's. */
  readonly isLoopback: boolean
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i
const ALWAYS = 'localhost'

export function createHostCheck(http: {
  readonly host: string
  readonly hosts: readonly string[]
}): HostCheck {
  const names = new Set([ALWAYS, ...[http.host, ...http.hosts].map(normal)])
  return {
    isOurs(header) {
      const name = nameIn(header)
      return name !== undefined && (isIP(name) !== 0 || names.has(name))
    },
    isLoopback: LOOPBACK.test(http.host),
  }
}

/** The name in a `Host` header, without its port and in its usual spelling. */
function nameIn(header: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::\d{1,5})?$/i.exec(header ?? '')
  const name = match?.[1] ?? match?.[2]
  return name === undefined ? undefined : normal(name)
}

function normal(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Reply to a request under another host name. It repeats only the letters of a valid name. */
export function strangeHostText(header: string | undefined): string {
  const name = nameIn(header)
  const asked = name === undefined ? 'a request without a usable Host' : `the name ${name}`
  return `${asked} is not served here: ask by the address, or list the name under http.hosts in the config and restart\n`
}
