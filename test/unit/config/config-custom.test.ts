import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadStrategies } from '../../../src/config/strategies/load.ts'
import { loadModules } from '../../../src/config/strategies/load-modules.ts'
import type { CustomStrategy } from '../../../src/domain/strategy.ts'
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
export function decide(view) { return { skip: 'first' } }
`

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'custom-'))
  mkdirSync(join(dir, 'modules'))
})
afterEach(() => rmSync(dir, { recursive: true }))

let writes = 0
/** Each writing has a time of its own, as it would have between two edits of a person. */
function writeModule(text: string): void {
  const file = join(dir, 'modules/own.mjs')
  writeFileSync(file, text)
  writes += 1
  utimesSync(file, writes, writes)
}

/** Writes both files, and loads them as a command does. */
async function loadBoth(strategy = CUSTOM, module = MODULE) {
  writeFileSync(join(dir, 'own.yaml'), strategy)
  writeModule(module)
  const loaded = loadStrategies({ dir, settings: settingsOf() })
  return loaded.ok ? loadModules(loaded.strategies) : loaded
}

async function loadOwn(strategy = CUSTOM, module = MODULE): Promise<CustomStrategy> {
  const loaded = await loadBoth(strategy, module)
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  const [own] = loaded.strategies
  if (own?.kind !== 'custom') throw new Error('not a custom strategy')
  return own
}

async function problemsWith(strategy = CUSTOM, module = MODULE): Promise<readonly string[]> {
  const loaded = await loadBoth(strategy, module)
  return loaded.ok ? [] : loaded.problems.map(brief)
}

describe('the file of a custom strategy', () => {
  test('names a module beside it, the tokens that it may trade, and params as texts', async () => {
    const own = await loadOwn()
    expect(own).toMatchObject({
      kind: 'custom',
      module: join(dir, 'modules/own.mjs'),
      params: { spend: 20n, levels: [{ at: '0.015' }] },
      priceCheck: 'feed',
      schedule: { overlap: 'skip' },
    })
    expect([...own.assets.keys()]).toEqual(['USDC', 'WETH'])
    expect(own.decide({})).toEqual({ skip: 'first' })
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
      '10:19 limits.perDay: this strategy sells several tokens, so that an amount alone says too little',
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
  ])('is refused with %s as %s', (from, to, problem) => {
    expect(strategyProblems(edit(CUSTOM, from, to)).map(brief)).toEqual([problem])
  })

  test('is refused with a token that no feed connects with the others', () => {
    const pepe =
      '  PEPE: { chain: base, address: 0x00000000000000000000000000000000000000a9, decimals: 18 }\nprices:'
    const settings = settingsOf(edit(CONFIG, 'prices:', pepe))
    const text = edit(CUSTOM, '[USDC, WETH]', '[USDC, WETH, PEPE]')
    expect(strategyProblems(text, settings).map(brief)).toEqual([
      '5:9 tokens: the config has no price feed that connects PEPE with the others',
    ])
  })

  test('is warned about for each token that nothing caps', () => {
    const settings = settingsOf(edit(CONFIG, ', WETH: "1"', ''))
    const loaded = loadTexts({ 'own.yaml': CUSTOM }, settings)
    expect(loaded.ok && loaded.warnings.map(brief)).toEqual([
      '10:1 limits: nothing caps what this strategy sells of WETH in a day',
    ])
  })
})

describe('the module of a custom strategy', () => {
  test('is loaded again once its file has changed', async () => {
    expect((await loadOwn()).decide({})).toEqual({ skip: 'first' })
    const own = await loadOwn(CUSTOM, edit(MODULE, 'first', 'second'))
    expect(own.decide({})).toEqual({ skip: 'second' })
  })

  test('cannot write into its params', async () => {
    const { params } = await loadOwn()
    const { levels } = params as { levels: { at: string }[] }
    expect(() => Object.assign(levels[0] ?? {}, { at: '1' })).toThrow(TypeError)
    expect(() => levels.push({ at: '2' })).toThrow(TypeError)
  })

  test('has its params refused at their place in the file', async () => {
    expect(await problemsWith(edit(CUSTOM, '"20"', '"21"'))).toEqual([
      '7:10 params.spend: its module refuses this: has to be 20',
    ])
  })

  test('is a problem of the file that names it when it is not there or cannot be read', async () => {
    expect(await problemsWith(edit(CUSTOM, 'own.mjs', 'gone.mjs'))).toEqual([
      expect.stringMatching(/^4:9 module: this module cannot be loaded: ENOENT/),
    ])
    expect(await problemsWith(CUSTOM, `throw new Error('at import\\nsecond line')`)).toEqual([
      '4:9 module: this module cannot be loaded: at import',
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
  ])('is refused with %s as %s', async (from, to, message) => {
    expect(await problemsWith(CUSTOM, edit(MODULE, from, to))).toEqual([`4:9 module: ${message}`])
  })

  test('reports the modules of all strategies at once', async () => {
    writeFileSync(
      join(dir, 'other.yaml'),
      edit(edit(CUSTOM, 'name: own', 'name: other'), 'own.mjs', 'gone.mjs'),
    )
    expect(await problemsWith(edit(CUSTOM, '"20"', '"21"'))).toHaveLength(2)
  })
})
