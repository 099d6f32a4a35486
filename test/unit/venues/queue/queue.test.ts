import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { GaslessRoute, RuntimeEvent } from '../../../../src/journal/runtime-event.ts'
import type { Ticket } from '../../../../src/ports.ts'
import { createQueue, type PacedQueue } from '../../../../src/venues/queue/queue.ts'
import { GASLESS_SHARES } from '../../../../src/venues/queue/route-shares.ts'

const monotonicMs = () => performance.now()

/** Resolves early on abort, as ports.Clock specifies. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

type Rig = {
  readonly queue: PacedQueue<GaslessRoute>
  readonly observed: RuntimeEvent[]
  /** Runs `count` tasks that record their start times, in ms since the test began. */
  readonly start: (
    route: GaslessRoute,
    count: number,
  ) => { readonly times: number[]; done: Promise<unknown> }
}

function createRig(
  options: { requestsPerSecond?: number; concurrencyPerRoute?: number; waitingMax?: number } = {},
): Rig {
  const observed: RuntimeEvent[] = []
  const queue = createQueue({
    shares: GASLESS_SHARES,
    requestsPerSecond: 1_000_000,
    clock: { now: () => Date.now(), sleep },
    observe: (event) => observed.push(event),
    monotonicMs,
    ...options,
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
  return { queue, observed, start }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a task', () => {
  test('passes its result and its error through', async () => {
    const { queue } = createRig()
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

  test('is never cancelled once it has started, however long it takes', async () => {
    const { queue } = createRig()
    const result = queue.run('submit', () => sleep(3_600_000).then(() => 'late'))
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(await result).toBe('late')
  })

  test('starts at once if no limit applies', () => {
    const { start } = createRig()
    expect(start('quote', 3).times).toEqual([0, 0, 0])
  })

  test('starts in the order of arrival', async () => {
    const { queue } = createRig({ concurrencyPerRoute: 1 })
    const order: number[] = []
    await Promise.all([1, 2, 3, 4].map((n) => queue.run('quote', async () => order.push(n))))
    expect(order).toEqual([1, 2, 3, 4])
  })
})

describe('a task with an abort signal', () => {
  test('passes its result and its error through like any task', async () => {
    const { queue } = createRig()
    const { signal } = new AbortController()
    expect(await queue.runUnless(signal, 'quote', async () => 7)).toBe(7)
    const failure = new Error('task failed')
    await expect(queue.runUnless(signal, 'quote', () => Promise.reject(failure))).rejects.toBe(
      failure,
    )
  })

  test('is cancelled at once while a limit blocks its route, and leaves no timer', async () => {
    const { queue, observed } = createRig()
    await queue.run('submit', async () => queue.onRetryAfter('submit', 300_000))
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

  test('leaves the remaining tasks unaffected when it is cancelled', async () => {
    const { queue, start } = createRig()
    await queue.run('poll', async () => queue.onRetryAfter('poll', 5_000))
    const end = new AbortController()
    const given = queue.runUnless(end.signal, 'poll', async () => 1)
    const polls = start('poll', 2)
    end.abort()
    expect(await given).toBeUndefined()
    await vi.advanceTimersByTimeAsync(5_001)
    expect(polls.times).toEqual([5_000, 5_000])
  })

  test('runs to its end once it has started, with any outcome', async () => {
    const { queue } = createRig()
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

  test('is not queued after the signal', async () => {
    const { queue, observed } = createRig()
    expect(
      await queue.runUnless(AbortSignal.abort(), 'quote', () => Promise.reject(new Error('ran'))),
    ).toBeUndefined()
    expect(observed).toEqual([])
  })

  test('leaves its route working after it is cancelled', async () => {
    const { queue, start } = createRig()
    await queue.run('submit', async () => queue.onRetryAfter('submit', 2_000))
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
  test('holds over every sliding second, not only per window', async () => {
    const { start } = createRig({ requestsPerSecond: 20 })
    await vi.advanceTimersByTimeAsync(950)
    const first = start('quote', 6)
    await vi.advanceTimersByTimeAsync(100)
    const second = start('quote', 6)
    await vi.advanceTimersByTimeAsync(5_000)
    await Promise.all([first.done, second.done])
    const times = [...first.times, ...second.times]
    expect(times).toHaveLength(12)
    for (const [index, time] of times.entries())
      if (index >= 6) expect(time - (times[index - 6] ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  test('counts each start until exactly a second has passed', async () => {
    const { start } = createRig({ requestsPerSecond: 20 })
    const quotes = [start('quote', 1)]
    await vi.advanceTimersByTimeAsync(900)
    quotes.push(start('quote', 5))
    await vi.advanceTimersByTimeAsync(100)
    quotes.push(start('quote', 6))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(quotes.map(({ times }) => times)).toEqual([
      [0],
      [900, 900, 900, 900, 900],
      [1_000, 1_900, 1_900, 1_900, 1_900, 1_900],
    ])
  })

  test('allows any number of starts at an unreachable rate', async () => {
    const { start } = createRig({ concurrencyPerRoute: 10_000 })
    expect(start('quote', 10_000).times).toEqual(Array(10_000).fill(0))
  })

  test('holds for all routes together', async () => {
    const { start } = createRig({ requestsPerSecond: 5 })
    const routes = (['quote', 'poll', 'submit', 'tokens'] as const).map((route) => start(route, 6))
    await vi.advanceTimersByTimeAsync(20_000)
    const times = routes.flatMap((route) => route.times).sort((a, b) => a - b)
    expect(times).toHaveLength(24)
    for (const [index, time] of times.entries())
      if (index >= 5) expect(time - (times[index - 5] ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  test('is fully used, not only respected', async () => {
    const { start } = createRig({ requestsPerSecond: 20 })
    const quotes = start('quote', 60)
    await vi.advanceTimersByTimeAsync(9_050)
    expect(quotes.times).toHaveLength(60)
  })

  test('is divided by route: two polls a second take nothing from the others', async () => {
    const { start } = createRig({ requestsPerSecond: 5 })
    const polls = start('poll', 3)
    for (const route of ['quote', 'submit', 'tokens'] as const)
      expect(start(route, 1).times).toEqual([0])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(polls.times).toEqual([0, 0, 1_000])
  })

  test('reserves submits and polls their share under a flood of quotes', async () => {
    const { start } = createRig({ requestsPerSecond: 5 })
    start('quote', 1_000)
    await vi.advanceTimersByTimeAsync(100)
    expect(start('submit', 1).times).toEqual([100])
    expect(start('poll', 1).times).toEqual([100])
  })

  test('is not extended by a wall clock that is set back', async () => {
    const { start } = createRig({ requestsPerSecond: 5 })
    const polls = start('poll', 4)
    vi.setSystemTime(Date.now() - 3_600_000)
    await vi.advanceTimersByTimeAsync(1_010)
    expect(polls.times).toHaveLength(4)
  })

  test('is not exceeded under a wall clock that is set ahead', async () => {
    const { start } = createRig({ requestsPerSecond: 5 })
    const polls = [start('poll', 3)]
    await vi.advanceTimersByTimeAsync(100)
    vi.setSystemTime(Date.now() + 3_600_000)
    polls.push(start('poll', 2))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(polls.map(({ times }) => times)).toEqual([
      [0, 0, 1_000],
      [1_000, 2_000],
    ])
  })

  test('works as before once the wall clock was set and corrected', async () => {
    const { start } = createRig({ requestsPerSecond: 5 })
    start('poll', 2)
    vi.setSystemTime(Date.now() - 3_600_000)
    const polls = start('poll', 3)
    await vi.advanceTimersByTimeAsync(500)
    vi.setSystemTime(Date.now() + 3_600_000)
    await vi.advanceTimersByTimeAsync(3_000)
    expect(polls.times).toEqual([1_000, 1_000, 2_000])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('the service', () => {
  test('blocks its route with a 429 until the wait is over, and no other route', async () => {
    const { queue, start } = createRig()
    await queue.run('quote', async () => queue.onRetryAfter('quote', 5_000))
    const quotes = start('quote', 2)
    expect(start('poll', 1).times).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(4_999)
    expect(quotes.times).toEqual([])
    await vi.advanceTimersByTimeAsync(2)
    expect(quotes.times).toEqual([5_000, 5_000])
  })

  test('blocks tasks that waited when its 429 came', async () => {
    const { queue, start } = createRig({ concurrencyPerRoute: 1 })
    const limited = queue.run('quote', async () => queue.onRetryAfter('quote', 2_000))
    const quotes = start('quote', 3)
    await limited
    await vi.advanceTimersByTimeAsync(1_999)
    expect(quotes.times).toEqual([])
    await vi.advanceTimersByTimeAsync(10)
    expect(quotes.times).toHaveLength(3)
  })

  test('with two remaining requests gets two until its reset', async () => {
    const { queue, start } = createRig()
    await queue.run('quote', async () => {
      queue.onRateLimit('quote', { limit: 4, remaining: 2, resetInMs: 1_000 })
    })
    const quotes = start('quote', 5)
    await vi.advanceTimersByTimeAsync(999)
    expect(quotes.times).toEqual([0, 0])
    await vi.advanceTimersByTimeAsync(10)
    expect(quotes.times).toHaveLength(5)
  })

  test('may shorten its earlier wait', async () => {
    const { queue, start } = createRig()
    const slow = queue.run('quote', async () => {
      await sleep(100)
      queue.onRateLimit('quote', { limit: 10, remaining: 10, resetInMs: 1_000 })
    })
    queue.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 60_000 })
    const quotes = start('quote', 1)
    await vi.advanceTimersByTimeAsync(99)
    expect(quotes.times).toEqual([])
    await vi.advanceTimersByTimeAsync(2)
    await slow
    expect(quotes.times).toEqual([100])
  })
})

describe('a new limit while a route waits', () => {
  test('with a shorter wait shortens it', async () => {
    const { queue, start } = createRig()
    const slow = queue.run('quote', async () => {
      await sleep(100)
      queue.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 400 })
    })
    queue.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 60_000 })
    const quotes = start('quote', 1)
    await vi.advanceTimersByTimeAsync(502)
    await slow
    expect(quotes.times).toEqual([500])
  })

  test('leaves no timer once the route continues', async () => {
    const { queue, start } = createRig()
    const slow = queue.run('quote', async () => {
      await sleep(100)
      queue.onRateLimit('quote', { limit: 10, remaining: 10, resetInMs: 1_000 })
    })
    queue.onRateLimit('quote', { limit: 10, remaining: 0, resetInMs: 60_000 })
    const quotes = start('quote', 1)
    await vi.advanceTimersByTimeAsync(100)
    await Promise.all([slow, quotes.done])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does not count ended requests as pending', async () => {
    const { queue, start } = createRig()
    await start('quote', 20).done
    await queue.run('quote', async () => {
      queue.onRateLimit('quote', { limit: 10, remaining: 5, resetInMs: 1_000 })
    })
    expect(start('quote', 1).times).toHaveLength(1)
  })
})

describe('bounds', () => {
  test('a route runs at most its allowed number of tasks at once', async () => {
    const { queue } = createRig({ concurrencyPerRoute: 3 })
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

  test('a full queue rejects more tasks per route, and recovers', async () => {
    const { queue, start } = createRig({ concurrencyPerRoute: 1, waitingMax: 2 })
    const busy = queue.run('quote', () => sleep(50))
    const waiting = start('quote', 2)
    await expect(queue.run('quote', async () => 1)).rejects.toThrow(/route quote is full/)
    expect(await queue.run('poll', async () => 2)).toBe(2)
    await vi.advanceTimersByTimeAsync(51)
    await Promise.all([busy, waiting.done])
    expect(await queue.run('quote', async () => 3)).toBe(3)
  })
})

describe('the observed events', () => {
  test('include the wait of each start', async () => {
    const { start, observed } = createRig({ requestsPerSecond: 5 })
    const submits = start('submit', 2)
    await vi.advanceTimersByTimeAsync(1_000)
    await submits.done
    const waits = observed.flatMap((event) => (event.type === 'queue-wait' ? [event] : []))
    expect(waits).toEqual([
      { type: 'queue-wait', route: 'submit', waitMs: 0 },
      { type: 'queue-wait', route: 'submit', waitMs: 1_000 },
    ])
  })

  test('include each change of the depth and end at zero', async () => {
    const { start, observed } = createRig({ requestsPerSecond: 5 })
    const submits = start('submit', 3)
    await vi.advanceTimersByTimeAsync(2_000)
    await submits.done
    const depths = observed.flatMap((event) => (event.type === 'queue-depth' ? [event.depth] : []))
    expect(depths).toEqual([1, 2, 1, 0])
  })
})

describe('a turn without a request', () => {
  test('is returned, and the next task may use it at once', async () => {
    const { queue, start, observed } = createRig({ requestsPerSecond: 5 })
    const given = queue.run('submit', async (turn) => {
      await sleep(300)
      return turn.giveBack()
    })
    const submits = start('submit', 2)
    await vi.advanceTimersByTimeAsync(300)
    await given
    expect(submits.times).toEqual([300])
    await vi.advanceTimersByTimeAsync(1_000)
    await submits.done
    expect(submits.times).toEqual([300, 1_300])
    expect(observed.filter(({ type }) => type === 'queue-wait')).toHaveLength(3)
  })

  test('has no effect when it is returned late, or twice', async () => {
    const { queue, start } = createRig({ requestsPerSecond: 5 })
    const unused = (ms: number) =>
      queue.run('submit', async (turn) => {
        await sleep(ms)
        return turn.giveBack()
      })
    const given = [unused(300), unused(100)]
    await vi.advanceTimersByTimeAsync(1_000)
    await Promise.all(given)
    expect(start('submit', 1).times).toEqual([1_000])
  })

  test('is available to the next task within its second, and the ceiling counts from that start', async () => {
    const { queue, start } = createRig({ requestsPerSecond: 5 })
    await queue.run('submit', async (turn) => turn.giveBack())
    await vi.advanceTimersByTimeAsync(900)
    const submits = start('submit', 2)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(submits.times).toEqual([900, 1_900])
  })

  test('passes through many tasks in one moment', async () => {
    const { queue, start } = createRig({ requestsPerSecond: 5 })
    const given = Array.from({ length: 1_000 }, () =>
      queue.run('submit', async (turn) => turn.giveBack()),
    )
    const submits = start('submit', 1)
    await Promise.all(given)
    await vi.advanceTimersByTimeAsync(0)
    expect(submits.times).toEqual([0])
  })

  test('is returned only once, even if returned twice', async () => {
    const { queue, start } = createRig({ requestsPerSecond: 5 })
    await queue.run('submit', async () => undefined)
    await vi.advanceTimersByTimeAsync(1_000)
    await queue.run('submit', async (turn) => {
      turn.giveBack()
      turn.giveBack()
    })
    expect(start('submit', 2).times).toEqual([1_000])
  })
})

describe('pairs', () => {
  type Pair = { readonly ticket: Ticket; readonly quotedMs: number[]; readonly sentMs: number[] }

  /** Waits for a quote of 100 ms, then submits it. */
  function pair(
    { queue }: Rig,
    {
      rank = 1,
      nearMs = 2_000,
      mayWait = (): boolean => true,
      end = new AbortController().signal,
    } = {},
  ): Pair & { readonly done: Promise<boolean> } {
    const ticket = queue.ticket({ first: 'quote', second: 'submit', rank, mayWait })
    const quotedMs: number[] = []
    const sentMs: number[] = []
    const note = (times: number[]) => async () => {
      times.push(Math.round(performance.now() - beganMs))
      await sleep(100)
      return true
    }
    const beganMs = 0
    const go = async (): Promise<boolean> => {
      if (!(await ticket.near(end, nearMs))) return false
      try {
        const quoted = await ticket.first(end, note(quotedMs))
        return quoted === true && (await ticket.second(end, note(sentMs))) === true
      } finally {
        ticket.leave()
      }
    }
    return { ticket, quotedMs, sentMs, done: go() }
  }

  const startMs = () => Math.round(performance.now())

  test('request their first only when their second can follow soon', async () => {
    const rig = createRig({ requestsPerSecond: 5 })
    const from = startMs()
    const pairs = Array.from({ length: 20 }, () => pair(rig))
    await vi.advanceTimersByTimeAsync(21_000)
    expect(await Promise.all(pairs.map(({ done }) => done))).toEqual(Array(20).fill(true))
    for (const [at, { quotedMs, sentMs }] of pairs.entries()) {
      const [quoted = 0] = quotedMs
      const [sent = 0] = sentMs
      expect(sent - from).toBe(100 + at * 1_000)
      expect(sent - quoted).toBeLessThanOrEqual(2_100)
    }
  })

  test('go by rank, then by arrival, and a waiting ticket keeps its position', async () => {
    const rig = createRig({ requestsPerSecond: 5 })
    const order: number[] = []
    const blocked = rig.queue.run('submit', async () => rig.queue.onRetryAfter('submit', 10_000))
    await blocked
    const ranks = [3, 1, 2, 1]
    const tickets = ranks.map((rank) =>
      rig.queue.ticket({ first: 'quote', second: 'submit', rank, mayWait: () => true }),
    )
    const { signal } = new AbortController()
    const takeTurn = async (at: number): Promise<void> => {
      const ticket = tickets[at]
      if (!(await ticket?.near(signal, 0))) return
      await ticket?.second(signal, async () => order.push(at))
    }
    const waiting = [takeTurn(0), takeTurn(3), takeTurn(2)]
    tickets[0]?.leave()
    waiting.push(takeTurn(1))
    await vi.advanceTimersByTimeAsync(5_000)
    expect(order).toEqual([])
    await vi.advanceTimersByTimeAsync(15_000)
    expect(order.slice(0, 3)).toEqual([1, 3, 2])
  })

  test('respect tasks that wait alone for the same route', async () => {
    const rig = createRig({ requestsPerSecond: 5 })
    const alone = rig.start('submit', 4)
    const one = pair(rig, { nearMs: 1_000 })
    await vi.advanceTimersByTimeAsync(2_500)
    expect(one.quotedMs).toEqual([])
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await one.done).toBe(true)
    await alone.done
  })

  test('wait while the second route is blocked, and continue when it is free', async () => {
    const rig = createRig()
    await rig.queue.run('submit', async () => rig.queue.onRetryAfter('submit', 60_000))
    const from = startMs()
    const one = pair(rig, { nearMs: 5_000 })
    await vi.advanceTimersByTimeAsync(54_000)
    expect(one.quotedMs).toEqual([])
    await vi.advanceTimersByTimeAsync(7_000)
    expect(await one.done).toBe(true)
    expect(one.quotedMs.map((ms) => ms - from)).toEqual([55_000])
    expect(one.sentMs.map((ms) => ms - from)).toEqual([60_000])
  })

  test('that may wait no longer end within a second, wherever they wait, and leave no timer', async () => {
    const rig = createRig({ requestsPerSecond: 5 })
    await rig.queue.run('submit', async () => rig.queue.onRetryAfter('submit', 300_000))
    let mayWait = true
    const queued = [pair(rig, { mayWait: () => mayWait }), pair(rig, { mayWait: () => mayWait })]
    const near = pair(rig, { mayWait: () => mayWait, nearMs: 400_000, rank: 0 })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(near.quotedMs).toHaveLength(1)
    mayWait = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await Promise.all([...queued, near].map(({ done }) => done))).toEqual([
      false,
      false,
      false,
    ])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('end when they are aborted, while waiting or before', async () => {
    const rig = createRig({ requestsPerSecond: 5 })
    await rig.queue.run('submit', async () => rig.queue.onRetryAfter('submit', 300_000))
    const end = new AbortController()
    const one = pair(rig, { end: end.signal })
    end.abort()
    expect(await one.done).toBe(false)
    expect(await pair(rig, { end: end.signal }).done).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('count towards the depth of their second route, and report their whole wait', async () => {
    const rig = createRig({ requestsPerSecond: 5 })
    const pairs = Array.from({ length: 6 }, () => pair(rig, { nearMs: 0 }))
    const depths = () =>
      rig.observed.flatMap((each) =>
        each.type === 'queue-depth' && each.route === 'submit' ? [each.depth] : [],
      )
    expect(Math.max(...depths())).toBe(5)
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all(pairs.map(({ done }) => done))
    expect(depths().at(-1)).toBe(0)
    const waits = rig.observed.flatMap((each) =>
      each.type === 'queue-wait' && each.route === 'submit' ? [Math.round(each.waitMs)] : [],
    )
    expect(waits.at(-1)).toBeGreaterThanOrEqual(5_000)
  })
})
