import { expect, test } from 'vitest'
import {
  backoffMs,
  type LinkState,
  openLink,
  type Stream,
} from '../../../../src/ui/page/client/data/link.ts'

type Handlers = Parameters<Stream['on']>[0]

/** A link whose streams, answers and time the test controls. */
function rig() {
  const streams: { handlers: Handlers; closed: boolean }[] = []
  const states: LinkState[] = []
  const changes: string[] = []
  let nowMs = 0
  let timer: { atMs: number; run: () => void } | undefined
  const answers = { refresh: true, probe: 'nothing-new' as 'nothing-new' | 'behind' | 'silent' }
  const link = openLink(
    {
      open() {
        const stream = { handlers: undefined as unknown as Handlers, closed: false }
        streams.push(stream)
        return {
          on(handlers) {
            stream.handlers = handlers
          },
          close() {
            stream.closed = true
          },
        }
      },
      now: () => nowMs,
      after(delayMs, run) {
        const mine = { atMs: nowMs + delayMs, run }
        timer = mine
        return () => {
          if (timer === mine) timer = undefined
        }
      },
      random: () => 1,
    },
    {
      refresh: () => (answers.refresh ? Promise.resolve() : Promise.reject(new Error('no answer'))),
      probe: () =>
        answers.probe === 'silent'
          ? Promise.reject(new Error('no answer'))
          : Promise.resolve(answers.probe),
      change: (data) => changes.push(data),
      state: (state) => states.push(state),
    },
  )
  return {
    link,
    streams,
    states,
    changes,
    answers,
    last: () => streams.at(-1)?.handlers ?? expect.fail('no stream was opened'),
    tags: () => states.map(({ tag }) => tag),
    async pass(ms: number) {
      const endMs = nowMs + ms
      while (timer !== undefined && timer.atMs <= endMs) {
        nowMs = timer.atMs
        const { run } = timer
        timer = undefined
        run()
        await settled()
      }
      nowMs = endMs
    },
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
}

async function connected() {
  const at = rig()
  at.last().opened()
  await settled()
  return at
}

test('the link is live only after all data has arrived, not when the stream opens', async () => {
  const at = rig()
  at.last().opened()
  expect(at.tags()).toEqual([])
  await settled()
  expect(at.tags()).toEqual(['live'])
})

test('a lost connection shows the time of its last message through all attempts', async () => {
  const at = await connected()
  await at.pass(4_000)
  at.last().change('x')
  await at.pass(3_000)
  at.last().failed()
  await at.pass(500)
  at.last().failed()
  expect(at.states.slice(1)).toEqual([
    { tag: 'lost', sinceMs: 4_000, attempts: 1 },
    { tag: 'lost', sinceMs: 4_000, attempts: 2 },
  ])
})

test('the delay doubles after each failure up to 15 seconds, and resets after a success', async () => {
  expect([1, 2, 3, 4, 9, 2_000].map((attempts) => backoffMs(attempts, 1))).toEqual([
    500, 1_000, 2_000, 4_000, 15_000, 15_000,
  ])
  expect(backoffMs(3, 0)).toBe(1_500)
  const at = await connected()
  at.last().failed()
  await at.pass(500)
  at.last().opened()
  await settled()
  expect(at.tags()).toEqual(['live', 'lost', 'live'])
  at.last().failed()
  expect(at.states.at(-1)).toMatchObject({ attempts: 1 })
})

test('a stream that opens while the daemon does not answer is no connection', async () => {
  const at = rig()
  at.answers.refresh = false
  at.last().opened()
  await settled()
  expect(at.tags()).toEqual(['lost'])
  expect(at.streams[0]?.closed).toBe(true)
})

test('a stream that neither opens nor fails is given up', async () => {
  const at = rig()
  await at.pass(10_000)
  expect(at.tags()).toEqual(['lost'])
})

test('a quiet daemon is probed at intervals and stays connected', async () => {
  const at = await connected()
  await at.pass(100_000)
  expect(at.tags()).toEqual(['live'])
  expect(at.streams).toHaveLength(1)
})

test('silence from a dead daemon is detected', async () => {
  const at = await connected()
  at.answers.probe = 'silent'
  await at.pass(20_000)
  expect(at.tags()).toEqual(['live', 'lost'])
})

test('a stream that misses data is replaced', async () => {
  const at = await connected()
  at.answers.probe = 'behind'
  await at.pass(23_000)
  expect(at.tags()).toEqual(['live', 'lost'])
})

test('data still in transit is awaited', async () => {
  const at = await connected()
  at.answers.probe = 'behind'
  await at.pass(21_000)
  at.last().change('it was under way')
  at.answers.probe = 'nothing-new'
  await at.pass(60_000)
  expect(at.tags()).toEqual(['live'])
  expect(at.changes).toEqual(['it was under way'])
})

test('a manual check retries at once instead of waiting for the next attempt', async () => {
  const at = await connected()
  for (let failures = 0; failures < 6; failures += 1) {
    at.last().failed()
    await at.pass(15_000)
  }
  at.last().failed()
  const before = at.streams.length
  at.link.check()
  await at.pass(0)
  expect(at.streams).toHaveLength(before + 1)
})

test('an abandoned stream has no further effect', async () => {
  const at = await connected()
  const gone = at.last()
  gone.failed()
  gone.change('late')
  gone.opened()
  await settled()
  expect(at.changes).toEqual([])
  expect(at.tags()).toEqual(['live', 'lost'])
})

test('a closed link opens no further streams', async () => {
  const at = await connected()
  at.link.close()
  at.last().failed()
  await at.pass(100_000)
  expect(at.streams).toHaveLength(1)
  expect(at.streams[0]?.closed).toBe(true)
})
