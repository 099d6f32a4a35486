import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WalletSource } from '../../../src/domain/settings.ts'
import { loadModules } from '../../../src/strategies/files/load-modules.ts'
import { loadStrategies } from '../../../src/strategies/files/load-strategies.ts'
import { A_VIEW, moduleHost } from '../../support/modules.ts'
import { pageSettings } from '../../support/page/page-settings.ts'
import {
  brief,
  CONFIG,
  edit,
  loadTexts,
  plain,
  settingsOf,
  strategyProblems,
} from './config-fixture.ts'

const CUSTOM = `name: own
kind: custom
schedule: { cron: "*/5 * * * *" }
module: ./modules/own.mjs
tokens: [USDC, WETH]
params:
  spend: "20"
  levels:
    - { at: 0.015 }
limits: { perDay: { USDC: "100" } }
`

const MODULE = `
export const schema = {
  safeParse: (given) =>
    given.spend === '20'
      ? { success: true, data: { spend: 20n, levels: given.levels } }
      : { success: false, error: { issues: [{ path: ['spend'], message: 'has to be 20' }] } },
}
export function decide({ params }) { return { skip: \`\${params.spend} at \${params.levels[0].at}\` } }
`

/** A starter for files whose module must not start. */
const neverStarted = () => Promise.reject(new Error('it was started'))

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'custom-'))
  mkdirSync(join(dir, 'modules'))
})
afterEach(() => rmSync(dir, { recursive: true }))

/** Writes both files and starts the module, as a command does. */
async function startBoth(strategy = CUSTOM, module = MODULE) {
  writeFileSync(join(dir, 'own.yaml'), strategy)
  writeFileSync(join(dir, 'modules/own.mjs'), module)
  const settings = settingsOf()
  const loaded = loadStrategies({ dir, settings })
  if (!loaded.ok) return { strategies: [], problems: loaded.problems }
  const modules = await moduleHost()
  const problems = await loadModules(loaded.strategies, settings, modules.start)
  return { strategies: loaded.strategies, modules, problems }
}

async function startOwn(strategy = CUSTOM, module = MODULE) {
  const { strategies, modules, problems } = await startBoth(strategy, module)
  const [own] = strategies
  if (problems.length > 0 || own?.kind !== 'custom' || modules === undefined)
    throw new Error(problems.map(plain).join('\n'))
  return { own, decide: () => modules.decide(own, A_VIEW), version: modules.versionOf(own) }
}

async function problemsWith(strategy = CUSTOM, module = MODULE): Promise<readonly string[]> {
  const { problems } = await startBoth(strategy, module)
  return problems.map(brief)
}

describe('the file of a custom strategy', () => {
  test('names its module, the tokens it may trade, and params as text', async () => {
    const { own, decide } = await startOwn()
    expect(own).toMatchObject({
      kind: 'custom',
      module: join(dir, 'modules/own.mjs'),
      params: { spend: '20', levels: [{ at: '0.015' }] },
      priceCheck: 'feed',
      schedule: { overlap: 'skip' },
    })
    expect([...own.assets.keys()]).toEqual(['USDC', 'WETH'])
    expect(await decide()).toEqual({ ok: true, value: { skip: '20 at 0.015' } })
  })

  test('needs no params', () => {
    const loaded = loadTexts({ 'own.yaml': CUSTOM.replace(/params:[\s\S]*limits/, 'limits') })
    expect(loaded.ok && loaded.strategies).toMatchObject([{ params: {} }])
  })

  test.each([
    ['[USDC, WETH]', '[USDC, WETH, USDC]', '5:22 tokens[2]: this token is listed twice'],
    ['[USDC, WETH]', '[USDC]', '5:9 tokens: with one token there is nothing to trade'],
    ['[USDC, WETH]', '[ETH, WETH]', '5:9 tokens: with one token there is nothing to trade'],
    ['[USDC, WETH]', '[USDC, WTH]', '5:16 tokens[1]: the config has no token of this name'],
    [
      '{ USDC: "100" }',
      '"100"',
      '10:19 limits.perDay: this strategy sells several tokens, so an amount needs its token',
    ],
    [
      'perDay:',
      'drawdown: 10%, perDay:',
      '10:11 limits.drawdown: only rebalance and threshold have a portfolio whose value can fall',
    ],
    [
      'cron:',
      'overlap: allow, cron:',
      '3:22 schedule.overlap: this kind decides by balances, which orders in flight are about to change',
    ],
  ])('with %s replaced by %s is rejected', (from, to, problem) => {
    expect(strategyProblems(edit(CUSTOM, from, to)).map(brief)).toEqual([problem])
  })

  test('is rejected with a token that no feed connects to the others', () => {
    const pepe =
      '  PEPE: { chain: base, address: 0x00000000000000000000000000000000000000a9, decimals: 18 }\nprices:'
    const settings = settingsOf(edit(CONFIG, 'prices:', pepe))
    const text = edit(CUSTOM, '[USDC, WETH]', '[USDC, WETH, PEPE]')
    expect(strategyProblems(text, settings).map(brief)).toEqual([
      '5:9 tokens: the config has no price feed that connects PEPE with the others',
    ])
  })

  test('causes a warning for each token without a cap', () => {
    const settings = settingsOf(edit(CONFIG, ', WETH: "1"', ''))
    const loaded = loadTexts({ 'own.yaml': CUSTOM }, settings)
    expect(loaded.ok && loaded.warnings.map(brief)).toEqual([
      '10:1 limits: nothing caps what this strategy sells of WETH in a day',
    ])
  })
})

