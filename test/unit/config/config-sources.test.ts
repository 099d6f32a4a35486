import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings, peekMode } from '../../../src/config/settings/load-settings.ts'
import { brief, CONFIG, edit, plain, problemsOf, settingsOf } from './config-fixture.ts'

function briefly(text: string, rest = {}): string[] {
  return problemsOf(text, rest).map(brief)
}

describe('environment variables in the file', () => {
  const text = edit(CONFIG, '"https://rpc.example"', `"https://rpc.example/\${RPC_KEY}"`)

  test('are replaced by their values', () => {
    const settings = settingsOf(text, { env: { RPC_KEY: 'k1' } })
    expect(settings.chains.get('base')?.rpcUrls).toEqual(['https://rpc.example/k1'])
  })

  test('fail by name and position if unset or empty', () => {
    const [problem, ...more] = problemsOf(text)
    expect(more).toEqual([])
    expect(problem && plain(problem)).toMatchInlineSnapshot(`
      "/etc/tranched/config.yaml:5:57 chains.base.rpcUrls[0]: the environment variable RPC_KEY is not set
        4 | chains:
        5 |   base: { chainId: 8453, rpcUrls: ["https://rpc.example/\${RPC_KEY}"] }
          |                                                         ^^^^^^^^^^
        expected: a value: \`export RPC_KEY=...\` before starting, or write it here"
    `)
    expect(problemsOf(text, { env: { RPC_KEY: '' } })).toHaveLength(1)
  })

  test('are not expanded within their values', () => {
    const settings = settingsOf(text, { env: { RPC_KEY: `\${HOME}` } })
    expect(settings.chains.get('base')?.rpcUrls).toEqual([`https://rpc.example/\${HOME}`])
  })

  test('can be escaped', () => {
    const escaped = `${CONFIG}stateDir: ./$\${HOME}\n`
    expect(settingsOf(escaped).stateDir).toBe(`/etc/tranched/\${HOME}`)
  })

  test('fail if their braces hold no name', () => {
    expect(briefly(`${CONFIG}stateDir: ./\${not a name}\n`)).toEqual([
      '21:13 stateDir: this `${` names no environment variable',
    ])
  })
})

describe('precedence', () => {
  const text = `${CONFIG}http: { port: 1000 }\nstateDir: ./from-file\n`
  const env = { TRANCHED_HTTP_PORT: '2000', TRANCHED_STATE_DIR: 'from-env' }

  test('flags override the environment, which overrides the file, which overrides defaults', () => {
    expect(settingsOf(CONFIG).http.port).toBe(9464)
    expect(settingsOf(text).http.port).toBe(1000)
    expect(settingsOf(text, { env }).http.port).toBe(2000)
    expect(settingsOf(text, { env, overrides: { httpPort: '3000' } }).http.port).toBe(3000)
  })

  test('paths of flags and environment are relative to the working directory, paths of the file to the file', () => {
    expect(settingsOf(text).stateDir).toBe('/etc/tranched/from-file')
    expect(settingsOf(text, { env }).stateDir).toBe(resolve('from-env'))
    expect(settingsOf(text, { overrides: { stateDir: 'typed' } }).stateDir).toBe(resolve('typed'))
  })

  test('an empty variable counts as unset', () => {
    expect(settingsOf(text, { env: { TRANCHED_HTTP_PORT: '' } }).http.port).toBe(1000)
  })

  test('an invalid value names its variable or flag', () => {
    const problems = [
      ...problemsOf(text, { env: { TRANCHED_LOG_LEVEL: 'inf' } }),
      ...problemsOf(text, { overrides: { httpPort: '99999' } }),
    ]
    expect(problems.map(plain)).toEqual([
      'environment variable TRANCHED_LOG_LEVEL log.level: this word is not known here\n  expected: one of: fatal, error, warn, info, debug, trace, silent\n  did you mean `info`?',
      'flag --http-port http.port: this number is out of range\n  expected: a whole number from 0 to 65535',
    ])
  })

  test('an override does not hide a section of the wrong type', () => {
    expect(briefly(`${CONFIG}http: 80\n`, { env: { TRANCHED_HTTP_PORT: '1' } })).toEqual([
      '21:7 http: this is a single value',
    ])
  })
})

describe('the mode', () => {
  test('has no default', () => {
    expect(briefly(edit(CONFIG, 'mode: dry-run\n', ''))).toEqual(['1:1 mode: this key is missing'])
  })

  test.each(['live', 'dry-run'])('cannot be changed to %s by the environment', (mode) => {
    const text = edit(CONFIG, 'dry-run', mode === 'live' ? 'dry-run' : 'live')
    expect(problemsOf(text, { env: { TRANCHED_MODE: mode } })).toMatchObject([
      { file: 'environment variable TRANCHED_MODE', path: 'mode' },
    ])
    expect(settingsOf(text).mode).not.toBe(mode)
  })

  test('may be repeated by the environment', () => {
    expect(settingsOf(CONFIG, { env: { TRANCHED_MODE: 'dry-run' } }).mode).toBe('dry-run')
  })

  test('cannot come from a variable in the file', () => {
    const text = edit(CONFIG, 'dry-run', `\${MODE}`)
    expect(briefly(text, { env: { MODE: 'live' } })).toEqual([
      '1:7 mode: the mode cannot come from a variable',
    ])
  })

  test('can be read before the rest of the file is complete', () => {
    const peek = (text: string) => peekMode({ file: 'a.yaml', readFile: () => text })
    expect(peek('mode: sandbox\n')).toEqual({ ok: true, mode: 'sandbox' })
    expect(peek('mode: sandbx\n')).toMatchObject({ problems: [{ suggestion: 'sandbox', line: 1 }] })
    expect(peek('a: 1\n')).toMatchObject({ problems: [{ path: 'mode' }] })
    expect(peek('a: [\n')).toMatchObject({ ok: false })
  })
})

describe('files', () => {
  test('a missing file is reported', () => {
    const loaded = loadSettings({ file: '/nowhere/tranched.yaml', env: {} })
    expect(loaded).toMatchObject({
      problems: [{ file: '/nowhere/tranched.yaml', line: 0, message: 'there is no such file' }],
    })
  })

  test('files are read through symlinks and rejected if too large or not text', () => {
    const dir = mkdtempSync(join(tmpdir(), 'tranched-config-'))
    try {
      const path = (name: string) => join(dir, name)
      writeFileSync(path('real.yaml'), CONFIG)
      symlinkSync(path('real.yaml'), path('link.yaml'))
      writeFileSync(path('large.yaml'), '#'.repeat(1024 * 1024 + 1))
      writeFileSync(path('binary.yaml'), Buffer.from([0xff, 0xfe, 0x00]))
      const load = (name: string) => loadSettings({ file: path(name), env: {} })
      expect(load('link.yaml').ok).toBe(true)
      expect(load('large.yaml')).toMatchObject({
        problems: [{ message: 'this file is too large' }],
      })
      expect(load('binary.yaml')).toMatchObject({
        problems: [{ message: 'this file is not UTF-8 text' }],
      })
      expect(load('.')).toMatchObject({ problems: [{ message: 'this is not a regular file' }] })
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  test('an error outside the file system is not swallowed', () => {
    const readFile = () => {
      throw new RangeError('a bug')
    }
    expect(() => loadSettings({ file: 'a.yaml', env: {}, readFile })).toThrow('a bug')
  })
})
