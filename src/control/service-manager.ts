import { execFile } from 'node:child_process'
import type { Probe } from './http/http-server.ts'

/** Pings in each period of the watchdog, so that one may be late. */
const PINGS = 3
/** A message takes milliseconds. */
const SENT_WITHIN_MS = 5_000

type ServiceManagerOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  /** Is the loop alive? What `/healthz` says. */
  readonly health: () => Probe
  /** What `/readyz` says. */
  readonly ready: () => Probe
  /** Called once, when a message could not be sent. */
  readonly warn: (message: string) => void
}

export type ServiceManager = {
  /** The start is over. */
  ready(): void
  stopping(): void
  close(): void
}

/**
 * Reports the daemon's state to systemd: `READY=1`, `STOPPING=1`, its status and, while the loop is alive, the pings that its watchdog
 * waits for (sd_notify(3)). Nothing where no `NOTIFY_SOCKET` is given. Node cannot open a Unix datagram socket, so systemd's own
 * `systemd-notify` sends each message: a process of a few milliseconds, which gets nothing else of the environment.
 */
export function createServiceManager(options: ServiceManagerOptions): ServiceManager {
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
  // By a timer of the loop itself: one that hangs does not ping either.
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

/** The period of the watchdog, ms; undefined where none waits for this process. */
function watchdogMs({ env, pid }: ServiceManagerOptions): number | undefined {
  const ms = Number(env['WATCHDOG_USEC']) / 1_000
  const isOurs = (env['WATCHDOG_PID'] ?? `${pid}`) === `${pid}`
  return env['NOTIFY_SOCKET'] !== undefined && isOurs && ms > 0 ? ms : undefined
}
