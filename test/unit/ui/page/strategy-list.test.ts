import { expect, test } from 'vitest'
import { mergeStrategies } from '../../../../src/ui/page/client/data/store.ts'
import {
  chooseStrategies,
  type StrategyChoice,
} from '../../../../src/ui/page/client/views/strategies.tsx'
import type { StrategyRow } from '../../../../src/ui/page/model.ts'

function row(name: string, part: Partial<StrategyRow> = {}): StrategyRow {
  return {
    name,
    kind: 'dca',
    state: 'active',
    does: 'dca 25 USDC -> WETH',
    schedule: '"0 9 * * 1" UTC',
    nextSlotSeconds: null,
    paused: null,
    waits: null,
    lastSlot: null,
    lastSkip: null,
    fills: 0,
    lastFillAtMs: null,
    ...part,
  }
}

const ALL: StrategyChoice = { search: '', filter: 'all', sort: 'name', direction: 'ascending' }

function namesOf(rows: readonly StrategyRow[], choice: Partial<StrategyChoice>): string[] {
  return chooseStrategies(rows, { ...ALL, ...choice }).map(({ name }) => name)
}

test('rows of a change replace those of the same name, and join the others', () => {
  const before = new Map([['a', row('a')]])
  const after = mergeStrategies(before, [row('a', { fills: 2 }), row('b')])
  expect([...after.values()].map(({ name, fills }) => [name, fills])).toEqual([
    ['a', 2],
    ['b', 0],
  ])
  expect(before.get('a')?.fills).toBe(0)
  expect(mergeStrategies(after, [])).toBe(after)
})

test('rows without a value come last in either direction', () => {
  const rows = [
    row('none'),
    row('late', { nextSlotSeconds: 9 }),
    row('soon', { nextSlotSeconds: 1 }),
  ]
  expect(namesOf(rows, { sort: 'next' })).toEqual(['soon', 'late', 'none'])
  expect(namesOf(rows, { sort: 'next', direction: 'descending' })).toEqual(['late', 'soon', 'none'])
})

test('equal rows are sorted by name, so that the order is stable', () => {
  const rows = [row('c'), row('a'), row('b', { fills: 1 })]
  expect(namesOf(rows, { sort: 'fills', direction: 'descending' })).toEqual(['b', 'a', 'c'])
})

test('every search term must match somewhere in the row', () => {
  const skipped = { slotSeconds: 1, outcome: 'skipped', reason: 'inside-band', detail: null }
  const rows = [row('a', { lastSlot: skipped }), row('b', { kind: 'twap' })]
  expect(namesOf(rows, { search: 'usdc INSIDE' })).toEqual(['a'])
  expect(namesOf(rows, { search: 'twap' })).toEqual(['b'])
  expect(namesOf(rows, { search: 'twap inside' })).toEqual([])
})

test('the attention filter shows paused, waiting, failed and missed strategies, but no skips', () => {
  const ended = (outcome: string) => ({ slotSeconds: 1, outcome, reason: null, detail: null })
  const rows = [
    row('paused', { state: 'paused' }),
    row('waits', { waits: 'a slot before it is open' }),
    row('failed', { lastSlot: ended('failed') }),
    row('missed', { lastSlot: ended('missed') }),
    row('skipped', { lastSlot: ended('skipped') }),
    row('removed', { state: 'removed', lastSlot: ended('failed') }),
  ]
  expect(namesOf(rows, { filter: 'attention' })).toEqual(['failed', 'missed', 'paused', 'waits'])
  expect(namesOf(rows, { filter: 'removed' })).toEqual(['removed'])
})
