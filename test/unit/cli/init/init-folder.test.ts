import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../../../../src/config/settings/load-settings.ts'
import { SANDBOX_TEMPLATE } from '../../../../src/sandbox/template.ts'
import { loadModules } from '../../../../src/strategies/files/load-modules.ts'
import { loadStrategies } from '../../../../src/strategies/files/load-strategies.ts'
import { KIND_NAMES } from '../../../../src/strategies/registry.ts'
import { moduleHost } from '../../../support/modules.ts'
import { outputOf } from '../../../support/output-of.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { plain } from '../../config/config-fixture.ts'
import { filesIn, initFor, textsIn } from './init-fixture.ts'

const ENV = {
  BASE_RPC_URL: 'https://rpc.example',
  GASLESS_URL: 'https://swap.example',
  GASLESS_SPENDER: '0x00000000000000000000000000000000000000aa',
}
const SCHEMA_LINE = /^# yaml-language-server: \$schema=(\S+)$/m

/** Loads a config of a folder as the daemon does, with the messages about all its files. */
async function loadedBy(file: string) {
  const loaded = loadSettings({ file, env: ENV, sandbox: SANDBOX_TEMPLATE })
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  const { settings } = loaded
  const strategies = loadStrategies({ dir: settings.strategiesDir, settings })
  if (!strategies.ok) throw new Error(strategies.problems.map(plain).join('\n'))
  const { start } = await moduleHost()
  const problems = await loadModules(strategies.strategies, settings, start)
  const messages = [...loaded.warnings, ...strategies.warnings, ...problems].map(plain)
  const on = strategies.strategies.filter(({ enabled }) => enabled).map(({ kind }) => kind)
  const kinds = strategies.strategies.map(({ kind }) => kind)
  return { settings, messages, on: on.sort(), kinds: kinds.sort() }
}

const ALL = KIND_NAMES.toSorted()

describe.each([
  ['live', 'config/live.yaml', []],
  ['dry-run', 'config/dry-run.yaml', ALL.filter((kind) => kind !== 'call')],
  ['sandbox', undefined, []],
] as const)('a folder of --mode %s', (mode, beside, on) => {
  test('loads without problems or warnings, with one strategy of each kind', async () => {
    const dir = temporaryDirectory()
    await initFor({ dir, kinds: 'all', mode })
    const sandbox = await loadedBy(join(dir, 'config/sandbox.yaml'))
    expect(sandbox).toMatchObject({ messages: [], kinds: ALL, on: ALL })
    const configs = filesIn(dir).filter((file) => /^config\/[\w-]+\.yaml$/.test(file))
    const wanted = [...(beside === undefined ? [] : [beside]), 'config/sandbox.yaml']
    expect(configs).toEqual(wanted.sort())
    if (beside === undefined) return
    // Strategies that trade real money are off until the operator has read them.
    const loaded = await loadedBy(join(dir, beside))
    expect(loaded).toMatchObject({ messages: [], kinds: ALL, on, settings: { mode } })
    expect(loaded.settings.stateDir).toBe(join(dir, 'data', mode))
  })

  test('names an existing schema in every file, and no file of another folder', async () => {
    const dir = temporaryDirectory()
    await initFor({ dir, kinds: 'all', mode })
    const yaml = Object.entries(textsIn(dir)).filter(([file]) => file.endsWith('.yaml'))
    expect(yaml.length).toBeGreaterThanOrEqual(beside === undefined ? 7 : 14)
    for (const [file, text] of yaml) {
      const [, schema = ''] = SCHEMA_LINE.exec(text) ?? []
      const named = JSON.parse(readFileSync(join(dir, dirname(file), schema), 'utf8'))
      const whose = file.startsWith('config/') ? 'config' : 'strategy'
      const shipped = readFileSync(`config/schema/${whose}.json`, 'utf8')
      expect([file, named]).toEqual([file, JSON.parse(shipped)])
    }
    expect(yaml.map(([, text]) => text).join('\n')).not.toMatch(/your\.yaml|Copy it/)
  })
})

test('the pm2 file of a folder finds the program that made it, with none on the PATH', async () => {
  const dir = temporaryDirectory()
  await initFor({ dir, kinds: 'dca' })
  const file = join(dir, 'ecosystem.config.cjs')
  const path = process.env['PATH']
  try {
    process.env['PATH'] = '/nothing/here'
    const { apps } = createRequire(import.meta.url)(file) as { apps: [{ script: string }] }
    expect(apps[0].script).toBe(join(process.cwd(), 'dist/tranched.js'))
  } finally {
    process.env['PATH'] = path
  }
})

test('only the owner can write the folder and read its keys', async () => {
  const dir = temporaryDirectory()
  const before = process.umask(0)
  try {
    await initFor({ dir, kinds: 'all' })
  } finally {
    process.umask(before)
  }
  for (const file of filesIn(dir)) expect(statSync(join(dir, file)).mode & 0o022).toBe(0)
  for (const folder of ['config', 'strategies', 'strategies/modules'])
    expect(statSync(join(dir, folder)).mode & 0o022).toBe(0)
  expect(statSync(join(dir, 'keys')).mode & 0o777).toBe(0o700)
})