describe('the module of a custom strategy', () => {
  test('has another version after a change of its text or of an import', async () => {
    const IMPORTS = `import './other.mjs'\n${MODULE}`
    writeFileSync(join(dir, 'modules/other.mjs'), '')
    const { version } = await startOwn(CUSTOM, IMPORTS)
    expect((await startOwn(CUSTOM, IMPORTS)).version).toBe(version)
    writeFileSync(join(dir, 'modules/other.mjs'), '// changed')
    expect((await startOwn(CUSTOM, IMPORTS)).version).not.toBe(version)
    expect((await startOwn(CUSTOM, `${IMPORTS}// changed`)).version).not.toBe(version)
  })

  test.each([
    ['the key', { type: 'privateKeyFile', file: 'modules/trader.key' }],
    ['the keystore', { type: 'keystore', keystore: 'modules/in/t.json', passwordFile: 'pass' }],
    ['the password', { type: 'keystore', keystore: 't.json', passwordFile: 'modules/pass' }],
  ] as const)('is rejected in a folder that holds %s of a wallet', async (_, source) => {
    const placed = Object.fromEntries(
      Object.entries(source).map(([name, at]) => [name, name === 'type' ? at : join(dir, at)]),
    ) as WalletSource
    const { strategies } = await startBoth()
    const { http } = pageSettings(dir)
    const secrets = {
      wallets: new Map([['trader', placed]]),
      http,
      stateDir: join(dir, 'data'),
    }
    const problems = await loadModules(strategies, secrets, neverStarted)
    expect(problems.map(brief)).toEqual([
      expect.stringMatching(
        /^4:9 module: its folder holds .*, which no module may be able to read/,
      ),
    ])
    const state = { wallets: new Map(), http, stateDir: join(dir, 'modules') }
    expect(await loadModules(strategies, state, neverStarted)).toHaveLength(1)
  })

  test('can reject its params at their place in the file', async () => {
    expect(await problemsWith(edit(CUSTOM, '"20"', '"21"'))).toEqual([
      '7:10 params.spend: its module refuses this: has to be 20',
    ])
  })

  test('that is missing or unreadable is a problem of the file that names it', async () => {
    expect(await problemsWith(edit(CUSTOM, 'own.mjs', 'gone.mjs'))).toEqual([
      expect.stringMatching(/^4:9 module: this module cannot be loaded: ENOENT/),
    ])
    expect(await problemsWith(CUSTOM, `throw new Error('at import\\nsecond line')`)).toEqual([
      `4:9 module: this module cannot be loaded: at import (${dir}/modules/own.mjs:1:7)`,
    ])
  })

  test.each([
    ['export function decide', 'function decide', 'this module exports no function `decide`'],
    ['export const schema', 'const schema', 'this module exports no `schema` of its params'],
    ['safeParse: ', 'parse: ', 'this module exports no `schema` of its params'],
    [
      "given.spend === '20'",
      'given.no.spend',
      "the schema of this module failed: Cannot read properties of undefined (reading 'spend')",
    ],
  ])('with %s replaced by %s is rejected', async (from, to, message) => {
    const [problem, ...others] = await problemsWith(CUSTOM, edit(MODULE, from, to))
    expect([problem?.replace(/ \(\S+own\.mjs:\d+:\d+\)$/, ''), others]).toEqual([
      `4:9 module: ${message}`,
      [],
    ])
  })

  test('is checked in all strategies at once', async () => {
    writeFileSync(
      join(dir, 'other.yaml'),
      edit(edit(CUSTOM, 'name: own', 'name: other'), 'own.mjs', 'gone.mjs'),
    )
    expect(await problemsWith(edit(CUSTOM, '"20"', '"21"'))).toHaveLength(2)
  })
})
