import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { aFolder, hoursOf } from '../unit/cli/backtest/backtest-fixture.ts'

const PRICES = hoursOf(Array.from({ length: 8 }, (_, at) => [at - 1, 2_000 + at] as const))
const KEY = `0x${'c0ffee11'.repeat(8)}\n`
const PERIOD = ['--from', '2025-01-01', '--to', '2025-01-01T05:00', '--balance', 'USDC=1000']

/** A folder with a config that names a key, and a backtest that writes its report to the given path. */
function folder() {
  const { dir } = aFolder({ 'WETH-USDC.csv': PRICES })
  const config = join(dir, 'config.yaml')
  const text = readFileSync(config, 'utf8')
  const named = text.replace('privateKeyEnv: TRADER_KEY', 'privateKeyFile: ./trader.key')
  expect(named).not.toBe(text)
  writeFileSync(config, named)
  writeFileSync(join(dir, 'trader.key'), KEY, { mode: 0o600 })
  const html = (file: string, ...more: readonly string[]) =>
    run(
      ['backtest', '--config', config, ...PERIOD, '--prices', 'prices', '--html', file, ...more],
      { cwd: dir },
    )
  return { dir, html }
}

describe('backtest --html', () => {
  test('writes a new file and replaces its own report', async () => {
    const { dir, html } = folder()
    expect(await html('report.html')).toMatchObject({ code: 0 })
    const first = readFileSync(join(dir, 'report.html'), 'utf8')
    expect(await html('report.html', '--spread', '5')).toMatchObject({ code: 0 })
    expect(readFileSync(join(dir, 'report.html'), 'utf8')).not.toBe(first)
    expect(readdirSync(dir).filter((name) => name.includes('report'))).toEqual(['report.html'])
  })

  test.each([
    ['trader.key', /names this as its own/],
    ['./strategies/../trader.key', /names this as its own/],
    ['config.yaml', /names this as its own/],
    ['state/report.html', /there is no directory|names this as its own/],
  ])('never overwrites a path that the config names: %s', async (file, says) => {
    const { dir, html } = folder()
    const before = readFileSync(join(dir, 'config.yaml'), 'utf8')
    for (const more of [[], ['--force']]) {
      const { code, stderr } = await html(file, ...more)
      expect([code, stderr]).toEqual([2, expect.stringMatching(says)])
    }
    expect(readFileSync(join(dir, 'trader.key'), 'utf8')).toBe(KEY)
    expect(readFileSync(join(dir, 'config.yaml'), 'utf8')).toBe(before)
    expect(existsSync(join(dir, 'state'))).toBe(false)
  })

  test("leaves another file and a link alone without --force, and a link's target even with it", async () => {
    const { dir, html } = folder()
    writeFileSync(join(dir, 'notes.txt'), 'mine')
    symlinkSync('notes.txt', join(dir, 'link.html'))
    for (const file of ['notes.txt', 'link.html', 'strategies/hourly.yaml']) {
      const { code, stderr } = await html(file)
      expect([file, code, stderr]).toEqual([file, 2, expect.stringContaining('--force')])
    }
    expect(await html('link.html', '--force')).toMatchObject({ code: 0 })
    expect(readFileSync(join(dir, 'notes.txt'), 'utf8')).toBe('mine')
    expect(readFileSync(join(dir, 'link.html'), 'utf8')).toContain('<!doctype html>')
  })
})

describe('a price file', () => {
  test.each([
    ['a pipe', (file: string) => spawnSync('mkfifo', [file])],
    ['a device', (file: string) => symlinkSync('/dev/zero', file)],
    ['a directory', (file: string) => mkdirSync(file)],
  ])('is refused by name when it is %s', async (_, make) => {
    const { dir } = aFolder({})
    make(join(dir, 'prices/WETH-USDC.csv'))
    const args = ['backtest', '--config', 'config.yaml', ...PERIOD, '--prices', 'prices']
    const { code, stderr } = await run(args, { cwd: dir })
    expect(code).toBe(78)
    expect(stderr).toMatch(
      /prices\/WETH-USDC\.csv: this is (not a regular file|a directory)\n {2}expected: a CSV file/,
    )
  })
})

describe('init', () => {
  test.each([
    ['a file', 'file', /file: this is not a directory\n {2}expected: a directory/],
    [
      'a path below a file',
      'file/below',
      /file: this is not a directory\n {2}expected: a directory/,
    ],
    ['a dangling link', 'dangling', /dangling: this is not a directory/],
    [
      'a path where no directory can be created',
      '/proc/none',
      /\/proc\/none: no directory can be made there/,
    ],
  ])('rejects %s with a clear error', async (_, directory, says) => {
    const dir = temporaryDirectory()
    writeFileSync(join(dir, 'file'), 'mine')
    symlinkSync('nowhere', join(dir, 'dangling'))
    const { code, stderr } = await run(['init', directory, '--yes'], { cwd: dir })
    expect([code, stderr]).toEqual([1, expect.stringMatching(says)])
    expect(readdirSync(dir)).toEqual(['dangling', 'file'])
    expect(readFileSync(join(dir, 'file'), 'utf8')).toBe('mine')
  })
})

describe('a key file', () => {
  test('is refused, without waiting, when it is a pipe without a writer', async () => {
    const dir = temporaryDirectory()
    expect(spawnSync('mkfifo', ['-m', '600', join(dir, 'pipe')]).status).toBe(0)
    const { code, stderr } = await run(['wallet', 'address', '--private-key-file', 'pipe'], {
      cwd: dir,
    })
    expect([code, stderr]).toEqual([1, expect.stringContaining('pipe is no regular file')])
  })
})

describe('sandbox --config-out --force', () => {
  const forced = (dir: string, file: string) =>
    run(['sandbox', '--config-out', file, '--force', '--for', '1ms'], { cwd: dir })

  test("leaves a key beside a foreign config alone, and a key in the config's path", async () => {
    const dir = temporaryDirectory()
    writeFileSync(join(dir, 'trader.key'), KEY)
    writeFileSync(join(dir, 'real.key'), KEY)
    writeFileSync(join(dir, 'live.yaml'), 'gasless: { baseUrl: "https://swap.example" }\n')
    for (const [file, says] of [
      ['live.yaml', /trader\.key is there, and .*live\.yaml is not the config of a sandbox/],
      ['new.yaml', /trader\.key is there, and .*new\.yaml is not the config of a sandbox/],
      ['real.key', /real\.key holds a private key/],
      ['trader.key', /trader\.key is the name of a key/],
    ] as const) {
      const { code, stderr } = await forced(dir, file)
      expect([file, code, stderr]).toEqual([file, 1, expect.stringMatching(says)])
    }
    expect(readFileSync(join(dir, 'trader.key'), 'utf8')).toBe(KEY)
    expect(readFileSync(join(dir, 'real.key'), 'utf8')).toBe(KEY)
  })

  test('replaces the files of an earlier sandbox', async () => {
    const dir = temporaryDirectory()
    expect(await forced(dir, 'live.yaml')).toMatchObject({ code: 0 })
    const before = readFileSync(join(dir, 'trader.key'), 'utf8')
    expect(await forced(dir, 'live.yaml')).toMatchObject({ code: 0 })
    expect(readFileSync(join(dir, 'trader.key'), 'utf8')).not.toBe(before)
  })
})
