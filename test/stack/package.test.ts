import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join, normalize } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import {
  freePort,
  runProcess,
  sample,
  startProcess,
  temporaryDirectory,
} from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'
import { createPm2 } from './pm2.ts'

/** All allowed contents of a package, by first folder or full name. */
const PARTS = [
  ...['ARCHITECTURE.md', 'CHANGELOG.md', 'LICENSE', 'README.md', 'ecosystem.config.cjs'],
  ...['config', 'deploy', 'dist', 'docs', 'package.json', 'strategies'],
]

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] }
type Lock = {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>
}

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let clone: string
let packed: Packed
let bot: string
let env: Record<string, string>

const run = (cwd: string, line: string) =>
  runProcess('bash', ['-c', `cd '${cwd}' && ${line}`], { env })

async function done(cwd: string, line: string): Promise<string> {
  const { code, stdout, stderr } = await run(cwd, line)
  expect(code, `${line}\n${stdout}\n${stderr}`).toBe(0)
  return stdout
}

/** A clone that an operator trades from, its package, and that package installed in another folder. */
beforeAll(async () => {
  directory = await temporaryDirectory()
  clone = join(directory.path, 'clone')
  const prefix = join(directory.path, 'prefix')
  env = { PATH: [join(prefix, 'bin'), process.env['PATH']].join(delimiter) }
  await done(directory.path, `git clone --quiet --no-hardlinks '${ROOT}' clone`)
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  for (const folder of ['keys', 'data/live']) await mkdir(join(clone, folder), { recursive: true })
  for (const file of ['keys/trader.json', 'data/live/state.json', 'config/live.yaml', '.env'])
    await writeFile(join(clone, file), 'mine alone')
  const [first] = JSON.parse(await done(clone, 'npm pack --json')) as [Packed]
  packed = first
  const quiet = '--no-audit --no-fund --prefer-offline --loglevel=error'
  await done(clone, `npm install --global './${packed.filename}' --prefix '${prefix}' ${quiet}`)
  bot = join(directory.path, 'my-bot')
})

afterAll(() => directory?.remove())

test('a package holds only the files of a run, and no local files', async () => {
  const paths = packed.files.map(({ path }) => path)
  const parts = new Set(paths.map((path) => path.split('/')[0] ?? ''))
  expect([...parts].sort()).toEqual([...PARTS].sort())
  expect(paths.filter((path) => /\.map$|\.test\.|(^|\/)\.|live\.yaml/.test(path))).toEqual([])
  // A file that the package gains or loses changes this list on purpose: run this test with `-u`.
  const named = paths.map((path) => path.replace(/^(dist\/\w+\.js)\..*\.cache$/, '$1.*.cache'))
  const list = [...new Set(named)].toSorted().join('\n')
  await expect(`${list}\n`).toMatchFileSnapshot('package-files.txt')
})

test('every document in a package links only to files in it', async () => {
  const paths = new Set(packed.files.map(({ path }) => path))
  const documents = [...paths].filter((path) => path.endsWith('.md'))
  expect(documents.length).toBeGreaterThan(8)
  const dead: string[] = []
  for (const document of documents) {
    const text = await readFile(join(clone, document), 'utf8')
    for (const [, target = ''] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      if (!paths.has(normalize(join(dirname(document), target))))
        dead.push(`${document}: ${target}`)
  }
  expect(dead).toEqual([])
})

test("packing refuses and names an operator's uncommitted strategy", async () => {
  await writeFile(join(clone, 'strategies/mine.yaml'), 'name: mine\n')
  const { code, stderr } = await run(clone, 'npm pack')
  expect(code).not.toBe(0)
  expect(stderr).toContain('strategies/mine.yaml')
})

/** All other packages are bundled into the program. */
const NATIVE = ['secp256k1', '@foundry-rs/anvil-linux-amd64']

test('dependencies outside the bundle have the tested version', async () => {
  const installed = join(directory.path, 'prefix/lib/node_modules/tranched')
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  for (const name of NATIVE) {
    const manifest = await readFile(join(installed, 'node_modules', name, 'package.json'), 'utf8')
    expect(JSON.parse(manifest).version).toBe(packages[`node_modules/${name}`]?.version)
  }
  const build = await readFile(join(ROOT, 'scripts/build.mjs'), 'utf8')
  expect(build).toContain(`external: [${NATIVE.map((name) => `'${name}'`).join(', ')}]`)
})

test('an installed program starts in an empty folder and trades with the files that init wrote', async () => {
  expect(await done(directory.path, 'tranched --version')).toMatch(
    /^tranched \S+ \([0-9a-f]{7}\)$/m,
  )
  await done(directory.path, 'tranched init my-bot')
  expect(await done(bot, 'tranched validate')).toMatch(/ok \(mode sandbox, 1 strategy/)
  // The package contains everything that init may copy.
  await done(directory.path, 'tranched init every-kind --kinds all')
  const everyKind = join(directory.path, 'every-kind')
  expect(await done(everyKind, 'tranched validate')).toMatch(/6 strategies .*, 6 enabled/)
  const line = `cd '${bot}' && exec tranched run --http-port 0`
  const running = startProcess('bash', ['-c', line], env)
  await waitFor('a fill', () => /"event":"filled"/.exec(running.output())).finally(running.stop)
  expect(await running.exited).toBe(0)
  expect(running.output()).toMatch(/stopped, nothing left open/)
})

test('pm2 runs the installed program in a folder that init made', async () => {
  const port = await freePort()
  const pm2 = createPm2(join(directory.path, 'pm2'), {
    ecosystem: join(bot, 'ecosystem.config.cjs'),
    env: { ...env, TRANCHED_HTTP_PORT: `${port}` },
  })
  try {
    await pm2.start('config/sandbox.yaml')
    const { status, script } = await pm2.app()
    expect(status).toBe('online')
    expect(script).toBe(join(directory.path, 'prefix/lib/node_modules/tranched/dist/tranched.js'))
    await waitFor('a fill', async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      const fills = sample(text, 'tranched_fills_total{strategy="buy-weth",venue="gasless"}')
      return fills
    })
  } finally {
    await pm2.kill()
  }
})
