import { describe, expect, test } from 'vitest'
import type { RuntimeEvent } from '../../../../src/journal/runtime-event.ts'
import type { Delivery } from '../../../../src/observe/notify/channels/channel.ts'
import { VirtualClock } from '../../../simulation/virtual-clock.ts'
import { DOWN, FakeReceiver, Rig, START_MS } from '../../../support/notify/notifier-rig.ts'
import {
  FAILURE,
  FILL,
  failureBy,
  fillBy,
  NOTIFIED,
  ORDER,
} from '../../../support/notify/observations.ts'
import { closed, type Happened } from '../../../support/state/happened.ts'

const HOUR_MS = 3_600_000
const HALT = NOTIFIED['a halt by a person'] as Happened
const LIFTED = NOTIFIED['the end of a halt'] as Happened
const LOW = NOTIFIED['a low GasTank'] as RuntimeEvent
const SKIPPED = NOTIFIED['a slot skipped while halted'] as Happened

function rig(...receivers: readonly FakeReceiver[]): Promise<Rig> {
  return Rig.begin(new VirtualClock(START_MS), ...receivers)
}

describe('routing of events', () => {
  test('each receiver gets its subscribed events and strategies, in order', async () => {
    const all = new FakeReceiver()
    const failures = new FakeReceiver({ index: 1, on: ['failed', 'halted'] })
    const some = new FakeReceiver({ index: 2, strategies: ['weekly-*', 'dip-?'] })
    const w = await rig(all, failures, some)
    for (const name of ['weekly-eth', 'dip-1', 'dip-10', 'other']) w.record(fillBy(name))
    w.record(FAILURE)
    w.record(HALT)
    await w.run(1_000)
    expect(all.events()).toEqual(['filled', 'filled', 'filled', 'filled', 'failed', 'halted'])
    expect(failures.events()).toEqual(['failed', 'halted'])
    expect(some.got.map(({ message }) => message.strategy)).toEqual([
      ...['weekly-eth', 'dip-1', 'weekly-eth'],
      undefined,
    ])
  })

  test('a person gets one message per occurrence, a program one per event', async () => {
    const person = new FakeReceiver()
    const program = new FakeReceiver({ kind: 'webhook' })
    const w = await rig(person, program)
    w.record(NOTIFIED['a failure for want of funds'] as Happened)
    await w.run(1_000)
    expect(person.events()).toEqual(['failed'])
    expect(program.events()).toEqual(['failed', 'low-funds'])
    const ids = program.got.map(({ message }) => message.id)
    expect(ids).toEqual([`${START_MS}-1`, `${START_MS}-1-1`])
  })

  test('a wider event includes narrower events, once each', async () => {
    const wide = new FakeReceiver({ on: ['failed', 'halted'] })
    const w = await rig(wide)
    w.record(NOTIFIED['a program that has not sold all'] as Happened)
    w.record(NOTIFIED['a pause by a streak'] as Happened)
    w.record(NOTIFIED['the end of a pause'] as Happened)
    await w.run(1_000)
    expect(wide.events()).toEqual(['unsold', 'paused'])
  })

  test('a mode other than live is named in the subject', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.kill()
    w.mode = 'sandbox'
    await w.start()
    w.record(FILL)
    await w.run(1_000)
    expect(receiver.subjects()).toEqual([expect.stringMatching(/^\[sandbox\] weekly-eth traded/)])
  })

  test('no message contains a secret, wherever it was in the event', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.captured.scrubber.add('hunter2hunter2')
    w.record(failureBy('weekly-eth', 'said hunter2hunter2 of hunter2hunter2'))
    w.record(fillBy('hunter2hunter2'))
    w.notifier.crashed({ message: 'hunter2hunter2', wasRunning: true })
    await w.run(1_000)
    expect(receiver.got).toHaveLength(3)
    expect(JSON.stringify([receiver.got, w.disk.lines])).not.toContain('hunter2')
    expect(w.captured.text()).not.toContain('hunter2')
  })
})

