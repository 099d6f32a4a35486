import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { ROOT, run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'

const KEY = '59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const address = (digits: string) => `0x${digits.repeat(20)}`

/** A live config on disk with unreachable services, and with the same key in two files. */
function stage() {
  const dir = temporaryDirectory()
  for (const name of ['keys', 'strategies', 'state']) mkdirSync(join(dir, name), { mode: 0o700 })
  for (const name of ['keys/one.hex', 'keys/two.hex'])
    writeFileSync(join(dir, name), KEY, { mode: 0o600 })
  const strategy = readFileSync(join(ROOT, 'strategies/weekly-eth.yaml'))
  writeFileSync(join(dir, 'strategies/weekly-eth.yaml'), strategy, { mode: 0o600 })
  const config = parse(readFileSync(join(ROOT, 'config/live.example.yaml'), 'utf8'))
  Object.assign(config, { stateDir: './state', strategiesDir: './strategies' })
  config.wallets = {
    trader: { privateKeyFile: './keys/one.hex' },
    operator: { privateKeyFile: './keys/two.hex' },
  }
  config.gasless = { ...config.gasless, baseUrl: 'https://127.0.0.1:1', spenders: [address('5e')] }
  config.chains = {
    base: { chainId: 8453, rpcUrls: ['https://127.0.0.1:1'] },
    sepolia: { chainId: 11155111, rpcUrls: ['https://127.0.0.1:1'] },
  }
  config.aggregator = {
    rpcUrl: 'https://127.0.0.1:1',
    chain: 'sepolia',
    wallet: 'operator',
    proposer: 'trustless',
    contracts: {
      gasTank: address('01'),
      multicall: address('02'),
      trustedProposer: address('03'),
      trustlessProposer: address('04'),
    },
    targets: {},
  }
  const file = join(dir, 'live.yaml')
  writeFileSync(file, stringify(config), { mode: 0o600 })
  return { dir, file }
}

test('a live start exits with 78 for each file that others may write, with its name and remedy, and validate agrees', async () => {
  const { dir, file } = stage()
  const loose = ['live.yaml', 'strategies', 'strategies/weekly-eth.yaml', 'state'] as const
  for (const name of loose) chmodSync(join(dir, name), 0o777)
  for (const command of ['run', 'validate']) {
    const { code, stderr } = await run([command, '--config', file])
    expect(code, command).toBe(78)
    for (const name of loose)
      expect(stderr).toMatch(new RegExp(`chmod go-\\w+ ${join(dir, name)}$`, 'm'))
  }
})

test('a live start exits with 78 for a package above a module that others may write', async () => {
  const { dir, file } = stage()
  const text = readFileSync(file, 'utf8').replace('/two.hex', '/other.hex')
  writeFileSync(file, text)
  writeFileSync(join(dir, 'keys/other.hex'), `${KEY.slice(0, -1)}e`, { mode: 0o600 })
  const at = (...names: readonly string[]) => join(dir, 'strategies', ...names)
  mkdirSync(at('modules'), { mode: 0o700 })
  mkdirSync(at('node_modules/far'), { recursive: true, mode: 0o700 })
  writeFileSync(at('node_modules/far/index.js'), `exports.amount = 1_000_000n`, { mode: 0o600 })
  const lines = [
    `import { amount } from 'far'`,
    'export const schema = ({ z }) => z.strictObject({})',
    `export const decide = () => ({ orders: [{ sell: 'USDC', buy: 'WETH', amount }] })`,
  ]
  writeFileSync(at('modules/own.mjs'), lines.join('\n'), { mode: 0o600 })
  const strategy = {
    ...{ name: 'own', kind: 'custom', schedule: { cron: '* * * * * *' } },
    ...{ tokens: ['USDC', 'WETH'], module: './modules/own.mjs', limits: { perDay: { USDC: '1' } } },
  }
  writeFileSync(at('own.yaml'), stringify(strategy), { mode: 0o600 })
  const sound = await run(['validate', '--config', file])
  expect(sound.code, sound.stderr).toBe(0)

  const remedy = `chmod go-w ${at('node_modules')}`
  chmodSync(at('node_modules'), 0o777)
  for (const command of ['run', 'validate']) {
    const { code, stderr } = await run([command, '--config', file])
    expect(code, command).toBe(78)
    expect(stderr).toContain(remedy)
  }
})

test('a live start exits with 78 for one key in two wallet files', async () => {
  const { code, stderr } = await run(['run', '--config', stage().file, '--http-port', '0'])
  expect(code).toBe(78)
  expect(stderr).toContain('wallets.operator: this wallet has the same key as the trading wallet')
  expect(stderr).not.toContain(KEY)
})
