import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPacer, type Pacer } from '../../../../src/adapters/pace/pacer.ts'
import { createQueue } from '../../../../src/adapters/pace/queue.ts'
import { GASLESS_SHARES } from '../../../../src/adapters/pace/route-shares.ts'
import type { GaslessRoute, Observation } from '../../../../src/domain/observation.ts'
import type { Queue } from '../../../../src/ports.ts'

const monotonicMs = () => performance.now()

/** Resolves early on abort, as ports.Clock promises. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

type World = {
  readonly queue: Queue<GaslessRoute>
  readonly pacer: Pacer<GaslessRoute>
  readonly observed: Observation[]
  /** Runs that many tasks which note when they start, in ms since the test began. */
  readonly start: (
    route: GaslessRoute,
    count: number,
  ) => { readonly times: number[]; done: Promise<unknown> }
}

function world(
  options: { requestsPerSecond?: number; concurrencyPerRoute?: number; waitingMax?: number } = {},
): World {
  const { requestsPerSecond = 1_000_000, ...limits } = options
  const shares = GASLESS_SHARES
  const pacer = createPacer({ shares, requestsPerSecond, monotonicMs })
  const observed: Observation[] = []
  const queue = createQueue({
    shares,
    pacer,
    clock: { sleep },
    observe: (event) => observed.push(event),
    monotonicMs,
    ...limits,
  })
  const beganMs = performance.now()
  const start = (route: GaslessRoute, count: number) => {
    const times: number[] = []
    const tasks = Array.from({ length: count }, () =>
      queue.run(route, async () => {
        times.push(Math.round(performance.now() - beganMs))
      }),
    )
    return { times, done: Promise.all(tasks) }
  }
  return { queue, pacer, observed, start }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a task', () => {
  test('passes its result and its error through', async () => {
    const { queue } = world()
    expect(await queue.run('quote', async () => 7)).toBe(7)
    const failure = new Error('task failed')
    await expect(queue.run('quote', () => Promise.reject(failure))).rejects.toBe(failure)
    await expect(
      queue.run('quote', () => {
        throw failure
      }),
    ).rejects.toBe(failure)
    expect(await queue.run('quote', async () => 8)).toBe(8)
  })

  test('that has begun is never given up, however long it takes', async () => {
    const { queue } = world()
    const result = queue.run('submit', () => sleep(3_600_000).then(() => 'late'))
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(await result).toBe('late')
  })

  test('starts at once when nothing holds it', () => {
    const { start } = world()
    expect(start('quote', 3).times).toEqual([0, 0, 0])
  })

  test('starts in the order of its asking', async () => {
    const { queue } = world({ concurrencyPerRoute: 1 })
    const order: number[] = []
    await Promise.all([1, 2, 3, 4].map((n) => queue.run('quote', async () => order.push(n))))
    expect(order).toEqual([1, 2, 3, 4])
  })
})

describe('a task that is worth nothing after a signal', () => {
  test('passes its result and its error through as any other', async () => {
    const { queue } = world()
    const { signal } = new AbortController()
    expect(await queue.runUnless(signal, 'quote', async () => 7)).toBe(7)
    const failure = new Error('task failed')
    await expect(queue.runUnless(signal, 'quote', () => Promise.reject(failure))).rejects.toBe(
      failure,
    )
  })

  test('is given up at once while a limit holds its route, and leaves no timer behind', async () => {
    const { queue, pacer, observed } = world()
    await queue.run('submit', async () => pacer.onRetryAfter('submit', 300_000))
    const end = new AbortController()
    const begun: number[] = []
    const waiting = [1, 2, 3].map((n) =>
      queue.runUnless(end.signal, 'submit', async () => begun.push(n)),
    )
    await vi.advanceTimersByTimeAsync(1_000)
    end.abort()
    expect(await Promise.all(waiting)).toEqual([undefined, undefined, undefined])
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(300_000)
    expect(begun).toEqual([])
    const depths = observed.flatMap((event) => (event.type === 'queue-depth' ? [event.depth] : []))
    expect(depths).toEqual([1, 2, 3, 0])
  })

  test('is given up without a trace in the turn of those that stay', async () => {
    const { queue, pacer, start } = world()
    await queue.run('poll', async () => pacer.onRetryAfter('poll', 5_000))
    const end = new AbortController()
    const given = queue.runUnless(end.signal, 'poll', async () => 1)
    const polls = start('poll', 2)
    end.abort()
    expect(await given).toBeUndefined()
    await vi.advanceTimersByTimeAsync(5_001)
    expect(polls.times).toEqual([5_000, 5_000])
  })

  test('runs to its end once it has begun, whatever that is', async () => {
    const { queue } = world()
    const end = new AbortController()
    const result = queue.runUnless(end.signal, 'submit', () => sleep(10_000).then(() => 'late'))
    const failing = queue.runUnless(end.signal, 'submit', async () => {
      await sleep(10_000)
      throw new Error('late failure')
    })
    const failed = expect(failing).rejects.toThrow('late failure')
    await vi.advanceTimersByTimeAsync(1)
    end.abort()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await result).toBe('late')
    await failed
  })

  test('is not even queued after the signal', async () => {
    const { queue, observed } = world()
    expect(
      await queue.runUnless(AbortSignal.abort(), 'quote', () => Promise.reject(new Error('ran'))),
    ).toBeUndefined()
    expect(observed).toEqual([])
  })

  test('has a route that works as before when the given up are gone', async () => {
    const { queue, pacer, start } = world()
    await queue.run('submit', async () => pacer.onRetryAfter('submit', 2_000))
    const end = new AbortController()
    const given = queue.runUnless(end.signal, 'submit', async () => 1)
    end.abort()
    await given
    const submits = start('submit', 1)
    await vi.advanceTimersByTimeAsync(2_001)
    expect(submits.times).toEqual([2_000])
  })
})