describe('a receiver that is down', () => {
  test('for most of a day gets everything in order and with its time once it is back', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => DOWN
    const w = await rig(receiver)
    const events = Array.from({ length: 200 }, (_, n) => fillBy(`s-${n}`))
    for (const event of events) {
      w.record(event)
      await w.run(6 * 60_000)
    }
    expect(receiver.got).toEqual([])
    expect(w.waiting.get('slack-1')).toBe(200)
    // Growing delays of five minutes at most: about 250 attempts in 20 hours.
    expect(receiver.tries).toBeGreaterThan(200)
    expect(receiver.tries).toBeLessThan(300)
    receiver.answer = () => ({ ok: true })
    await w.run(7 * 60_000)
    expect(receiver.got.map(({ message }) => message.strategy)).toEqual(
      events.map((_, n) => `s-${n}`),
    )
    expect(receiver.got[0]?.message.when).toBe('Mon 5 Jan, 08:00 (UTC)')
    expect(w.waiting.get('slack-1')).toBe(0)
    const logged = w.captured.lines().filter(({ level }) => level !== 'debug')
    expect(logged.map(({ msg }) => msg)).toEqual([
      'slack-1 does not accept messages: ECONNREFUSED; retrying for a day',
      'slack-1 accepts messages again',
    ])
  })

  test('for more than a day loses older messages, counted and logged', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => DOWN
    const w = await rig(receiver)
    w.record(fillBy('early'))
    w.record(HALT)
    await w.run(13 * HOUR_MS)
    w.record(fillBy('late'))
    await w.run(12 * HOUR_MS)
    receiver.answer = () => ({ ok: true })
    await w.run(HOUR_MS)
    expect(receiver.got.map(({ message }) => message.strategy)).toEqual(['late'])
    expect(w.results).toEqual([
      ['slack-1', 'expired'],
      ['slack-1', 'expired'],
      ['slack-1', 'delivered'],
    ])
    expect(w.captured.text()).toContain('slack-1 did not accept 2 messages within a day: given up')
  })

  test('and a clock set a day ahead lose no message without a later attempt', async () => {
    const receiver = new FakeReceiver({ paceMs: 60_000 })
    const w = await rig(receiver)
    for (let n = 0; n < 3; n += 1) w.record(fillBy(`s-${n}`))
    await w.run(1_000)
    w.clock.offsetMs = 48 * HOUR_MS
    await w.run(HOUR_MS)
    expect(receiver.got).toHaveLength(3)
  })

  test('does not delay another receiver', async () => {
    const dead = new FakeReceiver()
    dead.answer = () => new Promise<Delivery>(() => undefined)
    const alive = new FakeReceiver({ index: 1 })
    const w = await rig(dead, alive)
    w.record(FILL)
    await w.run(1_000)
    expect(alive.events()).toEqual(['filled'])
  })

  test('is left alone for its Retry-After', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => ({
      ...{ ok: false, final: false, answered: true, fault: 'HTTP 429' },
      retryAfterMs: 30 * 60_000,
    })
    const w = await rig(receiver)
    w.record(FILL)
    await w.run(29 * 60_000)
    expect(receiver.tries).toBe(1)
    receiver.answer = () => ({ ok: true })
    await w.run(2 * 60_000)
    expect(receiver.got).toHaveLength(1)
  })

  test('and never answers is given up after a minute and retried', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => new Promise<Delivery>(() => undefined)
    const w = await rig(receiver)
    w.record(FILL)
    await w.run(180_000)
    expect(receiver.tries).toBe(3)
  })

  test('for one message gets the others after a while', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = ({ strategy }) =>
      strategy === 'poison'
        ? { ok: false, final: false, answered: true, fault: 'HTTP 500' }
        : { ok: true }
    const w = await rig(receiver)
    for (const name of ['poison', 'a', 'b']) w.record(fillBy(name))
    await w.run(HOUR_MS)
    expect(receiver.got.map(({ message }) => message.strategy)).toEqual(['a', 'b'])
    await w.run(25 * HOUR_MS)
    expect(w.results.at(-1)).toEqual(['slack-1', 'expired'])
  })

  test('and refuses a message for good gets no retry, and a warning at most once a minute', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => ({ ok: false, final: true, answered: true, fault: 'HTTP 404' })
    const w = await rig(receiver)
    for (let n = 0; n < 30; n += 1) w.record(fillBy(`s-${n}`))
    await w.run(HOUR_MS)
    expect(receiver.tries).toBe(30)
    expect(w.results.filter(([, result]) => result === 'failed')).toHaveLength(30)
    const warned = w.captured.lines().filter(({ level }) => level === 'warn')
    expect(warned.map(({ msg }) => msg)).toEqual(['slack-1 refused a "filled" message: HTTP 404'])
  })

  test('gets messages at the pace of its service', async () => {
    const receiver = new FakeReceiver({ paceMs: 2_000 })
    const w = await rig(receiver)
    for (let n = 0; n < 3; n += 1) w.record(fillBy(`s-${n}`))
    await w.run(10_000)
    const [first = 0, ...others] = receiver.got.map(({ atMs }) => atMs)
    expect(others.map((atMs) => atMs - first)).toEqual([2_000, 4_000])
  })
})

