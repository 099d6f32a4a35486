import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, type Running, run, start } from '../support/process/cli.ts'
import { descendantsOf, untilGone } from '../support/process/kill.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'

/** The node of one of a program's two chains. */
function nodeOf({ pid }: Running, chainId: number): number {
  const found = descendantsOf(pid).find((each) => {
    const args = readFileSync(`/proc/${each}/cmdline`, 'utf8').split('\0')
    return /anvil$/.test(args[0] ?? '') && args[args.indexOf('--chain-id') + 1] === `${chainId}`
  })
  if (found === undefined) throw new Error(`there is no node of chain ${chainId}`)
  return found
}

test.each([8453, 11_155_111])(
  'a sandbox whose node of chain %i is killed ends with a message and leaves nothing running',
  async (chainId) => {
    const sandbox = start(['sandbox', '--for', '50s'], { cwd: temporaryDirectory() })
    await sandbox.sees(/point a client at the addresses above/)
    const pids = descendantsOf(sandbox.pid)
    process.kill(nodeOf(sandbox, chainId), 'SIGKILL')
    const { code, stderr } = await sandbox.ended()
    expect([code, stderr]).toEqual([
      1,
      `tranched: the EVM node of chain ${chainId} has ended (killed by SIGKILL), and the sandbox ends with it: start it again\n`,
    ])
    await untilGone(pids)
  },
)

test('a kept sandbox resumes from its last kept state', async () => {
  const dir = temporaryDirectory()
  const kept = ['sandbox', '--keep', 'kept']
  const sandbox = start([...kept, '--for', '50s'], { cwd: dir })
  await sandbox.sees(/point a client at the addresses above/)
  process.kill(nodeOf(sandbox, 8453), 'SIGKILL')
  expect(await sandbox.ended()).toMatchObject({ code: 1 })
  const again = await run([...kept, '--for', '1ms', '--json'], { cwd: dir })
  expect(again.code).toBe(0)
  expect(JSON.parse(again.stdout)).toMatchObject({ ok: true, isResumed: true })
})

test('a run on an embedded sandbox ends with it, and does not blame a disk', async () => {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'config'))
  mkdirSync(join(dir, 'strategies/sandbox'), { recursive: true })
  copyFileSync(join(ROOT, 'config/sandbox.yaml'), join(dir, 'config/sandbox.yaml'))
  const strategy =
    'name: monday\nkind: dca\nschedule: { cron: "0 9 * * 1" }\nsell: USDC\nbuy: WETH\namount: "25"\n'
  writeFileSync(join(dir, 'strategies/sandbox/monday.yaml'), strategy)
  const daemon = start(['run', '--http-port', '0', '--for', '50s'], { cwd: dir })
  await daemon.sees(/metrics at/)
  process.kill(nodeOf(daemon, 8453), 'SIGKILL')
  const { code, stdout, stderr } = await daemon.ended()
  expect([code, stderr]).toEqual([
    1,
    'tranched: the EVM node of chain 8453 has ended (killed by SIGKILL), and the sandbox ends with it: start it again\n',
  ])
  expect(stdout).not.toContain('disk-failed')
})
