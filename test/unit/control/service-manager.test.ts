import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Probe } from '../../../../src/adapters/control/http-server.ts'
import {
  createServiceManager,
  type ServiceManager,
} from '../../../../src/adapters/control/service-manager.ts'
import { temporaryDirectory } from '../../../stack/process.ts'

const WELL: Probe = { ok: true, reasons: [] }
const STUCK: Probe = { ok: false, reasons: ['the loop has not turned for 120001 ms'] }

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let manager: ServiceManager | undefined
let health: Probe
let ready: Probe
const warnings: string[] = []

beforeEach(async () => {
  directory = await temporaryDirectory()
  health = WELL
  ready = WELL
  warnings.length = 0
})
afterEach(async () => {
  manager?.close()
  await directory.remove()
})

/** A program in the place of `systemd-notify` that notes what it was started with, and where to. */
async function standIn(): Promise<void> {
  const program = join(directory.path, 'systemd-notify')
  const line = '"$NOTIFY_SOCKET" "$#" "$@"'
  await writeFile(
    program,
    `#!/bin/sh\n{ printf '%s|' ${line}; env | grep -c SECRET; } >>'${directory.path}/sent'\n`,
  )
  await chmod(program, 0o755)
}

function manage(env: Readonly<Record<string, string>> = {}): ServiceManager {
  manager = createServiceManager({
    env: {
      PATH: `${directory.path}:/usr/bin:/bin`,
      NOTIFY_SOCKET: '/run/notify',
      SECRET: 'never',
      ...env,
    },
    pid: 42,
    health: () => health,
    ready: () => ready,
    warn: (message) => warnings.push(message),
  })
  return manager
}

/** What was sent so far, one message an entry. */
async function sent(): Promise<readonly string[]> {
  const text = await readFile(join(directory.path, 'sent'), 'utf8').catch(() => '')
  // The last line may be half written.
  return text.split('\n').slice(0, -1)
}

async function until(
  isThere: (messages: readonly string[]) => boolean,
): Promise<readonly string[]> {
  for (;;) {
    const messages = await sent()
    if (isThere(messages)) return messages
    await sleep(5)
  }
}

test('says when the daemon is ready and when it stops, with its status, to the socket that was named and with nothing else of the environment', async () => {
  await standIn()
  const { ready: isReady, stopping } = manage()
  isReady()
  await until(({ length }) => length === 1)
  ready = { ok: false, reasons: ['stopping'] }
  stopping()
  expect(await until(({ length }) => length === 2)).toEqual([
    '/run/notify|2|READY=1|STATUS=ready|0',
    '/run/notify|2|STOPPING=1|STATUS=not ready: stopping|0',
  ])
})

test('pings the watchdog while the loop is alive, and not while it is not', async () => {
  await standIn()
  manage({ WATCHDOG_USEC: '60000', WATCHDOG_PID: '42' })
  await until((messages) => messages.some((each) => each.includes('|WATCHDOG=1|STATUS=ready|')))
  health = STUCK
  ready = STUCK
  const count = (messages: readonly string[]) =>
    messages.filter((each) => each.includes('STATUS=not ready: the loop has not turned')).length
  const messages = await until((each) => count(each) >= 3)
  expect(messages.at(-1)).not.toContain('WATCHDOG=1')
})

test.each([
  ['no socket is named', { NOTIFY_SOCKET: undefined as never, WATCHDOG_USEC: '30000' }],
  ['the watchdog waits for another process', { WATCHDOG_USEC: '30000', WATCHDOG_PID: '43' }],
  ['there is no watchdog', {}],
])('pings nobody where %s', async (_what, env) => {
  await standIn()
  manage(env)
  await sleep(150)
  expect(await sent()).toEqual([])
})

test('warns once where the program is missing', async () => {
  const { ready: isReady, stopping } = manage({ PATH: directory.path })
  isReady()
  stopping()
  while (warnings.length === 0) await sleep(5)
  await sleep(50)
  expect(warnings).toEqual(['systemd is not told how the daemon is: spawn systemd-notify ENOENT'])
})
