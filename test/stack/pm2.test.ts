import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PROGRAM, ROOT } from '../support/process/cli.ts'
import {
  type Running,
  runProcess,
  sample,
  startProcess,
  temporaryDirectory,
} from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'
import { findBinary } from './binary.ts'
import { createPm2, type Pm2 } from './pm2.ts'

/** Fills come this late, so that a stop meets an order under way. */
const FILL_DELAY_MS = 5_000
/** Longer than the first three restarts that pm2 would make. */
const RESTARTS_MS = 6_000

const STRATEGY = `
name: buy-weth
kind: dca
schedule: { cron: "*/2 * * * * *", missed: latest, maxLateness: 30s }
sell: USDC
buy: WETH
amount: "25"
limits: { perDay: "400000" }
`

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let sandbox: Running
let config: string
const supervisors: Pm2[] = []

/** A sandbox in a process of its own and a live config for it, so that the daemon takes the live path. */
beforeEach(async () => {
  directory = await temporaryDirectory()
  config = join(directory.path, 'live.yaml')
  const faults = join(directory.path, 'faults.json')
  const strategies = join(directory.path, 'strategies')
  const rule = { kind: 'lateFill', delayMs: FILL_DELAY_MS }
  await writeFile(faults, JSON.stringify({ rules: [rule] }))
  await mkdir(strategies)
  await writeFile(join(strategies, 'buy-weth.yaml'), STRATEGY)
  const places = ['--state-dir', join(directory.path, 'state'), '--strategies-dir', strategies]
  const args = ['sandbox', '--config-out', config, '--faults', faults, ...places]
  sandbox = startProcess(process.execPath, [PROGRAM, ...args])
  await waitFor('the sandbox config', () => readFile(config, 'utf8')).catch((error) => {
    throw new Error(`the sandbox said: ${sandbox.output()}`, { cause: error })
  })
  const text = await readFile(config, 'utf8')
  // Any free port: the log says which.
  await writeFile(config, text.replace(/port: \d+/, 'port: 0'))
})

afterEach(async () => {
  for (const pm2 of supervisors.splice(0)) await pm2.kill()
  await sandbox?.stop()
  await directory?.remove()
})

function supervisor(name: string): Pm2 {
  const pm2 = createPm2(join(directory.path, name))
  supervisors.push(pm2)
  return pm2
}

async function logOf(pm2: Pm2): Promise<string> {
  const { outFile, errorFile } = await pm2.app()
  return (await readFile(outFile, 'utf8')) + (await readFile(errorFile, 'utf8'))
}

/** Where the daemon that started last serves its metrics. */
async function metricsUrl(pm2: Pm2): Promise<string | undefined> {
  return (await logOf(pm2)).match(/http:\/\/127\.0\.0\.1:\d+\/metrics/g)?.at(-1)
}

async function metric(pm2: Pm2, series: string): Promise<number | undefined> {
  const url = await metricsUrl(pm2)
  return url === undefined ? undefined : sample(await (await fetch(url)).text(), series)
}

function openPermit(pm2: Pm2): Promise<number> {
  return waitFor('an open permit', () => metric(pm2, 'tranched_open_permits'))
}

test('a start waits until the daemon is ready, and a stop lets the order under way end', async () => {
  const pm2 = supervisor('pm2')
  await pm2.start(config)
  const ready = await pm2.app()
  expect(ready).toMatchObject({ status: 'online', restarts: 0 })
  const url = await metricsUrl(pm2)
  expect(url, await logOf(pm2)).toBeDefined()
  expect((await fetch(String(url).replace('/metrics', '/readyz'))).status).toBe(200)

  await openPermit(pm2)
  await pm2.stop()
  // A killed one would have no exit code of its own.
  expect(await pm2.app()).toMatchObject({ exitCode: 0, restarts: 0, pid: 0 })
  const log = await logOf(pm2)
  const afterStop = log.slice(log.indexOf('"daemon-stopping"'))
  expect(afterStop).toContain('"event":"filled"')
  expect(afterStop).toContain('stopped, nothing left open')
})

