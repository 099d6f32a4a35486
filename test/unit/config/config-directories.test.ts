import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadStrategies } from '../../../src/strategies/files/load-strategies.ts'
import { edit, loadTexts, STRATEGY, settingsOf } from './config-fixture.ts'

describe('directories', () => {
  const named = (name: string) => edit(STRATEGY, 'weekly-eth', name)

  test('are read in the order of the file names, both extensions, without hidden and other files', () => {
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

  test('whatever stands before its ending, a strategy file is read', () => {
    const loaded = loadTexts({ 'a\nb.yaml': named('a'), 'c\u2028d.yml': named('b') })
    expect(loaded.ok && loaded.strategies.map((strategy) => strategy.name)).toEqual(['a', 'b'])
  })

  test('a file that only looks like one is told by its name', () => {
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

  test('all mistakes of all files are reported at once', () => {
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

  test('a name that two files share is an error that names both', () => {
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

  test('an empty directory and a missing one say what to do', () => {
    expect(loadTexts({ 'README.md': '' })).toMatchObject({
      problems: [{ file: 'strategies', line: 0, message: 'this directory has no strategy files' }],
    })
    expect(loadStrategies({ dir: '/nowhere/strategies', settings: settingsOf() })).toMatchObject({
      problems: [{ message: 'there is no such directory' }],
    })
  })

  test('on disk, links to files count and directories inside do not', () => {
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
