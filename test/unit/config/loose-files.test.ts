import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { withModules } from '../../../src/cli/compose/modules.ts'
import { loadAll } from '../../../src/cli/load-files.ts'
import { looseFiles } from '../../../src/config/loose-files.ts'
import { ROOT } from '../../support/process/cli.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const MODULE = `export const schema = { safeParse: (data) => ({ success: true, data }) }
export const decide = () => ({ skip: 'no' })
`

/** All files of a live daemon, with correct permissions. */
function stage() {
  const dir = temporaryDirectory()
  const at = (...names: readonly string[]) => join(dir, ...names)
  for (const name of ['strategies', 'strategies/own', 'keys', 'state', 'state/journal'])
    mkdirSync(at(name), { mode: name.startsWith('state') ? 0o700 : 0o755 })
  const write = (name: string, text: string, mode = 0o644) =>
    writeFileSync(at(name), text, { mode })
  const example = parse(readFileSync(join(ROOT, 'config/live.example.yaml'), 'utf8'))
  const settings = {
    ...example,
    stateDir: './state',
    strategiesDir: './strategies',
    wallets: { trader: { keystore: './keys/trader.json', passwordFile: './keys/trader.pass' } },
    chains: { base: { chainId: 8453, rpcUrls: ['https://node.example'] } },
  }
  settings.gasless.baseUrl = 'https://swap.example'
  settings.gasless.spenders = [`0x${'5e'.repeat(20)}`]
  const configure = (changes: object) => write('live.yaml', stringify({ ...settings, ...changes }))
  configure({})
  const strategy = {
    name: 'own',
    kind: 'custom',
    schedule: { cron: '0 9 * * *' },
    tokens: ['USDC', 'WETH'],
    module: './own/decide.mjs',
    limits: { perDay: { USDC: '1' } },
  }
  write('strategies/own.yaml', stringify(strategy))
  write('strategies/own/decide.mjs', MODULE)
  write('strategies/own/beside.mjs', '')
  for (const name of [
    'keys/trader.json',
    'keys/trader.pass',
    'keys/trader.anchor',
    'state/journal/1.jsonl',
    'state/lock',
  ])
    write(name, '', 0o600)
  const io = { env: {} } as Parameters<typeof loadAll>[1]
  const load = () => withModules((modules) => loadAll({ config: at('live.yaml') }, io, modules))
  /** The reported files, without the directory of the test. */
  const loose = async (): Promise<readonly string[]> => {
    const loaded = await load()
    const problems = loaded.ok ? loaded.warnings : loaded.problems
    return problems.map(({ file, expected }) =>
      `${file}: ${expected}`.replaceAll(dir, '').replace(/^: /, '/: '),
    )
  }
  return { dir, at, settings, configure, load, loose }
}

test('files that only their owner can write, with private keys and state, pass', async () => {
  expect((await stage().load()).ok).toBe(true)
})

describe('live mode does not start if others can write', () => {
  test.each([
    ['the config', 'live.yaml', 0o666, 'chmod go-w'],
    ['a strategy', 'strategies/own.yaml', 0o664, 'chmod go-w'],
    ['the directory of the strategies', 'strategies', 0o777, 'chmod go-w'],
    ['the same, sticky, where they can add one', 'strategies', 0o1777, 'chmod go-w'],
    ['a module', 'strategies/own/decide.mjs', 0o646, 'chmod go-w'],
    ['a file that a module may import', 'strategies/own/beside.mjs', 0o666, 'chmod go-w'],
    ['the folder of a module', 'strategies/own', 0o775, 'chmod go-w'],
    ['the state, or read it', 'state', 0o750, 'chmod go-rwx'],
    ['a file of the state, or read it', 'state/journal/1.jsonl', 0o640, 'chmod go-rwx'],
    ['a keystore, or read it', 'keys/trader.json', 0o604, 'chmod go-rwx'],
    ['an anchor', 'keys/trader.anchor', 0o666, 'chmod go-w'],
    ['a password, or read it', 'keys/trader.pass', 0o620, 'chmod go-rwx'],
    ['the directory of the keys', 'keys', 0o777, 'chmod go-w'],
  ])('%s', async (_what, name, mode, remedy) => {
    const { at, load, loose } = stage()
    chmodSync(at(name), mode)
    expect(await load()).toMatchObject({ ok: false })
    expect(await loose()).toEqual([`/${name}: ${remedy} /${name}`])
  })
})

test('a parent directory counts too, unless its sticky bit protects the files of others', async () => {
  const { dir, load } = stage()
  chmodSync(dir, 0o777)
  const loaded = await load()
  expect(loaded.ok ? [] : loaded.problems).toMatchObject([
    { file: dir, message: 'group or others may replace what is in this directory' },
  ])
  chmodSync(dir, 0o1777)
  expect((await load()).ok).toBe(true)
})

test('links are followed to their targets, including the path there', async () => {
  const { at, load, loose } = stage()
  mkdirSync(at('elsewhere'), { mode: 0o755 })
  renameSync(at('strategies'), at('elsewhere/strategies'))
  symlinkSync('elsewhere/strategies', at('strategies'))
  expect((await load()).ok).toBe(true)
  chmodSync(at('elsewhere'), 0o777)
  chmodSync(at('elsewhere/strategies/own.yaml'), 0o666)
  expect((await loose()).toSorted()).toEqual([
    '/elsewhere/strategies/own.yaml: chmod go-w /elsewhere/strategies/own.yaml',
    '/elsewhere: chmod go-w /elsewhere',
  ])
})

test.skipIf(process.getuid?.() !== 0)(
  'files of another user count, and files of root do not',
  async () => {
    const { at, loose } = stage()
    chownSync(at('live.yaml'), 1234, 1234)
    chownSync(at('state/lock'), 1234, 1234)
    expect(await loose()).toEqual([
      '/live.yaml: chown 0 /live.yaml',
      '/state/lock: chown 0 /state/lock',
    ])
  },
)

test('a module that others can write is never loaded', async () => {
  const { at, loose } = stage()
  writeFileSync(at('strategies/own/decide.mjs'), `throw new Error('it ran')`)
  expect(await loose()).toEqual([expect.not.stringContaining('chmod')])
  chmodSync(at('strategies/own/decide.mjs'), 0o666)
  expect(await loose()).toEqual([expect.stringContaining('chmod')])
})

describe("packages above a module's folder, which it can load", () => {
  /** Adds a package in `strategies/node_modules`, which the module imports. */
  function withPackage() {
    const staged = stage()
    const { at } = staged
    mkdirSync(at('strategies/node_modules/far'), { recursive: true, mode: 0o755 })
    writeFileSync(at('strategies/node_modules/far/package.json'), '{"main":"index.js"}')
    writeFileSync(at('strategies/node_modules/far/index.js'), 'exports.size = 1')
    writeFileSync(at('strategies/own/decide.mjs'), `import 'far'\n${MODULE}`)
    return staged
  }

  test('pass with correct permissions', async () => {
    expect((await withPackage().load()).ok).toBe(true)
  })

  test.each([
    ['the packages folder', 'strategies/node_modules', 0o777],
    ['the folder of a package', 'strategies/node_modules/far', 0o777],
    ['the manifest of a package', 'strategies/node_modules/far/package.json', 0o666],
    ['the code of a package', 'strategies/node_modules/far/index.js', 0o646],
  ])('count with %s', async (_what, name, mode) => {
    const { at, load, loose } = withPackage()
    chmodSync(at(name), mode)
    expect(await load()).toMatchObject({ ok: false })
    expect(await loose()).toEqual([`/${name}: chmod go-w /${name}`])
  })

  test('count at the targets of links, to the packages folder and to a package', async () => {
    const { at, load, loose } = withPackage()
    renameSync(at('strategies/node_modules'), at('packages'))
    symlinkSync('../packages', at('strategies/node_modules'))
    renameSync(at('packages/far'), at('packages/.far'))
    symlinkSync('.far', at('packages/far'))
    expect((await load()).ok).toBe(true)
    chmodSync(at('packages/.far/index.js'), 0o666)
    expect(await loose()).toEqual(['/packages/.far/index.js: chmod go-w /packages/.far/index.js'])
  })

  test("count at a link that leads out of the module's reach, since its manifest names the code", async () => {
    const { at, loose } = withPackage()
    mkdirSync(at('linked'), { mode: 0o755 })
    renameSync(at('strategies/node_modules/far'), at('linked/far'))
    symlinkSync('../../linked/far', at('strategies/node_modules/far'))
    chmodSync(at('linked/far/package.json'), 0o666)
    expect(await loose()).toEqual(['/linked/far/package.json: chmod go-w /linked/far/package.json'])
  })

  test('count from the real location of a linked module, with the files beside it', async () => {
    const { at, load, loose } = withPackage()
    for (const name of ['real', 'real/own', 'real/node_modules'])
      mkdirSync(at(name), { mode: 0o755 })
    renameSync(at('strategies/own/decide.mjs'), at('real/own/decide.mjs'))
    renameSync(at('strategies/node_modules/far'), at('real/node_modules/far'))
    symlinkSync('../../real/own/decide.mjs', at('strategies/own/decide.mjs'))
    writeFileSync(at('real/own/beside.mjs'), '')
    expect((await load()).ok).toBe(true)
    chmodSync(at('real/own/beside.mjs'), 0o666)
    chmodSync(at('real/node_modules/far/index.js'), 0o666)
    expect((await loose()).toSorted()).toEqual([
      '/real/node_modules/far/index.js: chmod go-w /real/node_modules/far/index.js',
      '/real/own/beside.mjs: chmod go-w /real/own/beside.mjs',
    ])
  })

  test('are summarised if most are loose', async () => {
    const { at, loose } = withPackage()
    for (let file = 0; file < 30; file += 1) {
      const name = at(`strategies/node_modules/far/${file}.js`)
      writeFileSync(name, '')
      chmodSync(name, 0o666)
    }
    const reported = await loose()
    expect(reported).toHaveLength(11)
    const all = '/strategies/node_modules'
    expect(reported.at(-1)).toBe(`${all}: chmod -R go-w ${all}`)
  })
})

test('a HALT file may be writable by anyone', async () => {
  const { at, load } = stage()
  writeFileSync(at('state/HALT'), '', { mode: 0o644 })
  chmodSync(at('state/HALT'), 0o666)
  expect((await load()).ok).toBe(true)
})

test('loose files are a warning outside live mode', async () => {
  const { at, configure, load, loose } = stage()
  configure({ mode: 'dry-run' })
  chmodSync(at('live.yaml'), 0o666)
  expect((await load()).ok).toBe(true)
  expect(await loose()).toContain('/live.yaml: chmod go-w /live.yaml')
})

test('missing files are not loose', () => {
  const { settings, dir } = stage()
  const nowhere = join(dir, 'nowhere')
  const found = looseFiles(
    {
      ...settings,
      file: nowhere,
      stateDir: nowhere,
      journal: { archive: nowhere, keepFiles: 2 },
      strategiesDir: nowhere,
      wallets: new Map(),
      anchors: new Map(),
    },
    [],
    () => [],
  )
  expect(found).toEqual([])
})
