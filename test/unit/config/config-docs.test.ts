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

test('the tables of docs/config.md and docs/outcomes.md are what the code says', () => {
  expect(withTables(CONFIG, configTables())).toBe(CONFIG)
  expect(withTables(OUTCOMES, reasonTables())).toBe(OUTCOMES)
})

test('every key of a config file is there, with what it takes and what it means', () => {
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

test('every outcome, every state of an order and every reason is explained', () => {
  const words = [
    ...['filled', 'skipped', 'refused', 'failed', 'expired', 'missed'],
    ...['planned', 'exposed', 'accepted', 'lapsing', 'closed'],
    ...[...SKIP_REASONS, ...REFUSAL_REASONS, ...FAILURE_REASONS],
  ]
  const rows = OUTCOMES.split('\n').filter((line) => !MARKS.test(line))
  for (const word of words)
    expect(
      rows.filter((row) => row.startsWith(`| \`${word}\` |`)),
      word,
    ).not.toEqual([])
})
