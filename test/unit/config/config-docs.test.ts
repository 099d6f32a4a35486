import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { configTables } from '../../../scripts/schema/config-tables.ts'
import { reasonTables } from '../../../scripts/schema/reason-tables.ts'
import { withTables } from '../../../scripts/schema/strategy-tables.ts'
import { settingsSchema } from '../../../src/config/settings/settings-schema.ts'
import { FAILURE_REASONS, REFUSAL_REASONS, SKIP_REASONS } from '../../../src/domain/order/reason.ts'

const CONFIG = readFileSync('docs/config.md', 'utf8')
const OUTCOMES = readFileSync('docs/outcomes.md', 'utf8')
const MARKS = /^(<!-- .*|)$/

test('the tables of docs/config.md and docs/outcomes.md match the code', () => {
  expect(withTables(CONFIG, configTables())).toBe(CONFIG)
  expect(withTables(OUTCOMES, reasonTables())).toBe(OUTCOMES)
})

test('every config key is documented with its values and its meaning', () => {
  const rows = Object.values(configTables()).flatMap((table) => table.split('\n').slice(2))
  expect(rows.length).toBeGreaterThan(110)
  for (const row of rows) {
    const [, path = '', value = '', , meaning = ''] = row
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
    expect([path, value, meaning]).not.toContain('')
    expect(value, path).not.toMatch(/Invalid|expected/)
  }
  for (const key of Object.keys(settingsSchema.shape)) expect(CONFIG).toContain(`\n| \`${key}`)
  for (const path of [
    'wallets.<name>.keystore',
    'prices.<BASE/QUOTE>.feed',
    'tokens.<symbol>.decimals',
  ])
    expect(CONFIG).toContain(`| \`${path}\` |`)
})

test('every outcome, order state and reason is documented', () => {
  const terms = [
    ...['filled', 'skipped', 'refused', 'failed', 'expired', 'missed'],
    ...['planned', 'exposed', 'accepted', 'lapsing', 'closed'],
    ...[...SKIP_REASONS, ...REFUSAL_REASONS, ...FAILURE_REASONS],
  ]
  const rows = OUTCOMES.split('\n').filter((line) => !MARKS.test(line))
  for (const term of terms)
    expect(
      rows.filter((row) => row.startsWith(`| \`${term}\` |`)),
      term,
    ).not.toEqual([])
})
