import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { outputSchemas, outputTables } from '../../../../scripts/schema/output-tables.ts'
import { withTables } from '../../../../scripts/schema/strategy-tables.ts'
import { OUTPUTS } from '../../../../src/cli/json/outputs.ts'

const DOCS = readFileSync('docs/json.md', 'utf8')

test('the tables of docs/json.md match the schemas', () => {
  expect(withTables(DOCS, outputTables())).toBe(DOCS)
})

test('every command has a section and a shipped JSON Schema, without empty table cells', () => {
  const shipped = JSON.parse(readFileSync('config/schema/commands.json', 'utf8'))
  expect(shipped).toMatchObject(outputSchemas())
  for (const command of Object.keys(OUTPUTS)) {
    expect(DOCS).toContain(`\n### \`tranched ${command}\`\n`)
    expect(shipped.$defs[command].anyOf.length).toBeGreaterThan(1)
  }
  const rows = DOCS.split('\n').filter((line) => line.startsWith('| `'))
  expect(rows.length).toBeGreaterThan(300)
  for (const row of rows) {
    const [, path = '', value = '', meaning = ''] = row
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
    expect([path, value, meaning], row).not.toContain('')
    expect(value, row).not.toContain('anything')
  }
})
