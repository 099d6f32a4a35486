import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  changeFor,
  FAILURE_REASONS,
  REASONS,
  REFUSAL_REASONS,
  reasonText,
  SKIP_REASONS,
} from '../../../src/domain/order/reason.ts'

const ALL = [...new Set([...SKIP_REASONS, ...REFUSAL_REASONS, ...FAILURE_REASONS])]

test.each(ALL)('%s has a text and a remedy', (reason) => {
  const [text, remedy] = [reasonText(reason), changeFor(reason) ?? '']
  // Fits as a clause after a colon and as a row of a table.
  expect(text).toMatch(/^[a-zA-Z][^\n.!]{8,79}$/)
  expect(text).not.toContain(reason.includes('-') ? reason : '\n')
  expect(remedy).toMatch(/^[^\n!]{4,140}[^.\n]$/)
})

test('every text belongs to a reason, and an unknown reason is its own text', () => {
  expect(Object.keys(REASONS).sort()).toEqual([...ALL].sort())
  expect(reasonText('filled')).toBe('filled')
  expect(reasonText('constructor')).toBe('constructor')
  expect(changeFor('toString')).toBeUndefined()
})

test('every key that a remedy names exists in the config or a strategy', () => {
  const schemas = ['config', 'strategy'].map((name) =>
    readFileSync(`config/schema/${name}.json`, 'utf8'),
  )
  const named = Object.values(REASONS).flatMap(([, remedy]) => [
    ...(remedy.match(/\b[a-z]+(?:\.(?:\*|[a-zA-Z]+)(?=\W|$))+/g) ?? []),
    ...(remedy.match(/\b(?:slippageBps|maxAge|maxCost|minTrade|gasLimit|band|enabled)\b/g) ?? []),
  ])
  const keys = new Set(named.flatMap((path) => path.split('.')).filter((key) => key !== '*'))
  expect(keys.size).toBeGreaterThan(15)
  expect([...keys].filter((key) => !schemas.some((text) => text.includes(`"${key}"`)))).toEqual([])
})
