import fc from 'fast-check'
import { expect, test } from 'vitest'
import { titleOf } from '../../../src/journal/events/outputs.ts'
import { type ReadRecord, reduceRecorded } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { legalEvents } from '../../support/state/state-moves.ts'

test('every journal event has a short title on one line', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 30, maxLength: 60 }), (choices) => {
      const state = emptyState()
      for (const [now, choice] of choices.entries()) {
        const events = legalEvents(state, 1_000 + now)
        const event = events[choice % events.length]
        if (event === undefined) return
        const record = { seq: now + 1, atMs: (1_000 + now) * 1000 }
        const entry = reduceRecorded(state, event, record)
        seen.add(event.type)
        const title = titleOf(entry as ReadRecord)
        expect(title).toMatch(/^[\w\d][^\n]{2,199}$/)
        expect(title).not.toMatch(/undefined|\[object|NaN/)
      }
    }),
    { numRuns: 200 },
  )
  expect(seen.size).toBeGreaterThan(20)
})
