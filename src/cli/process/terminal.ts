import { once } from 'node:events'
import { OperatorError } from '../../domain/errors.ts'
import { printable } from '../../domain/text/outside-text.ts'
import type { Io } from './io.ts'

const TERMINATION = ['SIGINT', 'SIGTERM'] as const

export type Signals = ReturnType<typeof createSignals>

/** `impatient` is called at the second termination signal. */
export function createSignals(process: Pick<NodeJS.Process, 'on' | 'off'>, impatient: () => void) {
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
    /**
     * From now on no signal ends the process: a signal without a listener is kept for the next one. For daemons, whose start
     * takes time and must end cleanly.
     */
    hold(): void {
      listen()
      isHeld = true
      process.on('SIGHUP', hangUp)
    },
    /** True once a termination signal has come. */
    wasTerminated: (): boolean => seen > 0,
    onSignal(listener: (name: string) => void) {
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
    onHangup(listener: () => void) {
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

/** Ctrl-C or Ctrl-D at a question. */
class BrokenOffError extends OperatorError {
  override readonly name = 'BrokenOffError'
  readonly means = 'failed'
}

/** Asks on stderr, because stdout may be a file. An interrupted answer is an error, never a yes, a no or a default. */
export function createQuestions(streams: {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stderr: NodeJS.WritableStream
}): Pick<Io, 'ask' | 'confirm'> {
  const ask = async (question: string): Promise<string | undefined> => {
    if (streams.stdin.isTTY !== true) return undefined
    const { createInterface } = await import('node:readline/promises')
    const prompt = createInterface({ input: streams.stdin, output: streams.stderr })
    const over = once(prompt, 'close').then(() => undefined)
    try {
      // On close, some versions of Node leave a pending question open, and others reject it.
      const answered = prompt.question(printable(question)).catch(() => undefined)
      const answer = await Promise.race([answered, over])
      if (answer !== undefined) return answer.trim()
    } finally {
      prompt.close()
    }
    streams.stderr.write('\n')
    throw new BrokenOffError('interrupted: nothing was changed')
  }
  return {
    ask,
    async confirm(question) {
      const answer = await ask(`${question} [y/N] `)
      return answer === undefined ? undefined : /^y(es)?$/i.test(answer)
    },
  }
}
