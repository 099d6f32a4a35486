import { expect, test } from 'vitest'
import { createFaults } from '../../../src/sandbox/faults.ts'

test('no fault applies without settings', () => {
  const faults = createFaults(undefined)
  expect(faults.forRequest('quote')).toEqual([])
  expect(faults.forQuote()).toEqual([])
  expect(faults.forOrder()).toEqual([])
  expect(faults.forCall()).toEqual([])
})

test('a rule with a count applies exactly that often', () => {
  const faults = createFaults({ rules: [{ kind: 'errorBefore', route: 'orders', count: 2 }] })
  const applied = Array.from({ length: 5 }, () => faults.forRequest('orders').length)
  expect(applied).toEqual([1, 1, 0, 0, 0])
  expect(faults.snapshot().rules).toMatchObject([{ kind: 'errorBefore', applied: 2 }])
})

test('a rule applies to its route, and a rule without a route to all', () => {
  const faults = createFaults({
    rules: [{ kind: 'dropAfter', route: 'quote' }, { kind: 'errorAfter' }],
  })
  expect(faults.forRequest('quote').map(({ kind }) => kind)).toEqual(['dropAfter', 'errorAfter'])
  expect(faults.forRequest('tokens').map(({ kind }) => kind)).toEqual(['errorAfter'])
})

test('a rule can cover all routes of one service', () => {
  const faults = createFaults({
    rules: [
      { kind: 'dropAfter', route: 'aggregator' },
      { kind: 'dropBefore', route: 'gasless' },
    ],
  })
  expect(faults.forRequest('accountInfo').map(({ kind }) => kind)).toEqual(['dropAfter'])
  expect(faults.forRequest('tokens').map(({ kind }) => kind)).toEqual(['dropBefore'])
})

test('faults of orders and of aggregated calls are drawn separately', () => {
  const faults = createFaults({
    rules: [{ kind: 'neverFill' }, { kind: 'neverIncluded', count: 1 }, { kind: 'batchReverted' }],
  })
  expect(faults.forOrder().map(({ kind }) => kind)).toEqual(['neverFill'])
  expect(faults.forCall().map(({ kind }) => kind)).toEqual(['neverIncluded', 'batchReverted'])
  expect(faults.forCall()).toMatchObject([{ kind: 'batchReverted', retry: true }])
})

test('a probability holds in the long run, and one seed gives one sequence', () => {
  const sequence = (seed: number) => {
    const faults = createFaults({
      seed,
      rules: [{ kind: 'dropBefore', probability: 0.25 }],
    })
    return Array.from({ length: 2_000 }, () => faults.forRequest('order').length)
  }
  const hits = sequence(5).reduce((sum, hit) => sum + hit, 0)
  expect(hits).toBeGreaterThan(400)
  expect(hits).toBeLessThan(600)
  expect(sequence(5)).toEqual(sequence(5))
  expect(sequence(5)).not.toEqual(sequence(6))
})

test('new rules replace the old rules', () => {
  const faults = createFaults({ rules: [{ kind: 'neverFill' }] })
  faults.set({ rules: [{ kind: 'tamper', tampering: 'wrongSpender' }] })
  expect(faults.forOrder()).toEqual([])
  expect(faults.forQuote()).toEqual(['wrongSpender'])
})

test.each([
  [{ rules: [{ kind: 'explode' }] }],
  [{ rules: [{ kind: 'slow' }] }],
  [{ rules: [{ kind: 'tamper', tampering: 'nicely' }] }],
  [{ rules: [{ kind: 'neverFill', route: 'quote' }] }],
  [{ rules: [{ kind: 'dropBefore', probability: 2 }] }],
  [{ faults: [] }],
])('invalid settings %j are rejected, and the old rules stay', (settings) => {
  const faults = createFaults({ rules: [{ kind: 'neverFill' }] })
  expect(() => faults.set(settings)).toThrow()
  expect(faults.snapshot().rules).toHaveLength(1)
})
