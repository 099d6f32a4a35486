import { execFile } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Probe } from '../../../src/control/http/http-server.ts'
import { createServiceManager, type ServiceManager } from '../../../src/control/service-manager.ts'
import { temporaryDirectory } from '../../support/process/programs.ts'
import { waitFor } from '../../support/wait-for.ts'

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

/** A program in place of `systemd-notify` that records its arguments and its socket. */
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

/** The messages sent so far. */
async function sent(): Promise<readonly string[]> {
  const text = await readFile(join(directory.path, 'sent'), 'utf8').catch(() => '')
  // The last line may be incomplete.
  return text.split('\n').slice(0, -1)
}

test('ready and stopping are sent with the status to the given socket, without other environment variables', async () => {
  await standIn()
  const { ready: isReady, stopping } = manage()
  isReady()
  await waitFor('a message', sent, ({ length }) => length === 1)
  ready = { ok: false, reasons: ['stopping'] }
  stopping()
  expect(await waitFor('two messages', sent, ({ length }) => length === 2)).toEqual([
    '/run/notify|2|READY=1|STATUS=ready|0',
    '/run/notify|2|STOPPING=1|STATUS=not ready: stopping|0',
  ])
})

test('the watchdog gets pings only while the loop is alive', async () => {
  await standIn()
  manage({ WATCHDOG_USEC: '60000', WATCHDOG_PID: '42' })
  await waitFor('a ping', async () =>
    (await sent()).some((each) => each.includes('|WATCHDOG=1|STATUS=ready|')),
  )
  health = STUCK
  ready = STUCK
  const count = (messages: readonly string[]) =>
    messages.filter((each) => each.includes('STATUS=not ready: the loop has not turned')).length
  const messages = await waitFor('three pings', sent, (each) => count(each) >= 3)
  expect(messages.at(-1)).not.toContain('WATCHDOG=1')
})

test.each([
  ['no socket is named', { NOTIFY_SOCKET: undefined as never, WATCHDOG_USEC: '30000' }],
  ['the watchdog waits for another process', { WATCHDOG_USEC: '30000', WATCHDOG_PID: '43' }],
  ['there is no watchdog', {}],
])('no ping is sent if %s', async (_what, env) => {
  await standIn()
  onTestFinished(manage(env).close)
  // A manager that pings as often and starts later.
  manage({ NOTIFY_SOCKET: '/run/other', WATCHDOG_USEC: '30000' })
  const messages = await waitFor('three pings', sent, ({ length }) => length >= 3)
  expect(messages.filter((each) => each.includes('/run/notify'))).toEqual([])
})

test('a missing program causes one warning', async () => {
  const { ready: isReady, stopping } = manage({ PATH: directory.path })
  isReady()
  stopping()
  await waitFor('a warning', () => warnings.length)
  // Another missing program, started after them.
  await expect(
    promisify(execFile)('systemd-notify', { env: { PATH: directory.path } }),
  ).rejects.toThrow('ENOENT')
  expect(warnings).toEqual(['systemd gets no status of the daemon: spawn systemd-notify ENOENT'])
})
