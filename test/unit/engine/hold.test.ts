import { expect, test } from 'vitest'
import { createPricePaths } from '../../../src/domain/money/price.ts'
import { firstCheck, implausibleText, termsOfPrices } from '../../../src/engine/limits/hold.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { WETH_USDC } from '../../simulation/stage.ts'
import { scheduled } from '../../support/state/journal-events.ts'
import { aMarket, aThreshold, below, feedAt } from '../strategies/decide-fixture.ts'

const STRATEGY = aThreshold({ rungs: [below(2_600)] })
const MARKET = aMarket({ prices: feedAt(2_500) })

function stateOf(...events: readonly JournalEvent[]): DaemonState {
  const state = emptyState()
  for (const event of events) reduce(state, event, 0)
  return state
}

test('a strategy with decisions by an older version is not new: its terms are accepted unchanged', () => {
  const state = stateOf(scheduled('stop'))
  expect(firstCheck({ state, mode: 'live', terms: 'aa' }, STRATEGY, MARKET)).toEqual({
    ...{ terms: 'aa', alongside: [] },
  })
  const fresh = stateOf({ ...scheduled('stop'), isFirst: true } as JournalEvent)
  const check = firstCheck({ state: fresh, mode: 'live', terms: 'aa' }, STRATEGY, MARKET)
  expect(check.skip?.reason).toBe('needs-approval')
})

test('terms approved before a change that was reverted are no longer held', () => {
  const held = { type: 'strategy-held', strategy: 'stop', detail: '' } as const
  const state = stateOf(
    { ...scheduled('stop'), isFirst: true } as JournalEvent,
    { type: 'hold-lifted', strategy: 'stop', terms: 'aa', cause: 'operator', detail: '' },
    { ...held, terms: 'bb' },
  )
  const check = firstCheck({ state, mode: 'live', terms: 'aa' }, STRATEGY, MARKET)
  expect(check).toMatchObject({ alongside: [{ type: 'hold-lifted', terms: 'aa', cause: 'file' }] })
  expect(check.skip).toBeUndefined()
})

test('nothing is held without terms, as in a backtest or replay', () => {
  const state = stateOf({ ...scheduled('stop'), isFirst: true } as JournalEvent)
  expect(firstCheck({ state, mode: 'live' }, STRATEGY, MARKET)).toEqual({ alongside: [] })
})

test('many levels that would fire are summarised as three and a count', () => {
  const fires = ['a', 'b', 'c', 'd', 'e']
  expect(implausibleText({ fires, far: [], isPartial: false })).toBe('a; b; c; 2 more')
})

test('terms approved with one feed need a new approval if the config names another feed', () => {
  const other = { ...WETH_USDC, feed: `0x${'fe'.repeat(20)}` } as const
  const terms = [WETH_USDC, other].map((feed) =>
    termsOfPrices(STRATEGY, () => undefined, createPricePaths([feed])),
  )
  const lifted = { type: 'hold-lifted', strategy: 'stop', cause: 'operator', detail: '' } as const
  const fresh = { ...scheduled('stop'), isFirst: true } as JournalEvent
  const state = stateOf(fresh, { ...lifted, terms: terms[0] ?? '' })
  const skipped = terms.map(
    (each) => firstCheck({ state, mode: 'live', terms: each }, STRATEGY, MARKET).skip?.reason,
  )
  expect(skipped).toEqual([undefined, 'needs-approval'])
})
