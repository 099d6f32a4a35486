import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import { freePort, sample } from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'
import { build, type Image, inLayers } from './container/builder.ts'
import { contextOf } from './container/context.ts'
import { parseDockerfile } from './container/dockerfile.ts'
import { type Container, runOnce, start, volumeOf } from './container/running.ts'
import { type Mount, openWorkshop, type Workshop } from './container/workshop.ts'

/** Files that an operator keeps in a clone that he trades from. */
const OWN = [
  ...[
    '.env',
    'live.env',
    'keys/trader.json',
    'keys/trader.pass',
    'data/live/state.json',
    'live/keys/a.hex',
  ],
  ...['config/live.yaml', 'config/prometheus/mine.yml', 'strategies/mine.yaml', 'secret.key'],
  ...['strategies/sandbox/keys/x.hex', 'scripts/.env', 'node_modules/x/index.js', '.git/config'],
]
const COMMIT = 'abcdef0'
const UID = 10001

let workshop: Workshop
let context: readonly string[]
let images: ReadonlyMap<string, Image>
const running: Container[] = []

/** The whole build, by the steps of the Dockerfile itself. */
beforeAll(async () => {
  workshop = await openWorkshop()
  const clone = join(workshop.path, 'clone')
  const sent = join(workshop.path, 'context')
  const tracked = git('ls-files', '--cached', '--others', '--exclude-standard')
  for (const file of tracked) put(file, { from: ROOT, to: clone })
  for (const file of OWN) {
    mkdirSync(dirname(join(clone, file)), { recursive: true })
    writeFileSync(join(clone, file), 'mine alone')
  }
  context = contextOf(clone)
  for (const file of context) put(file, { from: clone, to: sent })
  images = await build(parseDockerfile(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')), {
    workshop,
    context: sent,
    buildArgs: new Map([
      ['TRANCHED_COMMIT', COMMIT],
      ['NPM_CONFIG_REGISTRY', npm('config', 'get', 'registry')],
    ]),
    env: { npm_config_prefer_offline: 'true', npm_config_cache: npm('config', 'get', 'cache') },
  })
})

afterAll(async () => {
  await Promise.all(running.map((container) => container.kill()))
  await workshop?.close()
})

function git(...args: readonly string[]): readonly string[] {
  return execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' })
    .trim()
    .split('\n')
}

function npm(...args: readonly string[]): string {
  return execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}

/** Without permissions for other users, like a clone made with a umask of 077. */
function put(file: string, { from, to }: { readonly from: string; readonly to: string }): void {
  mkdirSync(dirname(join(to, file)), { recursive: true, mode: 0o700 })
  cpSync(join(from, file), join(to, file))
  chmodSync(join(to, file), 0o600)
}

function image(name: string): Image {
  const found = images.get(name)
  if (found === undefined) throw new Error(`no stage ${name}`)
  return found
}

/** Every file that an image adds to its base, with its path there. */
function filesOf({ layers }: Image): readonly { readonly path: string; readonly at: string }[] {
  return layers.flatMap((layer) =>
    readdirSync(layer, { recursive: true, encoding: 'utf8' })
      .map((path) => ({ path, at: join(layer, path) }))
      .filter(({ at }) => statSync(at, { throwIfNoEntry: false })?.isDirectory() === false),
  )
}

async function started(name: string, input: Partial<Parameters<typeof start>[1]> = {}) {
  const container = await start(image(name), { workshop, mounts: [], ...input })
  running.push(container)
  return container
}

test('a builder receives the committed files of its folders, and nothing of the operator', () => {
  expect(context.filter((file) => OWN.includes(file))).toEqual([])
  const wanted = git('ls-files', 'src', 'strategies', 'config/schema', 'config/*.yaml')
  expect(wanted.filter((file) => !context.includes(file))).toEqual([])
})

