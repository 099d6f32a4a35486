import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/domain/order/intent.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import type { PauseCause } from '../../../src/journal/records.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { stopsAfter } from '../../../src/venues/close.ts'
import { ACCOUNT } from '../../simulation/stage.ts'
import { aStrategy, OPEN } from '../../support/builders.ts'
import { scheduled } from '../../support/state/journal-events.ts'

/** A state in which slots ended like this, in order. */
function after(...ends: readonly (readonly [string, Outcome])[]): DaemonState {
  const state = emptyState()
  for (const name of ['one', 'two']) reduce(state, scheduled(name), 0)
  for (const [index, [strategy, outcome]] of ends.entries()) {
    const slotSeconds = 2_000 + index
    const closed = {
      type: 'slot-closed',
      strategy,
      slotSeconds,
      reason: 'attempts-exhausted',
    } as const
    reduce(state, { ...closed, outcome }, 0)
  }
  return state
}

function stops(
  state: DaemonState,
  outcome: Outcome,
  max: { readonly own?: number; readonly all?: number },
): string[] {
  const limits = { ...OPEN, maxFailures: max.own }
  const strategies = new Map([['one', aStrategy({ name: 'one', limits })]])
  const account = { ...ACCOUNT, maxFailures: max.all }
  return stopsAfter(outcome, { strategy: 'one', state, strategies, account }).map(
    ({ type }) => type,
  )
}

test.each<Outcome>(['failed', 'refused', 'expired'])(
  'a slot that ends %s stops the strategy at the maximum, not before',
  (outcome) => {
    expect(stops(after(['one', 'failed']), outcome, { own: 3 })).toEqual([])
    expect(stops(after(['one', 'failed'], ['one', 'refused']), outcome, { own: 3 })).toEqual([
      'strategy-paused',
    ])
  },
)

test.each<Outcome>(['filled', 'skipped', 'missed'])(
  'a slot that ends %s stops nothing',
  (outcome) => {
    const state = after(['one', 'failed'], ['one', 'failed'])
    expect(stops(state, outcome, { own: 1, all: 1 })).toEqual([])
  },
)

test('a fill ends the streak; a skipped slot does not change it', () => {
  expect(stops(after(['one', 'failed'], ['one', 'filled']), 'failed', { own: 2 })).toEqual([])
  expect(stops(after(['one', 'failed'], ['one', 'skipped']), 'failed', { own: 2 })).toEqual([
    'strategy-paused',
  ])
})

test('the account counts the slots of every strategy, a strategy only its own', () => {
  const state = after(['two', 'failed'], ['two', 'expired'])
  expect(stops(state, 'failed', { own: 3, all: 3 })).toEqual(['halted'])
  expect(stops(after(['one', 'failed'], ['two', 'filled']), 'failed', { all: 2 })).toEqual([])
})

test('without a maximum nothing is stopped', () => {
  expect(stops(after(...Array(50).fill(['one', 'failed'])), 'failed', {})).toEqual([])
})

test('a stopped strategy or account keeps the cause and time of its stop', () => {
  const state = after(['one', 'failed'])
  const why = { cause: 'operator' as PauseCause, detail: 'paused by the operator' }
  reduce(state, { type: 'strategy-paused', strategy: 'one', ...why }, 5)
  reduce(state, { type: 'halted', ...why }, 5)
  expect(stops(state, 'failed', { own: 2, all: 2 })).toEqual([])
})
