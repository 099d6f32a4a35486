import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { waitFor } from '../support/wait-for.ts'
import { logOf, metricsUrl, openPermit, supervisedSandbox } from './supervised-sandbox.ts'

/** Longer than pm2's first three restarts take. */
const RESTARTS_MS = 6_000

test('a start waits until the daemon is ready, and a stop lets the order under way end', async () => {
  const { config, supervisor } = await supervisedSandbox()
  const pm2 = supervisor('pm2')
  await pm2.start(config)
  const ready = await pm2.app()
  expect(ready).toMatchObject({ status: 'online', restarts: 0 })
  const url = await metricsUrl(pm2)
  expect(url, await logOf(pm2)).toBeDefined()
  expect((await fetch(String(url).replace('/metrics', '/readyz'))).status).toBe(200)

  await openPermit(pm2)
  await pm2.stop()
  // A killed one would have no exit code.
  expect(await pm2.app()).toMatchObject({ exitCode: 0, restarts: 0, pid: 0 })
  const log = await logOf(pm2)
  const afterStop = log.slice(log.indexOf('"daemon-stopping"'))
  expect(afterStop).toContain('"event":"filled"')
  expect(afterStop).toContain('stopped, nothing left open')
})

test('a killed daemon is restarted and resolves its open order', async () => {
  const { config, supervisor } = await supervisedSandbox()
  const pm2 = supervisor('pm2')
  await pm2.start(config)
  await openPermit(pm2)
  const { pid } = await pm2.app()
  process.kill(pid, 'SIGKILL')
  const again = await waitFor('a restart', async () => {
    const app = await pm2.app()
    return app.pid !== pid && app.pid > 0 && app.status === 'online' ? app : undefined
  })
  expect(again.restarts).toBe(1)
  await waitFor('the fill of the order from before', async () => {
    const log = await logOf(pm2)
    const restarted = log.slice(log.lastIndexOf('"daemon-started"'))
    const [, open] = /"openIntents":(\d+)/.exec(restarted) ?? []
    return Number(open) > 0 && restarted.includes('"event":"filled"')
  })
})

test('a config error causes no restart loop', async () => {
  const { path, supervisor } = await supervisedSandbox()
  const broken = join(path, 'broken.yaml')
  await writeFile(broken, 'mode: live\nstateDirectory: ./data\n')
  const pm2 = supervisor('pm2')
  await pm2.start(broken)
  await waitFor('its end', async () => (await pm2.app()).exitCode === 78)
  await sleep(RESTARTS_MS)
  expect(await pm2.app()).toMatchObject({ exitCode: 78, restarts: 0, pid: 0 })
  expect(await logOf(pm2)).toMatch(/broken\.yaml:\d+:\d+/)
})

test('a second daemon on the same state is refused, not restarted, and does not harm the first', async () => {
  const { config, supervisor } = await supervisedSandbox()
  const [first, second] = [supervisor('pm2-first'), supervisor('pm2-second')]
  await first.start(config)
  const { pid } = await first.app()
  await second.start(config)
  await waitFor('its end', async () => (await second.app()).exitCode === 75)
  await sleep(RESTARTS_MS)
  expect(await second.app()).toMatchObject({ exitCode: 75, restarts: 0, pid: 0 })
  expect(await logOf(second)).toContain(`held by process ${pid}`)
  expect(await first.app()).toMatchObject({ pid, status: 'online', restarts: 0 })
})
