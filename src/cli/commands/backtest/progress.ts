import type { Io } from '../../io.ts'
import { tickerTo } from './ticker.ts'

export type Progress = {
  /** Of one backtest, 0 to 1. Never stops it. */
  share(share: number): boolean
  /** Of many of them. */
  count(done: number, all: number): void
  end(): void
}

/** Says on stderr how far backtests are. */
export function progressTo(
  io: Pick<Io, 'stderr'>,
  options: { readonly json?: boolean | undefined },
): Progress {
  const { tell, end } = tickerTo(io, options)
  const beganMs = performance.now()
  let first: number | undefined
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
    end,
  }
}

function leftText(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  return seconds < 100 ? `${seconds} s left` : `${Math.ceil(seconds / 60)} min left`
}
