import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Pacer } from '../../src/venues/queue/pacer.ts'
import { GASLESS_SHARES, routeWindows } from '../../src/venues/queue/route-shares.ts'
import { Turns } from '../../src/venues/queue/turns.ts'

// p-queue measures with the machine's clock.
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

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

const nowMs = (): number => performance.now()

type Open = { readonly beganMs: number; readonly end: (isUsed: boolean) => void }

/** Plays random starts and releases of a route's turns. */
async function play(rate: number, played: readonly Move[]) {
  vi.clearAllTimers()
  const window = routeWindows(GASLESS_SHARES, rate).submit
  const turns: Turns = new Turns({
    window,
    concurrency: 1_000,
    monotonicMs: nowMs,
    onClosed: (ms) => setTimeout(() => turns.proceed(), Math.ceil(ms)),
  })
  const open: Open[] = []
  /** Starts whose turn was not released. */
  let sent: number[] = []
  const waiter = (onStart: (beganMs: number) => void = () => undefined) => ({
    run: () =>
      new Promise<boolean>((end) => {
        const beganMs = nowMs()
        open.push({ beganMs, end })
        sent.push(beganMs)
        onStart(beganMs)
      }),
    onEnd: () => turns.proceed(),
  })
  for (const move of played) {
    if (move.type === 'pass') await vi.advanceTimersByTimeAsync(move.ms)
    if (move.type === 'start') {
      const pending = waiter()
      turns.add(pending)
      turns.remove(pending)
      turns.proceed()
    }
    if (move.type === 'finish') open.shift()?.end(true)
    if (move.type === 'unused' && open.length > 0) {
      const [start] = open.splice(move.which % open.length, 1)
      start?.end(false)
      sent = sent.toSpliced(sent.lastIndexOf(start?.beganMs ?? 0), 1)
    }
    await vi.advanceTimersByTimeAsync(0)
  }
  /** Start of the next request behind `ahead` others. */
  const startsMs = async (ahead: number): Promise<number> => {
    let lastMs: number | undefined
    for (let count = 0; count < ahead; count += 1) turns.add(waiter())
    turns.add(
      waiter((ms) => {
        lastMs = ms
      }),
    )
    while (lastMs === undefined) await vi.advanceTimersToNextTimerAsync()
    return lastMs
  }
  return { window, turns, sent, startsMs }
}

test('requests sent stay within the ceiling when turns are released in between', async () => {
  await fc.assert(
    fc.asyncProperty(rates, moves, async (rate, played) => {
      const { sent, window } = await play(rate, played)
      const { cap, windowMs } = window
      for (const [at, ms] of sent.toSorted((a, b) => a - b).entries())
        if (at >= cap) expect(ms - (sent[at - cap] ?? 0)).toBeGreaterThanOrEqual(windowMs)
    }),
  )
})

test('a released turn is not charged: the next request starts when the ceiling allows, at most a window later', async () => {
  await fc.assert(
    fc.asyncProperty(rates, moves, async (rate, played) => {
      const { sent, window, startsMs } = await play(rate, played)
      const { cap, windowMs } = window
      const before = sent.at(-cap)
      const opensMs = before === undefined || sent.length < cap ? 0 : before + windowMs
      const allowedMs = Math.max(nowMs(), opensMs)
      const lateMs = (await startsMs(0)) - allowedMs
      expect(lateMs).toBeGreaterThanOrEqual(0)
      expect(lateMs).toBeLessThanOrEqual(cap === 1 ? 1 : windowMs)
    }),
  )
})

test('the forecast wait matches the actual start, within a window for ceilings above one', async () => {
  await fc.assert(
    fc.asyncProperty(rates, moves, fc.integer({ min: 0, max: 40 }), async (rate, played, ahead) => {
      const { turns, window, startsMs } = await play(rate, played)
      const beganMs = nowMs()
      const said = turns.forecastMs(ahead)
      const offMs = Math.abs((await startsMs(ahead)) - beganMs - said)
      expect(offMs).toBeLessThanOrEqual(window.cap === 1 ? ahead + 1 : window.windowMs)
    }),
  )
})

test('the wait for a service that reports its limit never shrinks with more requests ahead', () => {
  const reading = fc.record({
    limit: fc.integer({ min: 1, max: 50 }),
    remaining: fc.nat(50),
    resetInMs: fc.nat(60_000),
  })
  fc.assert(
    fc.property(reading, fc.nat(30_000), ({ limit, remaining, resetInMs }, retryMs) => {
      const pacer = new Pacer(nowMs)
      pacer.onRateLimit({ limit, remaining: Math.min(remaining, limit), resetInMs })
      pacer.onRetryAfter(retryMs)
      const waits = Array.from({ length: 120 }, (_, ahead) => pacer.delayMs(ahead))
      expect(waits).toEqual(waits.toSorted((a, b) => a - b))
    }),
  )
})
