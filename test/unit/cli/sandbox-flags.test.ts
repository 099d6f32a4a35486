import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { sandboxTable, settingLeaves } from '../../../scripts/schema/sandbox-table.ts'
import { withTables } from '../../../scripts/schema/strategy-tables.ts'
import { addSettingFlags } from '../../../src/cli/program/author-commands.ts'
import { SETTING_ROWS, settingFlags } from '../../../src/sandbox/settings/flags.ts'
import { loadSandboxOptions } from '../../../src/sandbox/settings/load-sandbox-settings.ts'
import { plain } from '../config/config-fixture.ts'

const REFERENCE = readFileSync('docs/sandbox.md', 'utf8')

function sandboxCommand() {
  const command = new Command('sandbox')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  return { command, typed: addSettingFlags(command) }
}

test('every leaf of a settings file has one row, and every row a leaf', () => {
  expect(SETTING_ROWS.map(({ path }) => path)).toEqual([...settingLeaves().keys()])
})

test('settings share a flag only if a key in the value distinguishes them', () => {
  const names = SETTING_ROWS.map(({ flag, entry = '' }) => `${flag} ${entry}`)
  expect(new Set(names).size).toBe(names.length)
  for (const { flag } of settingFlags()) {
    const sharing = SETTING_ROWS.filter((row) => row.flag === flag)
    if (sharing.length > 1) expect(sharing.map(({ entry }) => entry)).not.toContain(undefined)
  }
})

test('every row is a line of the help, with its default and its keys', () => {
  const { command } = sandboxCommand()
  const help = command
    .createHelp()
    .formatHelp(command, Object.assign(command.createHelp(), { helpWidth: 1_000 }))
  for (const { flag, value, byDefault, entry } of SETTING_ROWS) {
    const line = help.split('\n').find((text) => text.startsWith(`  ${flag} <${value}>`))
    expect(line, flag).toBeDefined()
    if (byDefault !== '') expect(line).toContain(`(default: ${byDefault})`)
    if (entry !== undefined) expect(line).toContain(entry)
  }
})

test('the table of docs/sandbox.md matches the rows and the schema', () => {
  expect(withTables(REFERENCE, { settings: sandboxTable() })).toBe(REFERENCE)
  expect(sandboxTable()).toContain(
    '| `gasless.quoteLifetime` | `--quote-lifetime` | a duration of whole seconds such as 30s or 10m, from 1s to 1d | `60s` | Lifetime of a quote and its permit |',
  )
  for (const { path } of SETTING_ROWS) expect(sandboxTable()).toContain(`| \`${path}\` |`)
})

describe('the settings file in docs/sandbox.md', () => {
  const [, shown = ''] = /^```yaml\n([\s\S]*?)^```$/m.exec(REFERENCE) ?? []

  test('loads unchanged', () => {
    const loaded = loadSandboxOptions({ file: 'docs/shown.yaml', typed: [], readFile: () => shown })
    expect(loaded.ok ? [] : loaded.problems.map(plain)).toEqual([])
    expect(loaded).toMatchObject({ options: { seed: 7, aggregator: { chainId: 1 } } })
  })

  test('names an existing editor schema', () => {
    expect(shown).toMatch(/^# yaml-language-server: \$schema=\.\.\/(config\/schema\/\S+\.json)$/m)
    const [, schema = ''] = /schema=\.\.\/(\S+)/.exec(shown) ?? []
    expect(JSON.parse(readFileSync(schema, 'utf8')).title).toBe('tranched sandbox settings')
  })
})

test('every choice offered by the help is accepted', () => {
  for (const { flag, value } of settingFlags().filter(({ value }) => value.includes('|')))
    for (const text of value.split('|')) {
      const loaded = loadSandboxOptions({ typed: [{ flag, text }] })
      expect(loaded.ok, `${flag} ${text}`).toBe(true)
    }
})

test('flags are kept as text in typed order', () => {
  const { command, typed } = sandboxCommand()
  const line =
    '--rate-limit quote=1/1s --seed 4 --rate-limit orders=2/2s --aggregator-method-prefix='
  command.parse(line.split(' '), { from: 'user' })
  expect(typed).toEqual([
    { flag: '--rate-limit', text: 'quote=1/1s' },
    { flag: '--seed', text: '4' },
    { flag: '--rate-limit', text: 'orders=2/2s' },
    { flag: '--aggregator-method-prefix', text: '' },
  ])
})
