import { expect, test } from 'vitest'
import {
  backoffMs,
  type LinkState,
  openLink,
  type Stream,
} from '../../../../src/ui/page/client/data/link.ts'

type Handlers = Parameters<Stream['on']>[0]

/** A link whose streams, answers and time are the test's. */
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

test('it is live only once everything was asked for, not when the stream opens', async () => {
  const at = rig()
  at.last().opened()
  expect(at.tags()).toEqual([])
  await settled()
  expect(at.tags()).toEqual(['live'])
})

test('a lost connection is told since when nothing was heard, through all attempts', async () => {
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

test('it waits longer after each failure, up to a quarter of a minute, and begins anew after a success', async () => {
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

test('a daemon with nothing to tell is asked now and then, and stays connected', async () => {
  const at = await connected()
  await at.pass(100_000)
  expect(at.tags()).toEqual(['live'])
  expect(at.streams).toHaveLength(1)
})

test('silence behind which nobody is, is found out', async () => {
  const at = await connected()
  at.answers.probe = 'silent'
  await at.pass(20_000)
  expect(at.tags()).toEqual(['live', 'lost'])
})

test('a stream that does not bring what there is, is replaced', async () => {
  const at = await connected()
  at.answers.probe = 'behind'
  await at.pass(23_000)
  expect(at.tags()).toEqual(['live', 'lost'])
})

test('news that were only under way are waited for', async () => {
  const at = await connected()
  at.answers.probe = 'behind'
  await at.pass(21_000)
  at.last().change('it was under way')
  at.answers.probe = 'nothing-new'
  await at.pass(60_000)
  expect(at.tags()).toEqual(['live'])
  expect(at.changes).toEqual(['it was under way'])
})

test('somebody who looks again need not wait for the next attempt', async () => {
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

test('a stream that was given up says nothing any more', async () => {
  const at = await connected()
  const gone = at.last()
  gone.failed()
  gone.change('late')
  gone.opened()
  await settled()
  expect(at.changes).toEqual([])
  expect(at.tags()).toEqual(['live', 'lost'])
})

test('closed, it opens nothing more', async () => {
  const at = await connected()
  at.link.close()
  at.last().failed()
  await at.pass(100_000)
  expect(at.streams).toHaveLength(1)
  expect(at.streams[0]?.closed).toBe(true)
})
