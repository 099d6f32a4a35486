import type { Io } from '../../io.ts'

/** A line of a terminal is written anew no more often. */
const EVERY_MS = 200
/** Whoever has no terminal is told so often. */
const LINES_EVERY_MS = 10_000

/** Says on stderr how far something is that takes longer than a moment. */
export function progressTo(
  { stderr }: Pick<Io, 'stderr'>,
  { json }: { readonly json?: boolean | undefined },
): { share(share: number): boolean; end(): void } {
  const isTerminal = stderr.isTTY === true && json !== true
  const everyMs = isTerminal ? EVERY_MS : LINES_EVERY_MS
  let toldMs = performance.now()
  let hasTold = false
  return {
    share(share) {
      const nowMs = performance.now()
      if (nowMs - toldMs < everyMs) return false
      toldMs = nowMs
      hasTold = true
      const text = `backtest: ${Math.floor(share * 100)}%`
      stderr.write(isTerminal ? `\r${text}` : `${text}\n`)
      return false
    },
    end() {
      if (hasTold && isTerminal) stderr.write('\r\x1b[K')
    },
  }
}
