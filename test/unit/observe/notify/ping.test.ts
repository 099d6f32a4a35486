import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createPing } from '../../../../src/observe/notify/channels/ping.ts'
import { captureLog } from '../../../support/capture-log.ts'
import { startScriptedServer } from '../../../support/process/scripted-server.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { waitFor } from '../../../support/wait-for.ts'

const PATH = '/ping/CANARY-0000-1111'

/** A short sleep, so that beats follow each other within moments. */
const quickClock = {
  now: Date.now,
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      // A write keeps its five seconds, unlike the sleeps.
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
  const paths = (): readonly string[] => server.requests.map(({ path }) => path)
  const seen = (count: number): Promise<unknown> =>
    waitFor(
      'requests',
      () => server.requests.length,
      (requests) => requests >= count,
    )
  /** Waits until the given number of further beats is due. */
  const due = async (count: number): Promise<void> => {
    const before = turns
    await waitFor('beats', () => turns > before + count)
  }
  return { ping, server, captured, stateDir, ailments, paths, seen, due }
}

test('the address is requested repeatedly while the daemon is healthy', async () => {
  const { ping, server, paths, seen, stateDir, captured } = await rig()
  ping.begin()
  await seen(5)
  expect(new Set(paths())).toEqual(new Set([PATH]))
  expect(server.requests[0]?.method).toBe('GET')
  expect(statSync(join(stateDir, 'outbox', 'heartbeat')).mode & 0o777).toBe(0o600)
  expect(captured.lines()).toEqual([])
})

test('the ping stops while the loop is stuck, and resumes afterwards', async () => {
  const { ping, ailments, paths, seen, due } = await rig()
  ailments.push('the loop has not turned for 130000 ms')
  ping.begin()
  await due(5)
  expect(paths()).toEqual([])
  ailments.length = 0
  await seen(2)
})

test('the ping stops while the state cannot be written', async () => {
  const { ping, stateDir, paths, due } = await rig()
  // A path below a file cannot be written.
  writeFileSync(join(stateDir, 'outbox'), '')
  ping.begin()
  await due(5)
  expect(paths()).toEqual([])
  rmSync(join(stateDir, 'outbox'))
  expect(existsSync(join(stateDir, 'outbox'))).toBe(false)
  // The outbox creates it again; a beat creates no directory.
  await due(5)
  expect(paths()).toEqual([])
})

test('start and failure are sent to separate addresses if configured', async () => {
  const { ping, server, ailments, seen } = await rig(true)
  ping.begin()
  await seen(3)
  ailments.push('the loop has not turned for 130000 ms')
  await waitFor('a failure', () => server.requests.at(-1)?.path, `${PATH}/fail`)
  await ping.failed('the disk is full')
  const requested = server.requests.map(({ path }) => path)
  expect(requested[0]).toBe(`${PATH}/start`)
  expect(requested[1]).toBe(PATH)
  const failures = server.requests.filter(({ path }) => path === `${PATH}/fail`)
  expect(failures[0]).toMatchObject({
    method: 'POST',
    body: 'the loop has not turned for 130000 ms',
  })
  expect(failures.some(({ body }) => body === 'the disk is full')).toBe(true)
})

test('a failure sends nothing without startAndFail', async () => {
  const { ping, paths } = await rig()
  await ping.failed('the disk is full')
  expect(paths()).toEqual([])
})

test('an unreachable monitor is logged once, without its address, and again when it is back', async () => {
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