test.each(['live', 'sandbox'])(
  'the image %s holds only the program and its dependencies',
  (name) => {
    const files = filesOf(image(name))
    const paths = files.map(({ path }) => path)
    const mine = paths.filter((path) => path.startsWith('opt/tranched/'))
    const parts = new Set(mine.map((path) => path.split('/')[2]))
    expect([...parts].sort()).toEqual([
      ...['LICENSE', 'config', 'dist', 'ecosystem.config.cjs', 'node_modules', 'package.json'],
      'strategies',
    ])
    // Beside it only its user, and its name on the PATH.
    const rest = paths.filter((path) => !path.startsWith('opt/tranched/'))
    expect(
      rest.filter(
        (path) =>
          !/^etc\/\.?(pwd|passwd|group|shadow|gshadow|subuid|subgid)\b|^usr\/local\/bin\/tranched$|^var\/(log|cache)\//.test(
            path,
          ),
      ),
    ).toEqual([])
    expect(
      mine.filter((path) =>
        /\.test\.|\.map$|dist\/\.|\.git(\/|$)|\.env|live\.yaml|\.key$|\.hex$/.test(path),
      ),
    ).toEqual([])
    const own = mine.filter((path) => !path.includes('/node_modules/'))
    expect(own.filter((path) => /\.tsx?$/.test(path))).toEqual([
      'opt/tranched/strategies/modules/tranched.d.ts',
    ])
    const packages = new Set(
      mine.filter((path) => path.includes('/node_modules/')).map((path) => path.split('/')[3]),
    )
    expect(packages.has('secp256k1')).toBe(true)
    expect(packages.has('@foundry-rs')).toBe(name === 'sandbox')
    expect(packages.has('viem')).toBe(false)
    // A clone made with a umask of 077 gives the same image.
    const modes = files.filter(({ path }) => path.startsWith('opt/')).map(({ at }) => statSync(at))
    expect(
      modes.filter(
        ({ mode, uid }) => uid !== 0 || (mode & 0o022) !== 0 || (mode & 0o444) !== 0o444,
      ),
    ).toEqual([])
  },
)

test('the image describes itself and how to stop it', () => {
  const { user, labels, stopSignal, entrypoint, health } = image('live')
  expect(user).toBe(`${UID}:${UID}`)
  expect(stopSignal).toBe('SIGTERM')
  expect(entrypoint).toEqual(['tranched'])
  expect(labels.get('org.opencontainers.image.revision')).toBe(COMMIT)
  expect(health?.flags).toMatch(/--start-period=(?:[4-9]\d|\d{3,})s/)
  expect(readFileSync(inLayers(image('program'), 'etc/passwd'), 'utf8')).toMatch(
    new RegExp(`^tranched:x:${UID}:${UID}::/nonexistent:/usr/sbin/nologin$`, 'm'),
  )
})

test('the sandbox fills orders as process 1 of a read-only root, and SIGTERM ends it with nothing left', async () => {
  const port = `${await freePort()}`
  const sandbox = image('sandbox')
  const mounts = [volumeOf(sandbox, '/var/lib/tranched', 'state', workshop)]
  const env = { TRANCHED_HTTP_PORT: port }
  const health = sandbox.health?.command ?? []
  const container = await started('sandbox', { mounts, env })
  const { output, exited } = container.process
  const said = (error: unknown) => {
    throw new Error(output().slice(-3_000), { cause: error })
  }
  await waitFor('a fill', async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const fills = sample(text, 'tranched_fills_total{strategy="buy-weth",venue="gasless"}')
    return fills
  }).catch(said)
  expect(output()).toContain(`(${COMMIT})`)

  const about = readFileSync(`/proc/${container.pid}/status`, 'utf8')
  expect(/^NSpid:.*\t1$/m.test(about)).toBe(true)
  expect(/^Uid:\t(.*)$/m.exec(about)?.[1]).toBe(Array(4).fill(UID).join('\t'))
  expect(/^CapBnd:\t(\w+)$/m.exec(about)?.[1]).toMatch(/^0+$/)
  expect(container.processes().filter((each) => each.endsWith(' Z'))).toEqual([])
  expect(writable(container.pid)).toEqual(['/tmp', '/var/lib/tranched'])

  expect(await container.exec(health)).toMatchObject({ code: 0 })
  const status = ['tranched', 'status', '--config', 'config/sandbox.yaml']
  expect(await container.exec(status)).toMatchObject({ code: 0, stderr: '' })
  // Other containers see its claim on the state, although its process id means nothing there.
  const backup = volumeOf(sandbox, '/var/lib/tranched', 'backup', workshop)
  const beside = {
    workshop,
    mounts: [...mounts, { ...backup, at: '/mnt' }],
    env: { TRANCHED_HTTP_PORT: '0' },
  }
  const [second, copied] = await Promise.all([
    runOnce(sandbox, beside),
    runOnce(sandbox, { ...beside, argv: ['tranched', 'state', 'backup', '/mnt/today'] }),
  ])
  expect(second).toMatchObject({
    code: 75,
    stderr: expect.stringContaining('in another container'),
  })
  expect(copied).toMatchObject({ code: 0 })
  container.signal('SIGTERM')
  expect(await exited, output().slice(-2_000)).toBe(0)
  // Orders that were not signed yet may be left to the next start.
  expect(output()).toMatch(/"event":"daemon-stopped"/)
  expect(() => process.kill(container.pid, 0)).toThrow(/ESRCH/)
  expect(await runOnce(sandbox, { workshop, mounts: [], env, argv: health })).toMatchObject({
    code: 1,
  })
  const state = join(mounts[0]?.from ?? '', 'journal')
  expect(statSync(dirname(state)).uid).toBe(UID)
  expect(statSync(dirname(state)).mode & 0o777).toBe(0o700)
})

