import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  type EventSource,
  EventStreams,
  type EventStreamsOptions,
} from '../../../src/control/http/event-streams.ts'
import { serve } from '../../support/process/serve.ts'
import { waitFor } from '../../support/wait-for.ts'

/** A source that the test changes, with counts of its calls. */
class Source implements EventSource {
  revision = 1
  refreshed = 0
  made: (number | undefined)[] = []
  bytes = 10
  fault: Error | undefined

  async refresh(): Promise<number> {
    this.refreshed += 1
    if (this.fault !== undefined) throw this.fault
    return this.revision
  }

  changeSince(since: number | undefined) {
    this.made.push(since)
    const text = JSON.stringify({ since: since ?? null, pad: 'x'.repeat(this.bytes) })
    return { revision: this.revision, text }
  }
}

const FAST = { everyMs: 20, commentEveryMs: 100_000 }

async function start(source: Source, options: EventStreamsOptions = {}) {
  const streams = new EventStreams(source, { ...FAST, ...options })
  onTestFinished(() => streams.close())
  const address = await serve(async (request, response) => {
    const since = /since=(\d+)/.exec(request.url ?? '')?.[1]
    await streams.open(request, response, since === undefined ? undefined : Number(since))
  })
  const port = Number(new URL(address).port)
  const listen = async (query = '', isReading = true): Promise<Listener> => {
    const socket = connect({ port, host: '127.0.0.1' })
    onTestFinished(() => void socket.destroy())
    const listener = { socket, text: '', isOver: false }
    socket.on('error', () => undefined)
    socket.on('close', () => {
      listener.isOver = true
    })
    if (isReading)
      socket.setEncoding('utf8').on('data', (text) => {
        listener.text += text
      })
    socket.write(`GET /events${query} HTTP/1.1\r\nhost: x\r\n\r\n`)
    if (isReading) await waitFor('data', () => listener.text.includes('data:'))
    return listener
  }
  return { streams, listen }
}

type Listener = { readonly socket: Socket; text: string; isOver: boolean }

const eventsIn = ({ text }: Listener): { id: number; since: number | null }[] =>
  [...text.matchAll(/id: (\d+)\r?\nevent: change\r?\ndata: (\{.*?\})\n/g)].map(([, id, data]) => ({
    id: Number(id),
    since: JSON.parse(data ?? '').since,
  }))

/** Waits until the source has been read the given number of times. */
async function turns(source: Source, count: number): Promise<void> {
  const { refreshed } = source
  await waitFor('turns', () => source.refreshed >= refreshed + count)
}

test('the first event arrives at once with the changes since the given revision', async () => {
  const source = new Source()
  source.revision = 9
  const { listen } = await start(source)
  const [fresh, again] = [await listen(), await listen('?since=4')]
  expect(fresh.text).toMatch(/^HTTP\/1\.1 200[\s\S]*content-type: text\/event-stream/)
  expect(fresh.text).toContain('retry: 3000\n\n')
  expect(eventsIn(fresh)).toEqual([{ id: 9, since: null }])
  expect(eventsIn(again)).toEqual([{ id: 9, since: 4 }])
})

test('a change is built once for all streams at the same revision', async () => {
  const source = new Source()
  const { listen } = await start(source)
  const listeners = [await listen(), await listen(), await listen()]
  source.made = []
  source.revision = 2
  const last = () => listeners.map((each) => eventsIn(each).at(-1))
  await waitFor('the change', last, Array(3).fill({ id: 2, since: 1 }))
  await turns(source, 3)
  expect(source.made).toEqual([1])
})

test('the source is not read without listeners', async () => {
  const source = new Source()
  const { streams, listen } = await start(source)
  // A timer of the same length that starts later ends later.
  for (let turn = 0; turn < 3; turn += 1) await sleep(FAST.everyMs)
  expect(source.refreshed).toBe(0)
  const { socket } = await listen()
  await waitFor(
    'turns',
    () => source.refreshed,
    (count) => count > 2,
  )
  socket.destroy()
  await waitFor('streams', () => streams.size, 0)
  const { refreshed } = source
  for (let turn = 0; turn < 3; turn += 1) await sleep(FAST.everyMs)
  expect(source.refreshed).toBe(refreshed)
})

test('at most one event is sent per interval', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const source = new Source()
  const { listen } = await start(source, { everyMs: 200 })
  const listener = await listen()
  for (let change = 0; change < 50; change += 1) source.revision += 1
  vi.advanceTimersByTime(199)
  expect(source.refreshed).toBe(1)
  vi.advanceTimersByTime(1)
  await waitFor('the second event', () => eventsIn(listener), [
    { id: 1, since: null },
    { id: 51, since: 1 },
  ])
})

test('a comment keeps a quiet stream alive', async () => {
  const source = new Source()
  const { listen } = await start(source, { commentEveryMs: 50 })
  const listener = await listen()
  await waitFor(
    'comments',
    () => [...listener.text.matchAll(/: nothing new/g)].length,
    (count) => count > 2,
  )
  expect(eventsIn(listener)).toHaveLength(1)
})

test('a listener that never reads is cut off, and the others are not', async () => {
  const source = new Source()
  const { streams, listen } = await start(source, { stuckMsMax: 1_500 })
  source.bytes = 8_000_000
  await listen('', false)
  const reader = await listen()
  source.bytes = 10
  await waitFor('streams', () => streams.size, 1)
  expect(reader.isOver).toBe(false)
})

test('a slow listener gets all changes since its last event', async () => {
  const source = new Source()
  const { listen } = await start(source, { stuckMsMax: 10_000 })
  source.bytes = 8_000_000
  const slow = await listen('', false)
  await waitFor('an event', () => source.made.length, 1)
  source.bytes = 10
  for (let change = 0; change < 5; change += 1) {
    source.revision += 1
    await turns(source, 1)
  }
  slow.socket.setEncoding('utf8').on('data', (text) => {
    slow.text += text
  })
  await waitFor(
    'all that changed',
    () => slow.text,
    expect.stringMatching(/id: 6\n.*\ndata: \{"since":1,/),
  )
  // All changes arrive in one event: none was queued meanwhile.
  expect(slow.text.match(/event: change/g)).toHaveLength(2)
})

test('a new stream above the limit replaces the oldest', async () => {
  const source = new Source()
  const { streams, listen } = await start(source, { streamsMax: 3 })
  const [first, second] = [await listen(), await listen()]
  await listen()
  await listen()
  await waitFor('its end', () => first.isOver)
  expect([second.isOver, streams.size]).toEqual([false, 3])
})

test('a failing source ends no stream and is read again', async () => {
  const source = new Source()
  const { listen } = await start(source)
  const listener = await listen()
  source.fault = new Error('a secret')
  await turns(source, 3)
  expect(listener.isOver).toBe(false)
  source.fault = undefined
  source.revision = 5
  await waitFor('the event', () => eventsIn(listener).at(-1)?.id, 5)
  expect(listener.text).not.toContain('secret')
})

test('closing ends all streams and admits no more', async () => {
  const source = new Source()
  const { streams, listen } = await start(source)
  const listeners = [await listen(), await listen()]
  streams.close()
  await waitFor('their end', () => listeners.every(({ isOver }) => isOver))
  expect(streams.size).toBe(0)
})