describe('a full outbox', () => {
  test('drops the oldest fills before alarms', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => DOWN
    const w = await rig(receiver)
    w.record(HALT)
    for (let n = 0; n < 2_500; n += 1) w.record(fillBy(`s-${n}`))
    w.record(FAILURE)
    await w.run(1_000)
    expect(w.waiting.get('slack-1')).toBe(2_000)
    receiver.answer = () => ({ ok: true })
    await w.run(HOUR_MS)
    const events = receiver.events()
    expect(events[0]).toBe('halted')
    expect(events.at(-1)).toBe('failed')
    expect(receiver.got[1]?.message.strategy).toBe('s-502')
    expect(w.results.filter(([, result]) => result === 'failed')).toHaveLength(502)
    expect(w.captured.text()).toContain('the outbox is full: 1 messages dropped so far')
  })

  test('also counts bytes', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => DOWN
    const w = await rig(receiver)
    w.record(HALT)
    const detail = 'x'.repeat(200)
    for (let n = 0; n < 1_900; n += 1) w.record(failureBy('s'.repeat(60), detail + n))
    await w.run(1_000)
    expect(JSON.stringify(w.disk.lines).length).toBeLessThan(6 * 1024 * 1024)
    receiver.answer = () => ({ ok: true })
    await w.run(HOUR_MS)
    expect(receiver.events()[0]).toBe('halted')
  })
})

describe('a disk that cannot be written', () => {
  test('affects only what survives a restart', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.disk.isFull = true
    for (let n = 0; n < 5; n += 1) w.record(fillBy(`s-${n}`))
    await w.run(60_000)
    expect(receiver.got).toHaveLength(5)
    w.disk.isFull = false
    w.record(fillBy('after'))
    await w.run(60_000)
    w.kill()
    await w.start()
    await w.run(60_000)
    expect(receiver.got).toHaveLength(6)
  })
})

describe('a disk that failed for a while', () => {
  test('is updated later, so that sent messages are not sent again', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.disk.isFull = true
    for (let n = 0; n < 54; n += 1) w.record(fillBy(`s-${n}`))
    await w.run(20_000)
    expect(receiver.got).toHaveLength(54)
    w.disk.isFull = false
    // No further event occurs before the daemon is killed.
    await w.run(2_000)
    w.kill()
    await w.start()
    await w.run(HOUR_MS)
    expect(receiver.got).toHaveLength(54)
  })

  test('is updated at shutdown, however recent the failure', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.disk.isFull = true
    w.disk.restMs = 30_000
    for (let n = 0; n < 54; n += 1) w.record(fillBy(`s-${n}`))
    await w.run(20_000)
    w.disk.isFull = false
    const finished = w.notifier.finish(w.clock.trueMs + 3_000)
    await w.run(500)
    await finished
    w.kill()
    await w.start()
    await w.run(HOUR_MS)
    expect(receiver.got).toHaveLength(54)
  })
})