/** Writable file systems other than the kernel's own views. */
function writable(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/mounts`, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, at = '', , options = '']) => /^rw\b/.test(options) && !/^\/(dev|proc)\b/.test(at))
    .flatMap(([, at = '']) => at)
    .sort()
}

/** Makes a trading folder with the image alone, as docs/deployment.md says, and fills in the operator's values. */
async function liveFolder(): Promise<Mount> {
  const from = join(workshop.path, 'volumes/my-bot')
  mkdirSync(from, { mode: 0o700 })
  chownSync(from, UID, UID)
  const mount = { from, at: '/etc/tranched' }
  const ran = async (line: string) => {
    const argv = ['sh', '-c', line]
    expect(await runOnce(image('live'), { workshop, mounts: [mount], argv })).toMatchObject({
      code: 0,
    })
  }
  await ran('tranched init . --kinds dca --mode live --yes')
  await ran('umask 077 && head -c 24 /dev/urandom | base64 > keys/trader.pass')
  await ran('tranched wallet new --out keys/trader.json --password-file keys/trader.pass')
  const config = join(from, 'config/live.yaml')
  const anchor = 'stateAnchor: /var/lib/tranched-anchor/trader.anchor'
  writeFileSync(config, readFileSync(config, 'utf8').replace(/^# stateAnchor: .*$/m, anchor))
  return mount
}

test('a live container uses a folder made by its own image, read-only, and keeps state and anchor on volumes', async () => {
  const folder = { ...(await liveFolder()), isReadOnly: true }
  const volumes = ['/var/lib/tranched', '/var/lib/tranched-anchor'].map((at) =>
    volumeOf(image('live'), at, `live-${basename(at)}`, workshop),
  )
  const env = {
    TRANCHED_HTTP_PORT: '0',
    BASE_RPC_URL: 'http://127.0.0.1:1',
    GASLESS_URL: 'http://127.0.0.1:1',
    GASLESS_SPENDER: `0x${'12'.repeat(20)}`,
  }
  const container = await started('live', { mounts: [folder, ...volumes], env })
  const { output, exited } = container.process
  // Files, keys and permissions are in order: only the chain is missing.
  await waitFor('a chain read', () => /chain-trouble/.test(output()))
  container.signal('SIGTERM')
  expect(await exited, output()).toBe(0)
  expect(output()).toMatch(/stopped, nothing left open/)
})

test('a live container without a config logs it and stays up until it is stopped', async () => {
  const container = await started('live')
  const { output, exited } = container.process
  await waitFor('a reason', () => /a restart cannot fix this/.test(output()))
  expect(output()).toContain('config/live.yaml')
  container.signal('SIGTERM')
  expect(await exited).toBe(78)
})
