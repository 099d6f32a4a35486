import { once } from 'node:events'
import { OperatorError } from '../domain/errors.ts'
import { printable } from '../domain/outside-text.ts'
import type { Io } from './io.ts'

/** Whoever was asked ended it with Ctrl-C or Ctrl-D. */
class BrokenOffError extends OperatorError {
  override readonly name = 'BrokenOffError'
  readonly means = 'failed'
}

/**
 * Questions to a person on a terminal. They go to stderr, for stdout may be going into a file. An answer that is broken off
 * is an error: nobody takes it for a yes, a no or a default.
 */
export function createAsking(streams: {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stderr: NodeJS.WritableStream
}): Pick<Io, 'ask' | 'confirm'> {
  const ask = async (question: string): Promise<string | undefined> => {
    if (streams.stdin.isTTY !== true) return undefined
    const { createInterface } = await import('node:readline/promises')
    const asking = createInterface({ input: streams.stdin, output: streams.stderr })
    const over = once(asking, 'close').then(() => undefined)
    try {
      // Some versions of Node leave what is pending at the close, others reject it.
      const answered = asking.question(printable(question)).catch(() => undefined)
      const answer = await Promise.race([answered, over])
      if (answer !== undefined) return answer.trim()
    } finally {
      asking.close()
    }
    streams.stderr.write('\n')
    throw new BrokenOffError('broken off: nothing was changed')
  }
  return {
    ask,
    async confirm(question) {
      const answer = await ask(`${question} [y/N] `)
      return answer === undefined ? undefined : /^y(es)?$/i.test(answer)
    },
  }
}
