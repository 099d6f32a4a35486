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

test.each(ALL)('%s has words, and says what would have to change', (reason) => {
  const [words, change] = [reasonText(reason), changeFor(reason) ?? '']
  // A clause after a colon, and a line of a table.
  expect(words).toMatch(/^[a-zA-Z][^\n.!]{8,79}$/)
  expect(words).not.toContain(reason.includes('-') ? reason : '\n')
  expect(change).toMatch(/^[^\n!]{4,140}[^.\n]$/)
})

test('no reason has words that is none, and a word that is none stands for itself', () => {
  expect(Object.keys(REASONS).sort()).toEqual([...ALL].sort())
  expect(reasonText('filled')).toBe('filled')
  expect(reasonText('constructor')).toBe('constructor')
  expect(changeFor('toString')).toBeUndefined()
})

test('every key that a change names is one of the config or of a strategy', () => {
  const schemas = ['config', 'strategy'].map((name) =>
    readFileSync(`config/schema/${name}.json`, 'utf8'),
  )
  const named = Object.values(REASONS).flatMap(([, change]) => [
    ...(change.match(/\b[a-z]+(?:\.(?:\*|[a-zA-Z]+)(?=\W|$))+/g) ?? []),
    ...(change.match(/\b(?:slippageBps|maxAge|maxCost|minTrade|gasLimit|band|enabled)\b/g) ?? []),
  ])
  const keys = new Set(named.flatMap((path) => path.split('.')).filter((key) => key !== '*'))
  expect(keys.size).toBeGreaterThan(15)
  expect([...keys].filter((key) => !schemas.some((text) => text.includes(`"${key}"`)))).toEqual([])
})