describe('init over existing files', () => {
  test('keeps a file, reports it as kept, and writes the missing files', async () => {
    const dir = temporaryDirectory()
    mkdirSync(join(dir, 'config'))
    writeFileSync(join(dir, 'config/live.yaml'), '# mine now\n')
    const { stdout } = await initFor({ dir })
    expect(stdout).toMatch(/^ {2}kept +config\/live\.yaml \(it already existed\)$/m)
    expect(stdout).toMatch(/^ {2}wrote +config\/sandbox\.yaml$/m)
    expect(readFileSync(join(dir, 'config/live.yaml'), 'utf8')).toBe('# mine now\n')
    const before = textsIn(dir)
    const again = JSON.parse((await initFor({ dir, json: true })).stdout)
    expect(again.written).toEqual([])
    expect(again.kept).toHaveLength(Object.keys(before).length)
    expect(textsIn(dir)).toEqual(before)
  })

  test("overwrites a file under --force if its first line is init's, and saves the old one as .old", async () => {
    const dir = temporaryDirectory()
    await initFor({ dir })
    const fresh = textsIn(dir)
    const filled = `${fresh['config/live.yaml']}# filled in\n`
    writeFileSync(join(dir, 'config/live.yaml'), filled)
    writeFileSync(join(dir, 'README.md'), '# A project of mine\n')
    const { stdout } = await initFor({ dir, force: true, json: true })
    expect(outputOf('init', stdout)).toMatchObject({
      written: ['config/live.yaml'],
      saved: ['config/live.yaml.old'],
    })
    expect(textsIn(dir)).toEqual({
      ...fresh,
      'config/live.yaml.old': filled,
      'README.md': '# A project of mine\n',
    })
    const shown = (await initFor({ dir, force: true })).stdout
    expect(shown).toMatch(/kept +README\.md \(its first line is not `# A folder for tranched`/)
  })

  test('never touches keys, data, passwords, anchors and .env, even under --force', async () => {
    const dir = temporaryDirectory()
    await initFor({ dir })
    const secrets = ['keys/trader.json', 'keys/README.md', 'data/live/state.json']
    secrets.push('data/live.yaml', 'config/trader.pass', 'trader.anchor', '.env')
    for (const file of secrets) {
      mkdirSync(dirname(join(dir, file)), { recursive: true })
      writeFileSync(join(dir, file), `mine: ${file}\n`, { mode: 0o600 })
    }
    chmodSync(join(dir, 'keys'), 0o500)
    const before = textsIn(dir)
    const { code } = await initFor({ dir, kinds: 'all', force: true })
    expect(code).toBe(0)
    const after = textsIn(dir)
    for (const file of secrets) expect(after[file]).toBe(before[file])
    const within = (texts: object) =>
      Object.keys(texts).filter((file) => /^(keys|data)\//.test(file))
    expect(within(after)).toEqual(within(before))
    expect(statSync(join(dir, 'keys')).mode & 0o777).toBe(0o500)
  })

  test.each(['keys', 'data'])('does not follow links that lead into %s', async (secret) => {
    const dir = temporaryDirectory()
    mkdirSync(join(dir, secret, 'inner'), { recursive: true })
    writeFileSync(join(dir, secret, 'live.yaml'), 'kept\n')
    symlinkSync(secret, join(dir, 'config'))
    symlinkSync(join(dir, secret, 'inner'), join(dir, 'strategies'))
    const { stdout } = await initFor({ dir, force: true })
    expect(filesIn(join(dir, secret))).toEqual(['live.yaml'])
    expect(existsSync(join(dir, secret, 'schema'))).toBe(false)
    expect(readFileSync(join(dir, secret, 'live.yaml'), 'utf8')).toBe('kept\n')
    expect(stdout).toContain(`kept   config/live.yaml (it would be in ${secret}/`)
  })

  test('does not replace a link', async () => {
    const dir = temporaryDirectory()
    const elsewhere = join(temporaryDirectory(), 'shared.yaml')
    writeFileSync(elsewhere, '# yaml-language-server: $schema=./schema/config.json\nmode: live\n')
    mkdirSync(join(dir, 'config'))
    symlinkSync(elsewhere, join(dir, 'config/live.yaml'))
    const { stdout } = await initFor({ dir, force: true })
    expect(stdout).toContain('config/live.yaml (it is not a regular file)')
    expect(readFileSync(elsewhere, 'utf8')).toMatch(/mode: live\n$/)
  })
})

test('init in live mode lists the enabled strategies that would trade real money', async () => {
  const dir = temporaryDirectory()
  await initFor({ dir, kinds: 'dca,call', mode: 'dry-run' })
  const { stdout } = await initFor({ dir, kinds: 'dca,call', mode: 'live', json: true })
  expect(outputOf('init', stdout)).toMatchObject({ on: ['strategies/weekly-eth.yaml'] })
  const shown = (await initFor({ dir, kinds: 'dca,call' })).stdout
  expect(shown).toMatch(/^ {2}on +strategies\/weekly-eth\.yaml: config\/live\.yaml trades it/m)
  const fresh = await initFor({ dir: temporaryDirectory(), kinds: 'all', json: true })
  expect(outputOf('init', fresh.stdout)).toMatchObject({ on: [] })
})
