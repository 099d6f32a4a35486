import type { Io } from '../../process/io.ts'

const EVERY_MS = 200
/** Milliseconds between lines if stderr is not a terminal. */
const LINES_EVERY_MS = 10_000

type Options = { readonly json?: boolean | undefined }
/** A terminal, or anything that takes lines. */
type Stderr = { readonly stderr: Pick<Io['stderr'], 'write' | 'isTTY'> }
export type Ticker = ReturnType<typeof tickerTo>

/** Progress lines on stderr for slow work. */
export function tickerTo({ stderr }: Stderr, { json }: Options) {
  const isTerminal = stderr.isTTY === true && json !== true
  const everyMs = isTerminal ? EVERY_MS : LINES_EVERY_MS
  let shownMs = performance.now()
  let hasShown = false
  return {
    /** Shows `text`, which is computed only when a line is due. */
    show(text: () => string): void {
      const nowMs = performance.now()
      if (nowMs - shownMs < everyMs) return
      shownMs = nowMs
      hasShown = true
      stderr.write(isTerminal ? `\r${text()}\x1b[K` : `${text()}\n`)
    },
    end(): void {
      if (hasShown && isTerminal) stderr.write('\r\x1b[K')
    },
  }
}

export function progressTo(io: Stderr, options: Options) {
  const { show, end } = tickerTo(io, options)
  const beganMs = performance.now()
  let first: number | undefined
  return {
    share(share: number): boolean {
      show(() => `backtest: ${Math.floor(share * 100)}%`)
      return false
    },
    count(done: number, all: number): void {
      first ??= done - 1
      const [known, now] = [first, done]
      show(() => {
        const msEach = (performance.now() - beganMs) / (now - known)
        return `sweep: ${now} of ${all} backtests, ${leftText(msEach * (all - now))}`
      })
    },
    end,
  }
}

function leftText(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  return seconds < 100 ? `${seconds} s left` : `${Math.ceil(seconds / 60)} min left`
}