describe('a lasting condition', () => {
  test('is reported once, again after hours at the earliest, and when it ends', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    for (let minute = 0; minute < 13 * 60; minute += 1) {
      w.observe(LOW)
      await w.run(60_000)
    }
    expect(receiver.events()).toEqual(['low-funds', 'low-funds', 'low-funds'])
    w.observe({
      ...{ type: 'gas-tank', account: 'operator', balance: 10n ** 18n, outstanding: 0n },
      ...{ runwaySeconds: undefined, alertBelow: 1n, isLow: false },
    })
    await w.run(1_000)
    expect(receiver.subjects().at(-1)).toBe('The GasTank has enough again')
    expect(receiver.got.at(-1)?.message.lines).toEqual(['It lasted 13h, since Mon 5 Jan, 08:00.'])
  })

  test('is not reported again after a restart', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    for (let starts = 0; starts < 20; starts += 1) {
      w.observe(LOW)
      await w.run(60_000)
      w.kill()
      await w.start()
    }
    expect(receiver.events()).toEqual(['low-funds'])
  })

  test('that ended while the daemon was down is reported as over by the first reading', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.observe(LOW)
    await w.run(1_000)
    w.kill()
    await w.run(HOUR_MS)
    await w.start()
    w.observe({
      ...{ type: 'gas-tank', account: 'operator', balance: 10n ** 18n, outstanding: 0n },
      ...{ runwaySeconds: undefined, alertBelow: 1n, isLow: false },
    })
    await w.run(1_000)
    expect(receiver.events()).toEqual(['low-funds', 'recovered'])
  })

  test('a halt is reported at once, without its skipped slots, and so is the next halt', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.record(HALT)
    for (let n = 0; n < 100; n += 1) {
      w.record(SKIPPED)
      await w.run(60_000)
    }
    w.record(LIFTED)
    w.record(HALT)
    w.record(SKIPPED)
    await w.run(1_000)
    expect(receiver.events()).toEqual(['halted', 'resumed', 'halted'])
    await w.run(7 * HOUR_MS)
    w.record(SKIPPED)
    await w.run(1_000)
    expect(receiver.subjects().at(-1)).toBe('Trading is still halted')
  })

  test('the end goes only to receivers that got the start', async () => {
    const both = new FakeReceiver()
    const onlyEnds = new FakeReceiver({ index: 1, on: ['recovered'] })
    const onlyStarts = new FakeReceiver({ index: 2, on: ['low-funds'] })
    const w = await rig(both, onlyEnds, onlyStarts)
    w.record(NOTIFIED['a slot skipped for want of funds'] as Happened)
    w.record(FILL)
    await w.run(1_000)
    expect(both.events()).toEqual(['low-funds', 'recovered', 'filled'])
    expect(onlyEnds.events()).toEqual([])
    expect(onlyStarts.events()).toEqual(['low-funds'])
  })

  test('service failures of some minutes are not reported, and longer failures are, with their end', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    const silent = { type: 'request', service: 'gasless', route: 'quote', durationMs: 1 } as const
    const ask = async (status: string, minutes: number): Promise<void> => {
      for (let n = 0; n < minutes * 6; n += 1) {
        w.observe({ ...silent, status })
        await w.run(10_000)
      }
    }
    await ask('timeout', 4)
    await ask('200', 1)
    await ask('503', 4)
    await ask('429', 1)
    expect(receiver.events()).toEqual([])
    await ask('network', 30)
    await ask('200', 1)
    expect(receiver.events()).toEqual(['trouble', 'recovered'])
    expect(receiver.subjects()[0]).toBe('The swap service gives no usable answer, for 5m now')
  })

  test('a chain failure ends ten minutes after its last event, across restarts too', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    const failure = { type: 'chain-trouble', doing: 'reading', message: 'no answer' } as const
    for (let n = 0; n < 20; n += 1) {
      w.observe(failure)
      await w.run(30_000)
    }
    expect(receiver.events()).toEqual(['trouble'])
    w.kill()
    await w.start()
    await w.run(5 * 60_000)
    expect(receiver.events()).toEqual(['trouble'])
    await w.run(10 * 60_000)
    expect(receiver.events()).toEqual(['trouble', 'recovered'])
  })

  test('two chain failures minutes apart are not reported', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    const failure = { type: 'chain-trouble', doing: 'reading', message: 'no answer' } as const
    for (let n = 0; n < 10; n += 1) {
      w.observe(failure)
      await w.run(4 * 60_000)
    }
    expect(receiver.events()).toEqual([])
  })

  test('a daemon that crashes repeatedly for one fault reports it once an hour', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    for (let n = 0; n < 90; n += 1) {
      w.notifier.crashed({ message: 'the port is taken', wasRunning: false })
      await w.run(60_000)
      w.kill()
      await w.start()
    }
    expect(receiver.events()).toEqual(['crashed', 'crashed'])
  })

  test('a rejected claim ends silently with its order', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.observe(NOTIFIED['an answer that is not believed'] as RuntimeEvent)
    w.record(closed({ ...ORDER, outcome: 'filled', reason: 'filled' }))
    await w.run(1_000)
    expect(receiver.events()).toEqual(['disbelieved'])
    expect(w.disk.lines.some((line) => 'over' in line)).toBe(true)
  })
})

