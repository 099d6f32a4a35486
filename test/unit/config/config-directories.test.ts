import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadStrategies } from '../../../src/strategies/files/load-strategies.ts'
import { edit, loadTexts, STRATEGY, settingsOf } from './config-fixture.ts'

describe('strategy directories', () => {
  const named = (name: string) => edit(STRATEGY, 'weekly-eth', name)

  test('are read in order of file names, with both extensions, without hidden and other files', () => {
    const texts = {
      'b.yml': named('b'),
      'a.yaml': named('a'),
      '.c.yaml': 'broken: [',
      'd.yaml.bak': 'broken: [',
      'README.md': '# no strategy',
    }
    const loaded = loadTexts(texts)
    expect(loaded.ok && loaded.strategies.map((strategy) => strategy.name)).toEqual(['a', 'b'])
  })

  test('accept any file name before the extension', () => {
    const loaded = loadTexts({ 'a\nb.yaml': named('a'), 'c\u2028d.yml': named('b') })
    expect(loaded.ok && loaded.strategies.map((strategy) => strategy.name)).toEqual(['a', 'b'])
  })

  test('report a file name that almost has the right extension', () => {
    const loaded = loadTexts({
      'a.yaml': named('a'),
      'b.YML': named('b'),
      'c.yaml.txt': named('c'),
      'd.yaml.bak': named('d'),
      'e.yaml.old': named('e'),
    })
    expect(loaded).toMatchObject({
      ok: true,
      warnings: ['strategies/b.YML', 'strategies/c.yaml.txt'].map((file) => ({
        file,
        message: 'this file is not read as a strategy',
        expected: 'a name that ends in .yaml or .yml',
      })),
    })
    expect(loadTexts({ 'b.YML': named('b') })).toMatchObject({
      problems: [
        {
          message: 'this directory has no strategy files',
          expected:
            'at least one *.yaml file, or *.yml; see `tranched init`. b.YML is not read: give it a name that ends in .yaml or .yml',
        },
      ],
    })
  })

  test('report all mistakes of all files at once', () => {
    const loaded = loadTexts({
      'b.yaml': edit(named('b'), 'sell: USDC', 'slel: USDC'),
      'a.yaml': 'kind: [\n',
      'c.yaml': '',
    })
    expect(loaded.ok ? [] : loaded.problems.map(({ file, path }) => `${file} ${path}`)).toEqual([
      expect.stringContaining('strategies/a.yaml'),
      'strategies/b.yaml sell',
      'strategies/b.yaml slel',
      'strategies/c.yaml ',
    ])
  })

  test('reject a name used by two files, naming both', () => {
    const loaded = loadTexts({ 'a.yaml': named('same'), 'b.yaml': named('same') })
    expect(loaded).toMatchObject({
      ok: false,
      problems: [
        {
          file: 'strategies/b.yaml',
          line: 1,
          column: 7,
          message: 'this name is taken by strategies/a.yaml',
        },
      ],
    })
  })

  test('reject the name of orders by hand', () => {
    expect(loadTexts({ 'a.yaml': named('manual') })).toMatchObject({
      ok: false,
      problems: [{ file: 'strategies/a.yaml', line: 1, column: 7, expected: 'another name' }],
    })
  })

  test('that are empty or missing cause an error with the remedy', () => {
    expect(loadTexts({ 'README.md': '' })).toMatchObject({
      problems: [{ file: 'strategies', line: 0, message: 'this directory has no strategy files' }],
    })
    expect(loadStrategies({ dir: '/nowhere/strategies', settings: settingsOf() })).toMatchObject({
      problems: [{ message: 'there is no such directory' }],
    })
  })

  test('include links to files and exclude subdirectories', () => {
    const dir = mkdtempSync(join(tmpdir(), 'tranched-strategies-'))
    try {
      mkdirSync(join(dir, 'strategies'))
      mkdirSync(join(dir, 'strategies', 'inner.yaml'))
      writeFileSync(join(dir, 'elsewhere.txt'), named('linked'))
      symlinkSync(join(dir, 'elsewhere.txt'), join(dir, 'strategies', 'linked.yaml'))
      const loaded = loadStrategies({ dir: join(dir, 'strategies'), settings: settingsOf() })
      expect(loaded.ok && loaded.strategies.map((strategy) => strategy.name)).toEqual(['linked'])
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})
