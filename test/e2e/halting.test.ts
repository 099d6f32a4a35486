import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { outputOf } from '../support/output-of.ts'
import { type Ended, run } from '../support/process/cli.ts'
import { eventsIn, temporaryDirectory } from '../support/state/state-directory.ts'
import { all } from './audit.ts'
import { everySecond, metricsOf, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

async function permits({ stateDir }: Rehearsal): Promise<number> {
  return all(await eventsIn(stateDir), 'permit-recorded').length
}

test('halt needs no config, works by the command and by touch, and holds across a start', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { stateDir } = rehearsal
  const file = join(stateDir, 'HALT')
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const halted = await run(['halt', '--state-dir', stateDir, '--config', '/nowhere.yaml', '--json'])
  expect(halted.code).toBe(0)
  expect(outputOf('halt', halted.stdout)).toMatchObject({ ok: true, isAnswered: true, file })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).toMatch(/^halted by \w+ at \d{4}-.*\(tranched halt\)\n$/)
  await daemon.sees(/skipped buy-weth .*halted/)
  expect((await metricsOf(daemon)).get('tranched_halted')).toBe(1)
  const [, url = ''] = await daemon.sees(/metrics at (http:[^"\s]+)\/metrics/)
  expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ halted: true })
  expect((await daemon.stop()).code).toBe(0)
  const signed = await permits(rehearsal)

  const again = rehearsal.daemon()
  await again.sees(/halted since .*HALT is there: halted by/)
  await again.sees(/skipped buy-weth .*halted/)
  const resumed = await run(['resume', '--config', rehearsal.config])
  expect(resumed.code).toBe(0)
  expect(existsSync(file)).toBe(false)
  await again.sees(/filled buy-weth/)
  writeFileSync(file, '')
  await again.sees(/halted everything: the file .*HALT is there/)
  expect((await again.stop()).code).toBe(0)
  expect(await permits(rehearsal)).toBeGreaterThan(signed)
  const status = await run(['status', '--config', rehearsal.config])
  expect(status.stdout).toMatch(/^HALTED .*HALT is there/m)
})

test('the file halts a daemon that hangs, and the command prints how to kill it', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  daemon.signal('SIGSTOP')
  const halted = await run(['halt', '--config', rehearsal.config])
  expect(halted.code).toBe(0)
  expect(halted.stdout).toMatch(/halted everything in .*HALT is in place/)
  expect(halted.stderr).toMatch(/does not answer\. It checks for the file before each signature/)
  expect(halted.stderr).toContain(`kill -9 ${daemon.pid} `)
  const signed = await permits(rehearsal)
  daemon.signal('SIGCONT')
  await daemon.sees(/halted everything: .*HALT is there/)
  expect((await daemon.stop()).code).toBe(0)
  expect(await permits(rehearsal)).toBeLessThanOrEqual(signed + 1)
})

test('halt reaches a daemon whose socket path would be too long for the kernel', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const stateDir = join(rehearsal.dir, 'a-long-name-'.repeat(12), 'state')
  const daemon = rehearsal.daemon(['--state-dir', stateDir])
  await daemon.sees(/filled buy-weth/)
  const at = ['--config', rehearsal.config, '--state-dir', stateDir, '--json']
  expect(outputOf('pause', (await run(['pause', ...at])).stdout)).toMatchObject({ ok: true })
  expect(outputOf('halt', (await run(['halt', ...at])).stdout)).toMatchObject({ isAnswered: true })
  await daemon.sees(/halted everything/)
  expect((await daemon.stop()).code).toBe(0)
})

/** `halt` beside a config that does not load, without a daemon. */
function haltBeside(config: string, text: string): Promise<Ended> {
  mkdirSync(join(config, '..'), { recursive: true })
  writeFileSync(config, text)
  return run(['halt', '--config', config])
}

test('halt works beside a config that does not load, except where the state directory is unknown', async () => {
  const dir = temporaryDirectory()
  const config = join(dir, 'live.yaml')
  const stateDir = join(dir, 'data')
  const file = join(stateDir, 'HALT')
  mkdirSync(stateDir, { mode: 0o700 })
  for (const text of [
    `mode: live\nstateDir: ./data\nchains: { base: { rpcUrls: ["$\{UNSET_URL}"] } }\n`,
    'mode: live\nstateDir: ./data\nstrategeisDir: ./x\n',
    'mode: live\nstateDir: ./data\ntokens: [\n',
  ]) {
    const { code, stdout } = await haltBeside(config, text)
    expect(code).toBe(0)
    expect(stdout).toContain(`halted everything in ${stateDir}`)
    expect(existsSync(file)).toBe(true)
    rmSync(file)
  }
  const unclear = await haltBeside(config, 'mode: live\nstatDir: ./data\n')
  expect(unclear.code).toBe(1)
  expect(unclear.stderr).toContain('nothing is halted. Name it: tranched halt --state-dir')
  const missing = await run(['halt', '--state-dir', join(dir, 'dta')])
  expect(missing.code).toBe(1)
  expect(missing.stderr).toMatch(/^NOT halted: .*dta\/HALT could not be created/)
  expect(existsSync(file)).toBe(false)
})
