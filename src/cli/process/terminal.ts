import type { Io } from './io.ts'

const TERMINATION = ['SIGINT', 'SIGTERM'] as const

export type Signals = Pick<Io, 'onSignal' | 'onHangup'> & {
  /**
   * From now on no signal ends the process by itself: what comes before somebody listens is kept for whoever does. For
   * daemons, whose start takes a while and must end cleanly as well.
   */
  hold(): void
  /** Whether a termination signal has come, to whomever. */
  wasTerminated(): boolean
}

/** The signals of a process. `impatient` is called at the second termination signal, whoever listens. */
export function createSignals(
  process: Pick<NodeJS.Process, 'on' | 'off'>,
  impatient: () => void,
): Signals {
  const kept: { termination?: string; hangup?: true } = {}
  const terminations = new Set<(name: string) => void>()
  const hangups = new Set<() => void>()
  let seen = 0
  let isHeld = false

  const terminate = (name: string): void => {
    seen += 1
    if (seen > 1) impatient()
    else if (terminations.size === 0) kept.termination = name
    for (const listener of terminations) listener(name)
  }
  const handlers = TERMINATION.map((name) => [name, () => terminate(name)] as const)
  const hangUp = (): void => {
    if (hangups.size === 0) kept.hangup = true
    for (const listener of hangups) listener()
  }
  const listen = (): void => {
    if (isHeld || terminations.size > 0) return
    for (const [name, handler] of handlers) process.on(name, handler)
  }

  return {
    hold() {
      listen()
      isHeld = true
      process.on('SIGHUP', hangUp)
    },
    wasTerminated: () => seen > 0,
    onSignal(listener) {
      listen()
      terminations.add(listener)
      const { termination } = kept
      delete kept.termination
      if (termination !== undefined) listener(termination)
      return () => {
        terminations.delete(listener)
        if (isHeld || terminations.size > 0) return
        for (const [name, handler] of handlers) process.off(name, handler)
      }
    },
    onHangup(listener) {
      if (!isHeld && hangups.size === 0) process.on('SIGHUP', hangUp)
      hangups.add(listener)
      const { hangup } = kept
      delete kept.hangup
      if (hangup === true) listener()
      return () => {
        hangups.delete(listener)
        if (!isHeld && hangups.size === 0) process.off('SIGHUP', hangUp)
      }
    },
  }
}
