import type { Io } from '../../io.ts'

/** A line of a terminal is written anew no more often. */
const EVERY_MS = 200
/** Whoever has no terminal is told so often. */
const LINES_EVERY_MS = 10_000

export type Progress = {
  /** Of one backtest, 0 to 1. Never stops it. */
  share(share: number): boolean
  /** Of many of them. */
  count(done: number, all: number): void
  end(): void
}

/** Says on stderr how far something is that takes longer than a moment. */
export function progressTo(
  { stderr }: Pick<Io, 'stderr'>,
  { json }: { readonly json?: boolean | undefined },
): Progress {
  const isTerminal = stderr.isTTY === true && json !== true
  const everyMs = isTerminal ? EVERY_MS : LINES_EVERY_MS
  const beganMs = performance.now()
  let toldMs = beganMs
  let hasTold = false
  let first: number | undefined
  const tell = (text: () => string): void => {
    const nowMs = performance.now()
    if (nowMs - toldMs < everyMs) return
    toldMs = nowMs
    hasTold = true
    stderr.write(isTerminal ? `\r${text()}\x1b[K` : `${text()}\n`)
  }
  return {
    share(share) {
      tell(() => `backtest: ${Math.floor(share * 100)}%`)
      return false
    },
    count(done, all) {
      first ??= done - 1
      const [known, now] = [first, done]
      tell(() => {
        const msEach = (performance.now() - beganMs) / (now - known)
        return `sweep: ${now} of ${all} backtests, ${leftText(msEach * (all - now))}`
      })
    },
    end() {
      if (hasTold && isTerminal) stderr.write('\r\x1b[K')
    },
  }
}

function leftText(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  return seconds < 100 ? `${seconds} s left` : `${Math.ceil(seconds / 60)} min left`
}
