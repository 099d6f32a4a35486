import { createServer } from 'node:net'
import { OperatorError } from '../../domain/errors.ts'
import type { SandboxUrls } from '../keep/keeper.ts'
import type { SandboxOptions } from '../options.ts'
import { SETTING_ROWS } from './flags.ts'

type Ports = NonNullable<SandboxOptions['ports']>

/** Where each part's port is set. */
const PATHS: Readonly<Record<keyof Ports, string>> = {
  rpc: 'ports.rpc',
  gasless: 'ports.gasless',
  admin: 'ports.admin',
  sepoliaRpc: 'ports.aggregatorRpc',
  aggregator: 'ports.aggregator',
}

/** The ports that a sandbox of before listened on. */
export function portsOf(urls: SandboxUrls): Required<Ports> {
  const portOf = (url: string): number => Number(new URL(url).port)
  return {
    rpc: portOf(urls.rpcUrl),
    gasless: portOf(urls.gaslessUrl),
    admin: portOf(urls.adminUrl),
    sepoliaRpc: portOf(urls.aggregatorRpcUrl),
    aggregator: portOf(urls.aggregatorUrl),
  }
}

/** A port that a part of the sandbox was told to use and cannot have. */
class PortTakenError extends OperatorError {
  override readonly name = 'PortTakenError'
  readonly means = 'failed'
}

/**
 * Refuses, before anything starts, ports that something else listens on or that this user may not use. The node would
 * name neither the port nor the part.
 *
 * @throws {PortTakenError} that names each port, the part that wanted it and where that is set
 */
export async function requireFreePorts(ports: Ports = {}): Promise<void> {
  const wanted = Object.entries(PATHS).map(([name, path]) => ({
    path,
    port: ports[name as keyof Ports] ?? 0,
  }))
  const reasons = await Promise.all(wanted.map(({ port }) => whyNot(port)))
  const lines = wanted.flatMap(({ path, port }, index) => {
    const reason = reasons[index]
    return reason === undefined ? [] : [`  port ${port} ${reason}: ${nameOf(path)} wanted it`]
  })
  if (lines.length === 0) return
  throw new PortTakenError(
    `the sandbox cannot listen where it was told to\n${lines.join('\n')}\n` +
      '  expected: free ports; stop what listens there, or give other ports (0 is any free one)',
  )
}

function nameOf(path: string): string {
  return `${path} (${SETTING_ROWS.find((row) => row.path === path)?.flag})`
}

/** Why nothing can listen there; undefined if it can. */
function whyNot(port: number): Promise<string | undefined> {
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
