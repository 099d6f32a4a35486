import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { strategyTables, withTables } from '../../../scripts/schema/strategy-tables.ts'
import { SKIP_REASONS } from '../../../src/domain/order/reason.ts'
import { SCHEMAS } from '../../../src/strategies/schemas.ts'
import { brief, CONFIG, edit, loadTexts, settingsOf } from './config-fixture.ts'

const REFERENCE = readFileSync('docs/strategies.md', 'utf8')
const OUTCOMES = readFileSync('docs/outcomes.md', 'utf8')
const FIRST = readFileSync('docs/first-strategy.md', 'utf8')
const README = readFileSync('README.md', 'utf8')

test('the tables of docs/strategies.md match the schemas', () => {
  expect(withTables(REFERENCE, strategyTables())).toBe(REFERENCE)
})

test("a table has each field's path, values, default and meaning", () => {
  const { common = '', dca = '', twap = '' } = strategyTables()
  expect(common).toContain(
    '| `schedule.maxLateness` | a duration such as 30s, 10m or 6h, from 1s to 30d | `1h` | Maximum delay of a slot; later it is recorded as missed |',
  )
  expect(common).toContain('| `schedule.cron` | five cron fields')
  expect(dca).toContain('| `dip[].drop` | a percentage from 0.01% to 99% | required |')
  expect(dca).not.toContain('`schedule')
  expect(twap).toContain('`schedule.missed`')
  expect(twap).not.toContain('`schedule.cron`')
})

test('a mark without a table, a table without a mark and a mark without an end are errors', () => {
  const end = '<!-- end of fields -->'
  const tables = { dca: '| dca |' }
  const text = `a\n<!-- fields: dca -->\nold\n${end}\nb`
  expect(withTables(text, tables)).toBe(`a\n<!-- fields: dca -->\n\n| dca |\n\n${end}\nb`)
  expect(() => withTables(text, {})).toThrow('no table belongs at <!-- fields: dca -->')
  expect(() => withTables('a', tables)).toThrow('no mark for the tables dca')
  expect(() => withTables('<!-- fields: dca -->\nold', tables)).toThrow('is not ended')
})

test('every kind has a section, and every skip reason is documented', () => {
  for (const kind of Object.keys(SCHEMAS))
    expect(REFERENCE).toContain(`
## ${kind}
`)
  for (const reason of SKIP_REASONS) expect(OUTCOMES, reason).toContain(`\`${reason}\``)
})

test('every complete strategy in the documentation loads without a warning', () => {
  const aero =
    '  AERO: { chain: base, address: 0x00000000000000000000000000000000000000a9, decimals: 18 }\n'
  const feed = '  AERO/USDC: { feed: 0x00000000000000000000000000000000000000ba, chain: base }\n'
  const settings = settingsOf(
    edit(edit(CONFIG, 'prices:\n', `${aero}prices:\n`), 'limits:\n', `${feed}limits:\n`),
  )
  const fences = [...`${REFERENCE}${FIRST}${README}`.matchAll(/^( *)```yaml\n([\s\S]*?)^\1```$/gm)]
  const complete = fences.flatMap(([, indent = '', text = '']) => {
    const plain = text.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    return /^name: /m.test(plain) ? [plain] : []
  })
  expect(complete).toHaveLength(2)
  for (const text of complete) {
    const loaded = loadTexts({ 'one.yaml': text }, settings)
    expect((loaded.ok ? loaded.warnings : loaded.problems).map(brief)).toEqual([])
  }
})
