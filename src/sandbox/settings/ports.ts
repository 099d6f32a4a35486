import { createServer } from 'node:net'
import type { SandboxUrls } from '../keep/keeper.ts'
import type { SandboxOptions } from '../options.ts'
import { SandboxError } from '../sandbox-error.ts'
import { SETTING_ROWS } from './flags.ts'

type Ports = NonNullable<SandboxOptions['ports']>

export function portsOf(urls: SandboxUrls): Required<Ports> {
  const portOf = (url: string): number => Number(new URL(url).port)
  return {
    rpc: portOf(urls.rpcUrl),
    gasless: portOf(urls.gaslessUrl),
    admin: portOf(urls.adminUrl),
    aggregatorRpc: portOf(urls.aggregatorRpcUrl),
    aggregator: portOf(urls.aggregatorUrl),
  }
}

/**
 * Checks the ports before anything starts, because the node's own error names neither the port nor the part.
 *
 * @throws {SandboxError} with each port, its part and its setting
 */
export async function requireFreePorts(ports: Ports = {}): Promise<void> {
  const lines = await Promise.all(
    Object.entries(ports).map(async ([name, port]) => {
      const reason = await whyNot(port)
      const path = `ports.${name}`
      const flag = SETTING_ROWS.find((row) => row.path === path)?.flag
      return reason === undefined ? [] : [`  port ${port} ${reason}: ${path} (${flag}) wanted it`]
    }),
  )
  const taken = lines.flat()
  if (taken.length === 0) return
  throw new SandboxError(
    `the sandbox cannot use these ports\n${taken.join('\n')}\n` +
      '  expected: free ports; stop what listens there, or give other ports (0 is any free one)',
  )
}

/** Why no server can listen on the port; undefined if one can. */
function whyNot(port = 0): Promise<string | undefined> {
  if (port === 0) return Promise.resolve(undefined)
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(reasonOf(error)))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(undefined)))
  })
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return 'is in use'
  return code === 'EACCES' ? 'may not be used by this user' : `cannot be used (${message})`
}
