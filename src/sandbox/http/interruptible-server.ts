import type { SandboxLog } from '../log.ts'
import { type JsonServer, type JsonServerOptions, startJsonServer } from './json-server.ts'

/** A server that can be gone for a while. */
export type InterruptibleServer = JsonServer & {
  /** Cuts all connections and refuses new ones for so long. */
  outage(ms: number): Promise<void>
}

/** Starts a server that comes back on the same port after each outage, unless it was stopped meanwhile. */
export async function startInterruptibleServer(
  options: JsonServerOptions,
  log: SandboxLog,
): Promise<InterruptibleServer> {
  let server = await startJsonServer(options)
  const { url } = server
  const port = Number(new URL(url).port)
  let back: NodeJS.Timeout | undefined
  const comeBack = (): void => {
    startJsonServer({ ...options, port }).then(
      (restarted) => {
        server = restarted
      },
      (error: unknown) => log('sandbox.restartFailed', { url, error: String(error) }),
    )
  }
  return {
    url,
    async outage(ms) {
      await server.stop()
      clearTimeout(back)
      back = setTimeout(comeBack, ms)
    },
    async stop() {
      clearTimeout(back)
      await server.stop()
    },
  }
}
