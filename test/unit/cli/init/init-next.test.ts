import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cdLines, variablesOf } from '../../../../src/cli/commands/author/init/contents.ts'
import { programName } from '../../../../src/cli/process/program-name.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { initFor } from './init-fixture.ts'

test.each([
  ['my-bot', ['cd my-bot']],
  ['/srv/my-bot', ['cd /srv/my-bot']],
  ['../my bots', ["cd '../my bots'"]],
  ["it's", ["cd 'it'\\''s'"]],
  ['-x', ['cd ./-x']],
  ['.', []],
  ['/home/me', []],
  ['../me/', []],
])('the command to enter %j is %j', (dir, lines) => {
  expect(cdLines(dir, '/home/me')).toEqual(lines)
})

test('the program name follows the way it was started, if known', () => {
  const top = temporaryDirectory()
  const [bot, program] = [join(top, 'my-bot'), join(top, 'dist/tranched.js')]
  for (const folder of ['my-bot', 'dist', 'bin']) mkdirSync(join(top, folder))
  writeFileSync(program, '')
  symlinkSync(program, join(top, 'bin/tranched'))
  const named = (startedAs: string | undefined, PATH?: string) =>
    programName({ startedAs, env: { PATH } }, bot)
  expect(named(join(top, 'bin/tranched'), `/usr/bin:${join(top, 'bin')}`)).toBe('tranched')
  expect(named(undefined)).toBe('tranched')
  expect(named('/home/me/node_modules/.bin/tranched')).toBe('npx tranched')
  expect(named(program)).toBe('node ../dist/tranched.js')
  // A link that no shell finds by name.
  expect(named(join(top, 'bin/tranched'), '/usr/bin')).toBe('node ../dist/tranched.js')
})

test('under pm2, which starts a file of its own, the program name is the one that a shell finds', () => {
  const top = temporaryDirectory()
  const program = join(top, 'my-bot/node_modules/tranched/dist/tranched.js')
  mkdirSync(join(program, '..'), { recursive: true })
  mkdirSync(join(top, 'bin'))
  writeFileSync(program, '')
  symlinkSync(program, join(top, 'bin/tranched'))
  const startedAs = '/usr/lib/node_modules/pm2/lib/ProcessContainerFork.js'
  const named = (PATH: string, dir: string) =>
    programName({ startedAs, env: { PATH, pm_exec_path: program } }, dir)
  expect(named(join(top, 'bin'), top)).toBe('tranched')
  expect(named('/usr/bin', join(top, 'my-bot'))).toBe('npx tranched')
  expect(named('/usr/bin', top)).toBe('node my-bot/node_modules/tranched/dist/tranched.js')
})

test('variables of a config are found in its values, not in its comments', () => {
  const text = `a: "\${ONE}" # or \${TWO}\n# b: "\${THREE}"\n  c: ["\${FOUR}", "\${ONE}"]\n`
  expect(variablesOf(text)).toEqual(['ONE', 'FOUR'])
})

test('next steps are the same plain commands in JSON and in text', async () => {
  const dir = temporaryDirectory()
  const data = JSON.parse((await initFor({ dir, json: true })).stdout)
  expect(data.dir).toBe(dir)
  expect(data.next).toEqual([
    `cd ${dir}`,
    'tranched validate',
    'tranched run',
    'tranched report',
    '(umask 077; set -C; head -c 24 /dev/urandom | base64 > keys/trader.pass)',
    'tranched wallet new --out keys/trader.json --password-file keys/trader.pass',
    'tranched validate --config config/live.yaml',
    'tranched doctor --config config/live.yaml',
  ])
  const { stdout } = await initFor({ dir })
  expect([...stdout.matchAll(/\n\n((?: {2}.+\n)+)/g)].flatMap(([, block]) => lines(block))).toEqual(
    data.next,
  )
  expect(stdout).toContain('It reads BASE_RPC_URL, GASLESS_URL and GASLESS_SPENDER from')
  const none = JSON.parse((await initFor({ dir, mode: 'sandbox', json: true })).stdout)
  expect(none.next).toEqual(data.next.slice(0, 4))
})

function lines(block = ''): readonly string[] {
  return block
    .trimEnd()
    .split('\n')
    .map((line) => line.trim())
}

test('a live config for calls alone has no swap service, and names what calls need', async () => {
  const dir = temporaryDirectory()
  const data = JSON.parse((await initFor({ dir, kinds: 'call', json: true })).stdout)
  expect(data.next).toContain(
    'tranched wallet new --out keys/operator.json --password-file keys/operator.pass',
  )
  expect(readFileSync(join(dir, 'config/live.yaml'), 'utf8')).not.toMatch(
    /^(gasless|tokens|prices):/m,
  )
  const missing = data.missing.map(({ what }: { what: string }) => what).join('\n')
  expect(missing).toMatch(/AGGREGATOR_GASTANK, a contract that the service publishes/)
  expect(missing).toMatch(
    /keys\/operator.json.*\n.*aggregator.targets.*\n.*GasTank deposit.*\n.*delegation/,
  )
  expect(missing).not.toMatch(/GASLESS|Base|trader/)
  const refused = await initFor({ dir, kinds: 'call', rpc: 'https://rpc.example' })
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('flag --rpc: only swaps need it'),
  })
  const both = JSON.parse(
    (await initFor({ dir: temporaryDirectory(), kinds: 'dca,call', json: true })).stdout,
  )
  expect(both.missing.map(({ what }: { what: string }) => what).join('\n')).toMatch(
    /wallet on Base\n`aggregator` in the config/,
  )
})