test('a killed daemon is started again and resolves the order it had open', async () => {
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

test('a config that must be mended first is not started again and again', async () => {
  const broken = join(directory.path, 'broken.yaml')
  await writeFile(broken, 'mode: live\nstateDirectory: ./data\n')
  const pm2 = supervisor('pm2')
  await pm2.start(broken)
  await waitFor('its end', async () => (await pm2.app()).exitCode === 78)
  await sleep(RESTARTS_MS)
  expect(await pm2.app()).toMatchObject({ exitCode: 78, restarts: 0, pid: 0 })
  expect(await logOf(pm2)).toMatch(/broken\.yaml:\d+:\d+/)
})

test('a second daemon on the same state is refused, not started again, and does not harm the first', async () => {
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

test('doctor sees who runs the daemon, how long a stop may take, and whether it comes back with the machine', async () => {
  const pm2 = supervisor('pm2')
  await pm2.start(config)
  const look = async () => {
    const env = { PM2_HOME: join(directory.path, 'pm2') }
    const args = [PROGRAM, 'doctor', '--json', '--config', config]
    const { stdout } = await runProcess(process.execPath, args, { env })
    const { checks } = JSON.parse(stdout) as { checks: readonly Record<string, string>[] }
    return checks
      .filter(({ section }) => section === 'supervisor')
      .map(({ id, verdict, says }) => [id, verdict, says])
  }
  expect(await look()).toEqual([
    ['supervisor', 'fine', 'pm2 runs the daemon'],
    ['pm2-kill-timeout', 'fine', 'pm2 waits 40 s before it kills'],
    ['pm2-saved', 'warning', expect.stringMatching(/^pm2 has saved nothing/)],
  ])
  await pm2.save()
  expect((await look()).at(-1)).toEqual(['pm2-saved', 'fine', expect.any(String)])
})

/** The rotation that is shipped, for this pm2 and whoever runs the tests. */
async function rotation(home: string): Promise<string> {
  const text = await readFile(join(ROOT, 'deploy/logrotate.conf'), 'utf8')
  const group = (await runProcess('id', ['-gn'])).stdout.trim()
  const user = `${userInfo().username} ${group}`
  const file = join(home, 'logrotate.conf')
  const own = text.replaceAll('/home/tranched/.pm2', home).replaceAll('tranched tranched', user)
  await writeFile(file, own, { mode: 0o644 })
  return file
}

test('what pm2 has saved trades again after a boot, and its log is rotated without losing a line', async () => {
  const pm2 = supervisor('pm2')
  await pm2.start(config)
  await pm2.save()
  await pm2.kill()
  await pm2.resurrect()
  const { status, outFile } = await pm2.app()
  expect(status).toBe('online')
  await openPermit(pm2)

  const file = await rotation(join(directory.path, 'pm2'))
  const before = (await readFile(outFile, 'utf8')).length
  const state = join(directory.path, 'logrotate.state')
  const rotated = await runProcess(findBinary('logrotate'), ['--force', '--state', state, file])
  expect(rotated).toMatchObject({ code: 0, stderr: '' })
  const [old = ''] = (await readdir(dirname(outFile))).filter((name) => /out\.log-/.test(name))
  const moved = await readFile(join(dirname(outFile), old), 'utf8')
  expect(moved.length).toBeGreaterThanOrEqual(before)
  // Whole lines on both sides of the cut, and the daemon knows nothing of it.
  await waitFor('more of the log', async () =>
    (await readFile(outFile, 'utf8')).includes('"filled"'),
  )
  const lines = (moved + (await readFile(outFile, 'utf8'))).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).level)).toContain('info')
  expect(moved.endsWith('\n')).toBe(true)
})
