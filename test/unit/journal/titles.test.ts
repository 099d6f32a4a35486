import fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptyState } from '../../../src/domain/book/fields.ts'
import { applyAndTell } from '../../../src/domain/book/tell.ts'
import { titleOf } from '../../../src/domain/book/titles.ts'
import { legalEvents } from '../../support/state/state-moves.ts'

test('every fact that a daemon can tell has a title of one short line', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 30, maxLength: 60 }), (choices) => {
      const state = emptyState()
      for (const [now, choice] of choices.entries()) {
        const events = legalEvents(state, 1_000 + now)
        const event = events[choice % events.length]
        if (event === undefined) return
        const fact = applyAndTell(state, event, (1_000 + now) * 1000)
        seen.add(fact.type)
        expect(titleOf(fact)).toMatch(/^[\w\d][^\n]{2,199}$/)
        expect(titleOf(fact)).not.toMatch(/undefined|\[object|NaN/)
      }
    }),
    { numRuns: 200 },
  )
  expect(seen.size).toBeGreaterThan(20)
})