describe('a start', () => {
  test('without an outbox reports no earlier event', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.kill()
    w.disk.lines = []
    for (let n = 0; n < 10; n += 1) w.record(fillBy(`s-${n}`), false)
    await w.start()
    w.record(fillBy('now'))
    await w.run(1_000)
    expect(receiver.got.map(({ message }) => message.strategy)).toEqual(['now'])
  })

  test('reports events recorded while the daemon was down, up to a day old', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    w.record(fillBy('sent'))
    await w.run(1_000)
    w.kill()
    w.record(fillBy('old'), false)
    await w.run(23 * HOUR_MS)
    w.record(HALT, false)
    await w.run(2 * HOUR_MS)
    await w.start()
    await w.run(1_000)
    expect(receiver.events()).toEqual(['filled', 'halted'])
    expect(receiver.got.at(-1)?.message.when).toBe('Tue 6 Jan, 07:00 (UTC)')
  })

  test('with a journal of fewer records continues from there', async () => {
    const receiver = new FakeReceiver()
    const w = await rig(receiver)
    for (let n = 0; n < 10; n += 1) w.record(fillBy(`s-${n}`))
    await w.run(1_000)
    w.kill()
    w.journal.length = 3
    await w.start()
    w.record(fillBy('now'))
    await w.run(1_000)
    expect(receiver.got.at(-1)?.message.strategy).toBe('now')
    expect(receiver.got).toHaveLength(11)
  })

  test('without a previous receiver drops its messages', async () => {
    const gone = new FakeReceiver({ index: 1 })
    const stays = new FakeReceiver()
    stays.answer = () => DOWN
    gone.answer = () => DOWN
    const w = await rig(stays, gone)
    w.record(FILL)
    await w.run(1_000)
    w.kill()
    const other = await rig(stays)
    other.disk.lines = w.disk.lines
    other.journal.push(...w.journal)
    other.kill()
    stays.answer = () => ({ ok: true })
    await other.start()
    await other.run(1_000)
    expect(stays.got).toHaveLength(1)
    expect(gone.got).toEqual([])
  })
})

describe('a shutdown', () => {
  test('sends what can be sent, retries the rest once, and keeps it', async () => {
    const alive = new FakeReceiver()
    const dead = new FakeReceiver({ index: 1 })
    dead.answer = () => DOWN
    const w = await rig(alive, dead)
    w.record(FILL)
    await w.run(HOUR_MS)
    const { tries } = dead
    w.record(HALT)
    const finished = w.notifier.finish(w.clock.trueMs + 3_000)
    await w.run(4_000)
    await finished
    expect(alive.events()).toEqual(['filled', 'halted'])
    expect(dead.tries).toBe(tries + 1)
    w.kill()
    dead.answer = () => ({ ok: true })
    await w.start()
    await w.run(1_000)
    expect(dead.events()).toEqual(['filled', 'halted'])
    expect(alive.got).toHaveLength(2)
  })

  test('does not wait for the pace of a receiver without further messages', async () => {
    const receiver = new FakeReceiver({ paceMs: 2_000 })
    const w = await rig(receiver)
    w.record(FILL)
    let isDone = false
    void w.notifier.finish(w.clock.trueMs + 3_000).then(() => {
      isDone = true
    })
    await w.run(100)
    expect([isDone, receiver.got.length]).toEqual([true, 1])
  })

  test('does not wait for a receiver beyond its deadline', async () => {
    const receiver = new FakeReceiver()
    receiver.answer = () => new Promise<Delivery>(() => undefined)
    const w = await rig(receiver)
    w.record(FILL)
    await w.run(100)
    let isDone = false
    void w.notifier.finish(w.clock.trueMs + 3_000).then(() => {
      isDone = true
    })
    await w.run(2_900)
    expect(isDone).toBe(false)
    await w.run(200)
    expect(isDone).toBe(true)
  })
})

