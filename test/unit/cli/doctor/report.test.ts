import { expect, test } from 'vitest'
import {
  fault,
  fine,
  reportText,
  unknown,
  warning,
} from '../../../../src/cli/commands/doctor/check.ts'

const LONG = 'every word of this text must appear on some line of the printed report, in its order'
const COMMAND =
  '`tranched run --config a/very/long/path/that/no-reader/would/want/broken/live.yaml`'
const CHECKS = [
  fault('feed', 'WETH/USDC: too old', `wait, or ${COMMAND} once more`),
  fine('config', 'c.yaml: mode live'),
  warning('halt', LONG, 'check it'),
  unknown('quote', 'not queried'),
]

test('checks are grouped by section in order, with remedies below and a summary', () => {
  const text = reportText(CHECKS, { color: false, columns: 80 })
  const lines = text.split('\n')
  const headings = lines.filter((line) => /^[a-z]+$/.test(line))
  expect(headings).toEqual(['config', 'prices', 'services', 'state'])
  expect(lines[1]).toBe('  ok    c.yaml: mode live')
  expect(text).toMatch(/^ {2}FAIL {2}WETH\/USDC: too old\n {8}-> wait, or/m)
  expect(text).toMatch(/^ {2}\? {5}not queried$/m)
  expect(lines.at(-1)).toBe('4 checks: 1 fine, 1 warning, 1 fault, 1 unknown')
})

test('lines are at most 80 columns wide, except commands, which are never broken', () => {
  const text = reportText(CHECKS, { color: false, columns: 80 })
  for (const line of text.split('\n'))
    if (!line.includes('`')) expect(line.length).toBeLessThanOrEqual(80)
  expect(text).toContain(COMMAND)
  expect(text.replace(/\s+/g, ' ')).toContain(LONG)
})

test('colours appear only on a terminal', () => {
  expect(reportText(CHECKS, { color: true, columns: 80 })).toContain('\u001b[31mFAIL\u001b[0m')
  expect(reportText(CHECKS, { color: false, columns: 80 })).not.toContain('\u001b')
})
