/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2, stateInUse: 75, badConfig: 78 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const DEFAULT_CONFIG = 'config/sandbox.yaml'

/** What a command may touch of its process. */
export type Io = {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  /** Tells a supervisor that the daemon is up (pm2's wait_ready). */
  readonly signalReady: () => void
  /** Calls back with the name of each termination signal. */
  readonly onSignal: (listener: (name: string) => void) => () => void
  /** Calls back on each SIGHUP. */
  readonly onHangup: (listener: () => void) => () => void
}

/** One JSON document on stdout; base units as decimal text. */
export function printJson(io: Io, value: unknown): void {
  const text = JSON.stringify(
    value,
    (_, field: unknown) => {
      if (typeof field === 'bigint') return field.toString()
      return field instanceof Map ? Object.fromEntries(field) : field
    },
    2,
  )
  io.stdout.write(`${text}\n`)
}
