import { readdir, readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { PROGRAM, ROOT } from '../support/process/cli.ts'
import { runProcess } from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'
import { findBinary } from './binary.ts'
import { openPermit, supervisedSandbox } from './supervised-sandbox.ts'

test('doctor reports who runs the daemon, how long a stop may take, and whether it restarts with the machine', async () => {
  const { config, path, supervisor } = await supervisedSandbox()
  const pm2 = supervisor('pm2')
  await pm2.start(config)
  const inspect = async () => {
    const env = { PM2_HOME: join(path, 'pm2') }
    const args = [PROGRAM, 'doctor', '--json', '--config', config]
    const { stdout } = await runProcess(process.execPath, args, { env })
    const { checks } = JSON.parse(stdout) as { checks: readonly Record<string, string>[] }
    return checks
      .filter(({ section }) => section === 'supervisor')
      .map(({ id, verdict, says }) => [id, verdict, says])
  }
  expect(await inspect()).toEqual([
    ['supervisor', 'fine', 'pm2 runs the daemon'],
    ['pm2-kill-timeout', 'fine', 'pm2 waits 40 s before it kills'],
    ['pm2-saved', 'warning', expect.stringMatching(/^pm2 has saved nothing/)],
  ])
  await pm2.save()
  expect((await inspect()).at(-1)).toEqual(['pm2-saved', 'fine', expect.any(String)])
})

/** The shipped rotation, for this pm2 and the current user. */
async function rotation(home: string): Promise<string> {
  const text = await readFile(join(ROOT, 'deploy/logrotate.conf'), 'utf8')
  const group = (await runProcess('id', ['-gn'])).stdout.trim()
  const user = `${userInfo().username} ${group}`
  const file = join(home, 'logrotate.conf')
  const own = text.replaceAll('/home/tranched/.pm2', home).replaceAll('tranched tranched', user)
  await writeFile(file, own, { mode: 0o644 })
  return file
}

test('saved pm2 apps trade again after a boot, and log rotation loses no line', async () => {
  const { config, path, supervisor } = await supervisedSandbox()
  const pm2 = supervisor('pm2')
  await pm2.start(config)
  await pm2.save()
  await pm2.kill()
  await pm2.resurrect()
  const { status, outFile } = await pm2.app()
  expect(status).toBe('online')
  await openPermit(pm2)

  const file = await rotation(join(path, 'pm2'))
  const before = (await readFile(outFile, 'utf8')).length
  const state = join(path, 'logrotate.state')
  const rotated = await runProcess(findBinary('logrotate'), ['--force', '--state', state, file])
  expect(rotated).toMatchObject({ code: 0, stderr: '' })
  const [old = ''] = (await readdir(dirname(outFile))).filter((name) => /out\.log-/.test(name))
  const moved = await readFile(join(dirname(outFile), old), 'utf8')
  expect(moved.length).toBeGreaterThanOrEqual(before)
  // Whole lines on both sides of the cut, and the daemon does not notice it.
  await waitFor('more of the log', async () =>
    (await readFile(outFile, 'utf8')).includes('"filled"'),
  )
  const lines = (moved + (await readFile(outFile, 'utf8'))).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).level)).toContain('info')
  expect(moved.endsWith('\n')).toBe(true)
})
