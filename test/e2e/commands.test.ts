import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { audit, mentionsKey } from './audit.ts'
import { everySecond, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

test('status and history agree between a running daemon and a stopped one', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const command = (...args: string[]) => run([...args, '--config', rehearsal.config])
  const early = await command('status')
  expect([early.code, early.stderr]).toEqual([1, expect.stringMatching(/there is no state here/)])

  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const running = await command('status')
  expect(running.code).toBe(0)
  expect(running.stdout).toMatch(new RegExp(`^running for .*, pid ${daemon.pid} \\(live, state in`))
  expect(running.stdout).toMatch(/^buy-weth +\d+ +[\d,]+\/[\d,]+ USDC +in \d+s +(?:filled|-)/m)
  const asData = JSON.parse((await command('status', '--json')).stdout)
  expect(asData.running.pid).toBe(daemon.pid)
  expect(asData.wallet).toBe(rehearsal.report.trader.toLowerCase())
  expect(JSON.parse((await command('history', '--json')).stdout).slots.length).toBeGreaterThan(0)
  expect((await daemon.stop()).code).toBe(0)

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  const stopped = await command('status')
  expect(stopped.stdout).toMatch(/^not running \(live, state in/)
  expect(stopped.stdout).toMatch(
    new RegExp(`^buy-weth +${audited.fills} +${audited.fills * 25}/[\\d,]+ USDC `, 'm'),
  )
  const { slots } = JSON.parse((await command('history', '--json', '--limit', '1000')).stdout)
  const filled = slots.filter((slot: { outcome: string }) => slot.outcome === 'filled')
  expect(filled).toHaveLength(audited.fills)
  expect(filled[0]).toMatchObject({ strategy: 'buy-weth', attempts: 1 })
  expect(filled[0].fills[0].paid).toEqual({ amount: '25', token: 'USDC' })
  const proven = filled.map(({ fills }: { fills: { txHash: string }[] }) => fills[0]?.txHash)
  expect(new Set(proven)).toEqual(new Set(audited.orders.map(({ txHash }) => txHash)))
  const lines = (await command('history')).stdout
  expect(lines).toMatch(
    /^\d{4}-\d\d-\d\d [\d:]+ {2}buy-weth:\d+ {2}filled {3}25 USDC -> 0\.\d+ WETH/m,
  )
  const slip = await command('history', '--strategy', 'buy-wet')
  expect([slip.code, slip.stderr]).toEqual([
    1,
    'history: no strategy is called buy-wet; did you mean buy-weth?\n',
  ])
  expect((await command('why', 'buy-wet')).stderr).toContain('did you mean buy-weth?')
})

test('--json keeps stdout for data and moves the log to stderr', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { code, stdout, stderr } = await rehearsal.daemon(['--json', '--for', '1s']).ended()
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ ok: true, message: 'the run is over', problems: [] })
  // The first line of a log names the program that wrote it.
  const [first = '{}'] = stderr.split('\n')
  expect(JSON.parse(first)).toMatchObject({
    event: 'starting',
    msg: expect.stringMatching(/^tranched \d/),
  })
  expect(stderr).toMatch(/strategy buy-weth/)
})

test('--version prints the package version, and every command has help', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { code, stdout } = await run(['--version'])
  const [, named, commit = ''] = /^tranched (\S+)(?: \((\S+)\))?\n$/.exec(stdout) ?? []
  expect([code, named]).toEqual([0, version])
  expect(commit).toMatch(/^([0-9a-f]{7}(\+changes)?)?$/)
  const help = await run(['--help'])
  expect(help.code).toBe(0)
  const commands = [...help.stdout.matchAll(/^ {2}([a-z]+) .*\S$/gm)].map(([, name = '']) => name)
  expect(commands).toEqual(
    expect.arrayContaining(['run', 'init', 'validate', 'status', 'history', 'wallet', 'sandbox']),
  )
  for (const command of commands) {
    const { code, stdout } = await run([command, '--help'])
    expect([command, code]).toEqual([command, 0])
    expect(stdout).toMatch(/^Usage: tranched/)
  }
})

test('wallet commands create, import and show a wallet without printing its key', async () => {
  const dir = temporaryDirectory()
  const key = `0x${'7c'.repeat(32)}`
  writeFileSync(join(dir, 'pass'), 'correct horse battery staple\n', { mode: 0o600 })
  writeFileSync(join(dir, 'key'), `${key}\n`, { mode: 0o600 })
  const wallet = (...args: string[]) => run(['wallet', ...args], { cwd: dir })
  const password = ['--password-file', 'pass']

  const made = await wallet('new', '--out', 'new.json', ...password, '--json')
  expect([made.code, made.stderr]).toEqual([0, ''])
  const shown = await wallet('address', '--keystore', 'new.json', ...password)
  expect(shown.code).toBe(0)
  expect(shown.stdout).toContain(JSON.parse(made.stdout).address)
  const imported = await wallet(
    ...['import', '--private-key-file', 'key', '--out', 'imported.json', ...password],
  )
  expect(imported.code).toBe(0)
  const address = (await wallet('address', '--private-key-file', 'key')).stdout.trim()
  expect(address).toMatch(/0x[0-9a-fA-F]{40}/)
  expect(imported.stdout).toContain(/0x[0-9a-fA-F]{40}/.exec(address)?.[0])

  for (const file of ['new.json', 'imported.json'])
    expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600)
  const texts = [made, shown, imported].flatMap(({ stdout, stderr }) => [stdout, stderr])
  texts.push(readFileSync(join(dir, 'imported.json'), 'utf8'))
  expect(texts.filter((text) => mentionsKey(text, key))).toEqual([])
  const before = readFileSync(join(dir, 'new.json'))
  expect((await wallet('new', '--out', 'new.json', ...password)).code).not.toBe(0)
  expect(readFileSync(join(dir, 'new.json'))).toEqual(before)
})
