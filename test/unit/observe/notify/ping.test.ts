import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createPing } from '../../../../src/observe/notify/channels/ping.ts'
import { captureLog } from '../../../support/capture-log.ts'
import { startScriptedServer } from '../../../support/process/scripted-server.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { waitFor } from '../../../support/wait-for.ts'

const PATH = '/ping/CANARY-0000-1111'

/** Sleeps so long that a beat follows the other within moments. */
const quickClock = {
  now: Date.now,
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      // Writing has its five seconds, whatever else is quick here.
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms === 5_000 ? ms : 10)
      signal?.addEventListener('abort', done)
    }),
}

async function rig(startAndFail = false) {
  const server = await startScriptedServer()
  const captured = await captureLog()
  const stateDir = temporaryDirectory()
  const ailments: string[] = []
  let turns = 0
  const ping = await createPing({
    settings: { url: server.url + PATH, everyMs: 60_000, startAndFail },
    ...{ stateDir, clock: quickClock, log: captured.log },
    ailments: () => {
      turns += 1
      return ailments
    },
  })
  server.answerWith(() => ({ status: 200 }))
  onTestFinished(async () => {
    await ping.close()
    await server.close()
  })
  const asked = (): readonly string[] => server.requests.map(({ path }) => path)
  const seen = (count: number): Promise<unknown> =>
    waitFor(
      'requests',
      () => server.requests.length,
      (requests) => requests >= count,
    )
  /** Lets so many beats more be due. */
  const due = async (count: number): Promise<void> => {
    const before = turns
    await waitFor('beats', () => turns > before + count)
  }
  return { ping, server, captured, stateDir, ailments, asked, seen, due }
}

test('the address is asked for again and again while the daemon is well', async () => {
  const { ping, server, asked, seen, stateDir, captured } = await rig()
  ping.begin()
  await seen(5)
  expect(new Set(asked())).toEqual(new Set([PATH]))
  expect(server.requests[0]?.method).toBe('GET')
  expect(statSync(join(stateDir, 'outbox', 'heartbeat')).mode & 0o777).toBe(0o600)
  expect(captured.lines()).toEqual([])
})

test('it falls silent while the loop does not turn, and goes on when it does', async () => {
  const { ping, ailments, asked, seen, due } = await rig()
  ailments.push('the loop has not turned for 130000 ms')
  ping.begin()
  await due(5)
  expect(asked()).toEqual([])
  ailments.length = 0
  await seen(2)
})

test('it falls silent while the state cannot be written', async () => {
  const { ping, stateDir, asked, due } = await rig()
  // Nothing can be written below a file.
  writeFileSync(join(stateDir, 'outbox'), '')
  ping.begin()
  await due(5)
  expect(asked()).toEqual([])
  rmSync(join(stateDir, 'outbox'))
  expect(existsSync(join(stateDir, 'outbox'))).toBe(false)
  // It is made again by whoever keeps the outbox; a beat makes no directory.
  await due(5)
  expect(asked()).toEqual([])
})

test('where it is told to, start and failure are said at addresses of their own', async () => {
  const { ping, server, ailments, seen } = await rig(true)
  ping.begin()
  await seen(3)
  ailments.push('the loop has not turned for 130000 ms')
  await waitFor('a failure', () => server.requests.at(-1)?.path, `${PATH}/fail`)
  await ping.failed('the disk is full')
  const paths = server.requests.map(({ path }) => path)
  expect(paths[0]).toBe(`${PATH}/start`)
  expect(paths[1]).toBe(PATH)
  const failures = server.requests.filter(({ path }) => path === `${PATH}/fail`)
  expect(failures[0]).toMatchObject({
    method: 'POST',
    body: 'the loop has not turned for 130000 ms',
  })
  expect(failures.some(({ body }) => body === 'the disk is full')).toBe(true)
})

test('without that a failure is silence', async () => {
  const { ping, asked } = await rig()
  await ping.failed('the disk is full')
  expect(asked()).toEqual([])
})

test('a monitor that is not there is told once, without its address, and when it is back', async () => {
  const { ping, server, captured, seen } = await rig()
  server.answerWith(() => ({ status: 503 }))
  ping.begin()
  await seen(4)
  server.answerWith(() => ({ status: 200 }))
  await seen(8)
  expect(captured.lines().map(({ msg }) => msg)).toEqual([
    'the heartbeat did not arrive: HTTP 503',
    'the heartbeat arrives again',
  ])
  expect(captured.text()).not.toMatch(/CANARY|127\.0/)
})
