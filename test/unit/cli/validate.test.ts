import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ValidateOptions, validate } from '../../../src/cli/commands/inspect/validate.ts'
import type { Io } from '../../../src/cli/process/io.ts'
import { failureOf, outputOf } from '../../support/output-of.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { CONFIG, STRATEGY } from '../config/config-fixture.ts'
import { printed } from './reading-fixture.ts'

const KEY = `0x${'42'.repeat(32)}\n`
const WALLET = 'trader: { keystore: ./keys/trader.json, passwordFile: ./keys/trader.pass }'

/** A live config with the given wallet, a strategy, and the given files in `keys`. */
function aFolder(wallet: string, keys: Readonly<Record<string, string>> = {}) {
  const dir = temporaryDirectory()
  for (const folder of ['strategies', 'keys']) mkdirSync(join(dir, folder), { mode: 0o700 })
  const text = CONFIG.replace(/trader: \{.*\}/, wallet).replace('mode: dry-run', 'mode: live')
  expect(text).toContain(wallet)
  const config = join(dir, 'config.yaml')
  writeFileSync(config, `strategiesDir: ./strategies\n${text}`, { mode: 0o600 })
  writeFileSync(join(dir, 'strategies/weekly-eth.yaml'), STRATEGY, { mode: 0o600 })
  for (const [name, content] of Object.entries(keys))
    writeFileSync(join(dir, 'keys', name), content, { mode: 0o600 })
  const check = (options: Partial<ValidateOptions> = {}, env: Io['env'] = {}) =>
    printed((io) => validate({ config, json: true, ...options }, { ...io, env }, 1_800_000_000), {
      json: options.json !== false,
    })
  return { dir, config, check }
}

const problemsIn = (stdout: string) =>
  failureOf(stdout).problems.map(({ path, message }) => `${path} ${message}`)

test('a missing keystore is a config error with its line and the command that creates one', async () => {
  const { dir, config, check } = aFolder(WALLET)
  const { code, stdout } = await check()
  expect(code).toBe(78)
  expect(failureOf(stdout).problems).toEqual([
    expect.objectContaining({
      ...{ file: config, path: 'wallets.trader', line: expect.any(Number) },
      message: `there is no ${dir}/keys/trader.json`,
      expected: `restore it from a backup, or make one: \`tranched wallet new --out ${dir}/keys/trader.json\``,
      frame: expect.stringContaining('keystore: ./keys/trader.json'),
    }),
  ])
  expect(failureOf(stdout).problems[0]?.line).toBeGreaterThan(0)
  const unkeyed = await check({ keys: false })
  expect(unkeyed.code).toBe(0)
  outputOf('validate', unkeyed.stdout)
})

test.each([
  ['a missing key file', 'trader: { privateKeyFile: ./keys/none }', /there is no .*none$/],
  ['a key file without a key', 'trader: { privateKeyFile: ./keys/text }', /text .*64/],
  ['an unset variable', 'trader: { privateKeyEnv: NONE }', /variable NONE is not set$/],
  ['an invalid keystore', WALLET.replace('trader.json', 'text'), /keys\/text .*keystore/],
])('%s is reported', async (_, wallet, message) => {
  const { check } = aFolder(wallet, { text: 'hello', 'trader.pass': 'secret words' })
  const { code, stdout } = await check()
  expect([code, problemsIn(stdout)]).toEqual([
    78,
    [expect.stringMatching(new RegExp(`^wallets.trader .*${message.source}`))],
  ])
  expect(stdout).not.toContain('secret words')
})

test('a valid key passes and is never printed', async () => {
  const { check } = aFolder('trader: { privateKeyFile: ./keys/trader.key }', { 'trader.key': KEY })
  const { code, stdout } = await check()
  expect(code).toBe(0)
  expect(stdout).not.toContain('4242')
})

test('key and strategy errors are reported together, and a readable key once', async () => {
  const { dir, check } = aFolder('trader: { privateKeyFile: ./keys/none }')
  writeFileSync(join(dir, 'strategies/bad.yaml'), 'name: bad\nkind: dac\n', { mode: 0o600 })
  const { stdout } = await check()
  expect(problemsIn(stdout)[0]).toMatch(/there is no/)
  expect(problemsIn(stdout).slice(1).join()).toMatch(/kind/)

  const loose = aFolder('trader: { privateKeyFile: ./keys/trader.key }', { 'trader.key': KEY })
  chmodSync(join(loose.dir, 'keys/trader.key'), 0o644)
  const { code, stdout: looseOutput } = await loose.check()
  expect([code, problemsIn(looseOutput)]).toEqual([
    78,
    [expect.stringContaining('have rights to it')],
  ])
})