describe('the ceiling', () => {
  test('holds over every sliding second, not only between windows', async () => {
    const { start } = world({ requestsPerSecond: 20 })
    await vi.advanceTimersByTimeAsync(950)
    const first = start('quote', 8)
    await vi.advanceTimersByTimeAsync(100)
    const second = start('quote', 8)
    await vi.advanceTimersByTimeAsync(5_000)
    await Promise.all([first.done, second.done])
    const times = [...first.times, ...second.times]
    expect(times).toHaveLength(16)
    for (const [index, time] of times.entries())
      if (index >= 8) expect(time - (times[index - 8] ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  test('holds for all routes together', async () => {
    const { start } = world({ requestsPerSecond: 5 })
    const routes = (['quote', 'poll', 'submit', 'tokens'] as const).map((route) => start(route, 6))
    await vi.advanceTimersByTimeAsync(20_000)
    const times = routes.flatMap((route) => route.times).sort((a, b) => a - b)
    expect(times).toHaveLength(24)
    for (const [index, time] of times.entries())
      if (index >= 5) expect(time - (times[index - 5] ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  test('is used up, not only kept', async () => {
    const { start } = world({ requestsPerSecond: 20 })
    const quotes = start('quote', 80)
    await vi.advanceTimersByTimeAsync(9_050)
    expect(quotes.times).toHaveLength(80)
  })

  test('leaves submits and polls their room under a flood of quotes', async () => {
    const { start } = world({ requestsPerSecond: 5 })
    start('quote', 1_000)
    await vi.advanceTimersByTimeAsync(100)
    expect(start('submit', 1).times).toEqual([100])
    expect(start('poll', 1).times).toEqual([100])
  })

  test('is not stretched by a wall clock that is set back', async () => {
    const { start } = world({ requestsPerSecond: 5 })
    const quotes = start('quote', 4)
    vi.setSystemTime(Date.now() - 3_600_000)
    await vi.advanceTimersByTimeAsync(1_010)
    expect(quotes.times).toHaveLength(4)
  })
})

describe('the service', () => {
  test('holds its route with a 429 until the wait is over, and no other route', async () => {
    const { queue, pacer, start } = world()
    await queue.run('quote', async () => pacer.onRetryAfter('quote', 5_000))
    const quotes = start('quote', 2)
    expect(start('poll', 1).times).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(4_999)
    expect(quotes.times).toEqual([])
    await vi.advanceTimersByTimeAsync(2)
    expect(quotes.times).toEqual([5_000, 5_000])
  })

  test('holds tasks that were waiting when its 429 came', async () => {
    const { queue, pacer, start } = world({ concurrencyPerRoute: 1 })
    const limited = queue.run('quote', async () => pacer.onRetryAfter('quote', 2_000))
    const quotes = start('quote', 3)
    await limited
    await vi.advanceTimersByTimeAsync(1_999)
    expect(quotes.times).toEqual([])
    await vi.advanceTimersByTimeAsync(10)
    expect(quotes.times).toHaveLength(3)
  })

  test('that leaves two requests gets two until its reset', async () => {
    const { queue, pacer, start } = world()
    await queue.run('quote', async () => {
      pacer.onRateLimit('quote', { limit: 4, remaining: 2, resetInMs: 1_000 })
    })
    const quotes = start('quote', 5)
    await vi.advanceTimersByTimeAsync(999)
    expect(quotes.times).toEqual([0, 0])
    await vi.advanceTimersByTimeAsync(10)
    expect(quotes.times).toHaveLength(5)
  })

  test('that says sooner than it said before is heard', async () => {
    const { queue, pacer, start } = world()
    const slow = queue.run('quote', async () => {
      await sleep(100)
      pacer.onRateLimit('quote', { limit: 10, remaining: 10, resetInMs: 1_000 })
    })
    pacer.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 60_000 })
    const quotes = start('quote', 1)
    await vi.advanceTimersByTimeAsync(99)
    expect(quotes.times).toEqual([])
    await vi.advanceTimersByTimeAsync(2)
    await slow
    expect(quotes.times).toEqual([100])
  })
})

describe('news while a route waits', () => {
  test('of a shorter wait shortens it', async () => {
    const { queue, pacer, start } = world()
    const slow = queue.run('quote', async () => {
      await sleep(100)
      pacer.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 400 })
    })
    pacer.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 60_000 })
    const quotes = start('quote', 1)
    await vi.advanceTimersByTimeAsync(502)
    await slow
    expect(quotes.times).toEqual([500])
  })

  test('leaves no timer behind once the route goes on', async () => {
    const { queue, pacer, start } = world()
    const slow = queue.run('quote', async () => {
      await sleep(100)
      pacer.onRateLimit('quote', { limit: 10, remaining: 10, resetInMs: 1_000 })
    })
    pacer.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 60_000 })
    const quotes = start('quote', 1)
    await vi.advanceTimersByTimeAsync(100)
    await Promise.all([slow, quotes.done])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('counts requests that have ended as ended', async () => {
    const { queue, pacer, start } = world()
    await start('quote', 20).done
    await queue.run('quote', async () => {
      pacer.onRateLimit('quote', { limit: 10, remaining: 5, resetInMs: 1_000 })
    })
    expect(start('quote', 1).times).toHaveLength(1)
  })
})

describe('bounds', () => {
  test('no more than the allowed number of a route run at once', async () => {
    const { queue } = world({ concurrencyPerRoute: 3 })
    let running = 0
    let most = 0
    const task = async () => {
      running += 1
      most = Math.max(most, running)
      await sleep(10)
      running -= 1
    }
    const done = Promise.all(Array.from({ length: 12 }, () => queue.run('quote', task)))
    await vi.advanceTimersByTimeAsync(100)
    await done
    expect(most).toBe(3)
  })

  test('a full queue refuses more, by route, and recovers', async () => {
    const { queue, start } = world({ concurrencyPerRoute: 1, waitingMax: 2 })
    const busy = queue.run('quote', () => sleep(50))
    const waiting = start('quote', 2)
    await expect(queue.run('quote', async () => 1)).rejects.toThrow(/route quote is full/)
    expect(await queue.run('poll', async () => 2)).toBe(2)
    await vi.advanceTimersByTimeAsync(51)
    await Promise.all([busy, waiting.done])
    expect(await queue.run('quote', async () => 3)).toBe(3)
  })
})

describe('what is observed', () => {
  test('each start tells how long it waited', async () => {
    const { start, observed } = world({ requestsPerSecond: 5 })
    const submits = start('submit', 2)
    await vi.advanceTimersByTimeAsync(1_000)
    await submits.done
    const waits = observed.flatMap((event) => (event.type === 'queue-wait' ? [event] : []))
    expect(waits).toEqual([
      { type: 'queue-wait', route: 'submit', waitMs: 0 },
      { type: 'queue-wait', route: 'submit', waitMs: 1_000 },
    ])
  })

  test('the depth is told when it changes and ends at zero', async () => {
    const { start, observed } = world({ requestsPerSecond: 5 })
    const submits = start('submit', 3)
    await vi.advanceTimersByTimeAsync(2_000)
    await submits.done
    const depths = observed.flatMap((event) => (event.type === 'queue-depth' ? [event.depth] : []))
    expect(depths).toEqual([1, 2, 1, 0])
  })
})
