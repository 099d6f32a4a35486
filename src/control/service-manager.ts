import { execFile } from 'node:child_process'
import type { HttpServerOptions } from './http/http-server.ts'

/** Pings per watchdog period, so that one may be late. */
const PINGS = 3
const SENT_WITHIN_MS = 5_000

type ServiceManagerOptions = Pick<HttpServerOptions, 'health' | 'ready'> & {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  /** Called at most once, when a message could not be sent. */
  readonly warn: (message: string) => void
}

export type ServiceManager = ReturnType<typeof createServiceManager>

/**
 * Reports to systemd if `NOTIFY_SOCKET` is set: `READY=1`, `STOPPING=1`, the status and, while the loop is alive, watchdog
 * pings (sd_notify(3)). Node cannot open a Unix datagram socket, so `systemd-notify` sends each message. That takes a few
 * milliseconds, and it gets no other environment than the socket and `PATH`.
 */
export function createServiceManager(options: ServiceManagerOptions) {
  const { env, health, ready, warn } = options
  const socket = env['NOTIFY_SOCKET']
  let isWarned = false

  function send(...assignments: readonly string[]): void {
    if (socket === undefined) return
    const own = { NOTIFY_SOCKET: socket, PATH: env['PATH'] }
    execFile('systemd-notify', assignments, { env: own, timeout: SENT_WITHIN_MS }, (error) => {
      if (error === null || isWarned) return
      isWarned = true
      warn(`systemd gets no status of the daemon: ${error.message.split('\n')[0]}`)
    })
  }

  function status(): string {
    const { reasons } = ready()
    return `STATUS=${reasons.length === 0 ? 'ready' : `not ready: ${reasons.join('; ')}`}`
  }

  const periodMs = watchdogMs(options)
  // A timer of the event loop: if it hangs, the pings stop.
  const pings =
    periodMs &&
    setInterval(
      () => (health().ok ? send('WATCHDOG=1', status()) : send(status())),
      periodMs / PINGS,
    ).unref()
  return {
    ready: () => send('READY=1', status()),
    stopping: () => send('STOPPING=1', status()),
    close: () => clearInterval(pings),
  }
}

/** The watchdog's period, ms; undefined if no watchdog watches this process. */
function watchdogMs({ env, pid }: ServiceManagerOptions): number | undefined {
  const ms = Number(env['WATCHDOG_USEC']) / 1_000
  const isOurs = (env['WATCHDOG_PID'] ?? `${pid}`) === `${pid}`
  return env['NOTIFY_SOCKET'] !== undefined && isOurs && ms > 0 ? ms : undefined
}