test('a daemon killed at any moment reports everything, and repeats only messages in flight', async () => {
  const EVENTS = 6
  // Every millisecond in the life of some messages: in memory, written, sent, marked as sent.
  for (let killedAfterMs = 0; killedAfterMs <= 130; killedAfterMs += 1) {
    const receiver = new FakeReceiver()
    const clock = new VirtualClock(START_MS)
    // A response takes a while, and may be lost with the daemon.
    receiver.answer = async () => {
      await new Promise<void>((resolve) => clock.schedule(clock.trueMs + 3, resolve))
      return { ok: true }
    }
    const w = await Rig.begin(clock, receiver)
    for (let n = 0; n < EVENTS; n += 1) {
      w.record(fillBy(`s-${n}`))
      await w.run(5)
    }
    await w.run(killedAfterMs)
    w.kill()
    await w.run(20)
    w.record(fillBy('unheard'), false)
    await w.start()
    await w.run(HOUR_MS)
    const names = receiver.got.map(({ message }) => message.strategy)
    const expected = [...Array.from({ length: EVENTS }, (_, n) => `s-${n}`), 'unheard']
    expect([...new Set(names)], `after ${killedAfterMs}`).toEqual(expected)
    const ids = new Set(receiver.got.map(({ message }) => message.id))
    expect(ids.size).toBe(EVENTS + 1)
    // Messages that arrived just before the kill, before their delivery was written.
    expect(names.length - ids.size).toBeLessThanOrEqual(EVENTS)
  }
})

test('no message is sent before it is written', async () => {
  const receiver = new FakeReceiver()
  const w = await rig(receiver)
  w.disk.writeMs = 40
  const tooEarly: string[] = []
  receiver.answer = ({ id }) => {
    const [, seq] = id.split('-')
    const isKept = w.disk.lines.some((line) => 'put' in line && line.put.id === id)
    const isTaken = w.disk.lines.some((line) => 'taken' in line && line.taken >= Number(seq))
    if (!isKept || !isTaken) tooEarly.push(id)
    return { ok: true }
  }
  for (let n = 0; n < 20; n += 1) {
    w.record(fillBy(`s-${n}`))
    await w.run(7)
  }
  await w.run(10_000)
  expect(receiver.got).toHaveLength(20)
  expect(tooEarly).toEqual([])
})

test('a write cut at any point loses no message and repeats none', async () => {
  const receiver = new FakeReceiver()
  receiver.answer = () => DOWN
  const w = await rig(receiver)
  for (const event of [HALT, LOW, fillBy('a'), NOTIFIED['a failure for want of funds'], LIFTED]) {
    if (event === LOW) w.observe(LOW)
    else w.record(event as Happened)
    await w.run(20)
  }
  await w.run(1_000)
  w.kill()
  const written = w.disk.lines
  const whole = written.flatMap((line) => ('put' in line ? [line.put.id] : []))
  expect(whole).toHaveLength(5)
  for (let cut = 1; cut <= written.length; cut += 1) {
    const again = new FakeReceiver()
    const other = await rig(again)
    other.kill()
    other.disk.lines = written.slice(0, cut)
    other.journal.push(...w.journal)
    await other.start()
    await other.run(HOUR_MS)
    const ids = again.got.map(({ message }) => message.id)
    expect(new Set(ids).size, `cut at ${cut}`).toBe(ids.length)
    // A message without a journal record is lost with the write that held it.
    const recorded = whole.filter((id) => !id.includes('n'))
    expect(ids).toEqual(expect.arrayContaining(recorded))
  }
})

test('observing alone sends nothing, and a receiver that is down is not tried for each event', async () => {
  const receiver = new FakeReceiver()
  receiver.answer = () => DOWN
  const w = await rig(receiver)
  const quiet = {
    type: 'request',
    service: 'rpc',
    route: 'view',
    status: '200',
    durationMs: 1,
  } as const
  for (let n = 0; n < 20_000; n += 1) w.observe(quiet)
  for (let n = 0; n < 500; n += 1) w.record(fillBy(`s-${n}`))
  expect(receiver.tries).toBe(0)
  await w.run(1_000)
  expect(receiver.tries).toBe(1)
})
