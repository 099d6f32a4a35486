import type { Io } from '../../io.ts'

/** A line of a terminal is written anew no more often. */
const EVERY_MS = 200
/** Whoever has no terminal is told so often. */
const LINES_EVERY_MS = 10_000

/** A line on stderr for something that takes longer than a moment. */
export type Ticker = {
  /** Tells it if it is time to; `text` is asked only then. */
  tell(text: () => string): void
  /** Nothing more is told. */
  end(): void
}

export function tickerTo(
  { stderr }: Pick<Io, 'stderr'>,
  { json }: { readonly json?: boolean | undefined },
): Ticker {
  const isTerminal = stderr.isTTY === true && json !== true
  const everyMs = isTerminal ? EVERY_MS : LINES_EVERY_MS
  let toldMs = performance.now()
  let hasTold = false
  return {
    tell(text) {
      const nowMs = performance.now()
      if (nowMs - toldMs < everyMs) return
      toldMs = nowMs
      hasTold = true
      stderr.write(isTerminal ? `\r${text()}\x1b[K` : `${text()}\n`)
    },
    end() {
      if (hasTold && isTerminal) stderr.write('\r\x1b[K')
    },
  }
}
