import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPacer, type Start } from '../../src/adapters/pace/pacer.ts'
import { GASLESS_SHARES, routeWindows } from '../../src/adapters/pace/route-shares.ts'

type Move =
  | { readonly type: 'pass'; readonly ms: number }
  | { readonly type: 'start' }
  | { readonly type: 'unused'; readonly which: number }
  | { readonly type: 'finish' }

const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 700 }) }),
    fc.constant({ type: 'start' } as const),
    fc.constant({ type: 'start' } as const),
    fc.record({ type: fc.constant('unused' as const), which: fc.nat(20) }),
    fc.constant({ type: 'finish' } as const),
  ),
  { maxLength: 80 },
)

const rates = fc.constantFrom(0.5, 1, 5, 9, 20, 57)

/** A pacer on a clock of its own, moved at random; requests start only when they may. */
function play(rate: number, played: readonly Move[]) {
  let nowMs = 0
  const pacer = createPacer({
    shares: GASLESS_SHARES,
    requestsPerSecond: rate,
    monotonicMs: () => nowMs,
  })
  const open: Start[] = []
  /** Starts that were not taken back. */
  let sent: number[] = []
  for (const move of played) {
    if (move.type === 'pass') nowMs += move.ms
    if (move.type === 'start' && pacer.delayMs('submit') === 0) {
      open.push(pacer.started('submit'))
      sent.push(nowMs)
    }
    if (move.type === 'finish' && open.shift() !== undefined) pacer.finished('submit')
    if (move.type === 'unused' && open.length > 0) {
      const [start] = open.splice(move.which % open.length, 1)
      if (start === undefined) continue
      pacer.unused('submit', start)
      sent = sent.toSpliced(sent.lastIndexOf(start.atMs), 1)
    }
  }
  return {
    pacer,
    sent,
    nowMs: () => nowMs,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

test('what was sent keeps to the ceiling, whatever was taken back in between', () => {
  fc.assert(
    fc.property(rates, moves, (rate, played) => {
      const { sent } = play(rate, played)
      const { cap, windowMs } = routeWindows(GASLESS_SHARES, rate).submit
      for (const [at, ms] of sent.entries())
        if (at >= cap) expect(ms - (sent[at - cap] ?? 0)).toBeGreaterThanOrEqual(windowMs)
    }),
  )
})

test('nothing is charged for what was not sent: the next may start when the ceiling alone allows it', () => {
  fc.assert(
    fc.property(rates, moves, (rate, played) => {
      const { pacer, sent, nowMs } = play(rate, played)
      const { cap, windowMs } = routeWindows(GASLESS_SHARES, rate).submit
      const before = sent.at(-cap)
      const opensMs = before === undefined || sent.length < cap ? 0 : before + windowMs
      expect(pacer.delayMs('submit')).toBeCloseTo(Math.max(0, opensMs - nowMs()), 6)
    }),
  )
})

test('the wait behind others is what it comes to when they start as soon as they may', () => {
  fc.assert(
    fc.property(rates, moves, fc.integer({ min: 0, max: 40 }), (rate, played, ahead) => {
      const { pacer, pass, nowMs } = play(rate, played)
      const beganMs = nowMs()
      const said = pacer.delayMs('submit', ahead)
      for (let count = 0; count < ahead; count += 1) {
        pass(pacer.delayMs('submit'))
        pacer.started('submit')
      }
      pass(pacer.delayMs('submit'))
      expect(nowMs() - beganMs).toBeCloseTo(said, 6)
    }),
  )
})

test('of a service that counts, the wait behind others is never longer than for one more', () => {
  const reading = fc.record({
    limit: fc.integer({ min: 1, max: 50 }),
    remaining: fc.nat(50),
    resetInMs: fc.nat(60_000),
  })
  fc.assert(
    fc.property(reading, fc.nat(30_000), ({ limit, remaining, resetInMs }, retryMs) => {
      const { pacer } = play(1_000_000, [])
      pacer.onRateLimit('submit', { limit, remaining: Math.min(remaining, limit), resetInMs })
      pacer.onRetryAfter('submit', retryMs)
      const waits = Array.from({ length: 120 }, (_, ahead) => pacer.delayMs('submit', ahead))
      expect(waits).toEqual(waits.toSorted((a, b) => a - b))
    }),
  )
})
