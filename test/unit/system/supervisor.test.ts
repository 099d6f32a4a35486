import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inspectSupervisor } from '../../../src/system/supervisor.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

/** A machine with one process of this environment, and the given pm2 dump. */
function machine(environment: Readonly<Record<string, string>> | undefined, saved?: unknown) {
  const dir = temporaryDirectory()
  const [proc, home] = [join(dir, 'proc'), join(dir, 'home')]
  mkdirSync(join(proc, '7'), { recursive: true })
  mkdirSync(join(home, '.pm2'), { recursive: true })
  if (environment !== undefined) {
    const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}\0`)
    writeFileSync(join(proc, '7/environ'), lines.join(''))
  }
  if (saved !== undefined) writeFileSync(join(home, '.pm2/dump.pm2'), JSON.stringify(saved))
  return inspectSupervisor({ pid: 7, env: {}, proc, home })
}

const OURS = { name: 'tranched', pm_exec_path: '/srv/dist/tranched.js', kill_timeout: 40_000 }

test('pm2 is detected by its environment, with its kill timeout and saved list', async () => {
  const own = { pm_id: '0', name: 'bot', SECRET: 'a=b' }
  expect(await machine({ ...own, kill_timeout: '20000' }, [OURS])).toEqual({
    ...{ kind: 'pm2', killTimeoutMs: 20_000, isSaved: true },
  })
  expect(await machine(own, [OURS])).toMatchObject({ killTimeoutMs: 40_000 })
  expect(await machine(own, [{ name: 'web', pm_exec_path: '/srv/web.js' }])).toEqual({
    ...{ kind: 'pm2', killTimeoutMs: undefined, isSaved: false },
  })
  expect(await machine(own)).toMatchObject({ kind: 'pm2', isSaved: undefined })
  expect(await machine(own, 'no list')).toMatchObject({ kind: 'pm2', isSaved: undefined })
})

test('systemd is detected for the process it started, and not for a child of that process', async () => {
  expect((await machine({ SYSTEMD_EXEC_PID: '7' })).kind).toBe('systemd')
  expect((await machine({ SYSTEMD_EXEC_PID: '3' })).kind).toBe('unseen')
})

test('an unreadable process is reported as hidden, not as unsupervised', async () => {
  expect((await machine(undefined)).kind).toBe('hidden')
})
