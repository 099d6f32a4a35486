import { expect, test } from 'vitest'
import { isByTerms, termsOf } from '../../../src/signing/terms.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { aCallStrategy } from '../../support/aggregator/call-simulation.ts'
import {
  aCustomStrategy,
  anIntent,
  aSchedule,
  aStrategy,
  OPEN,
  usdc,
} from '../../support/builders.ts'

const versionOf = () => 'one'
const of = (strategy: Strategy) => termsOf(strategy, versionOf)

test('terms depend on the trade settings of the file, not on key order, name, schedule, status or limits', () => {
  const strategy = aStrategy()
  const turned = Object.fromEntries(Object.entries(strategy).reverse()) as unknown as Strategy
  expect(of(turned)).toBe(of(strategy))
  const others = {
    name: 'other',
    file: 'other.yaml',
    enabled: false,
    schedule: aSchedule('* * * * *'),
  }
  expect(of({ ...strategy, ...others, limits: { ...OPEN, cooldownMs: 1 } })).toBe(of(strategy))
  expect(of(aCallStrategy({ label: 'take()', shown: 'take(1) of it' }))).toBe(of(aCallStrategy()))
  expect(of(strategy)).toMatch(/^[0-9a-f]{32}$/)
})

test('params that only look alike, and another module under the same name, give different terms', () => {
  const texts = [{ a: '1' }, [['a', '1']], { a: ['1'] }, { a: null }, {}].map((params) =>
    of(aCustomStrategy({ params })),
  )
  expect(new Set(texts).size).toBe(texts.length)
  const own = aCustomStrategy()
  expect(termsOf(own, () => 'two')).not.toBe(termsOf(own, () => 'one'))
  expect(of({ ...own, module: '/elsewhere/own.mjs' })).toBe(of(own))
})

test('an intent of an older journal without terms is still accepted', () => {
  const strategy = aStrategy({ size: { side: 'sell', amount: usdc(1) } })
  expect(isByTerms(anIntent(), strategy, versionOf)).toBe(true)
  expect(isByTerms({ ...anIntent(), terms: of(aStrategy()) }, strategy, versionOf)).toBe(false)
  expect(isByTerms({ ...anIntent(), terms: of(strategy) }, strategy, versionOf)).toBe(true)
})
