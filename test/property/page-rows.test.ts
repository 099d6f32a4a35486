import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Recorded, reduceRecorded } from '../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../src/journal/runtime-event.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import type { Strategy } from '../../src/strategies/registry.ts'
import type { Change, FillRow, Overview, StrategyRow } from '../../src/ui/page/model.ts'
import { createReadModel, type ReadModel } from '../../src/ui/page/server/read-model.ts'
import { byRoute } from '../../src/venues/projections.ts'
import { aStrategy } from '../support/builders.ts'
import { said } from '../support/page/a-page.ts'
import { legalEvents } from '../support/state/state-moves.ts'

/** What can happen between two refreshes. */
type Move =
  | { readonly tag: 'record'; readonly choice: number }
  | { readonly tag: 'next'; readonly name: string; readonly slot: number | undefined }
  | { readonly tag: 'waits'; readonly name: string; readonly slot: number }
  | { readonly tag: 'files'; readonly names: readonly string[]; readonly off: readonly string[] }
  | { readonly tag: 'refresh'; readonly client: 0 | 1 }

const name = fc.constantFrom('alpha', 'beta', 'gamma')
const slot = fc.integer({ min: 1, max: 90 })
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ tag: fc.constant('record' as const), choice: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      tag: fc.constant('next' as const),
      name,
      slot: fc.option(slot, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ tag: fc.constant('waits' as const), name, slot }) },
  {
    weight: 1,
    arbitrary: fc.record({
      tag: fc.constant('files' as const),
      names: fc.uniqueArray(name),
      off: fc.uniqueArray(name),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      tag: fc.constant('refresh' as const),
      client: fc.constantFrom(0 as const, 1 as const),
    }),
  },
)

/** A browser that keeps the rows it was sent. */
class Client {
  revision: number | undefined = 0
  readonly strategies = new Map<string, StrategyRow>()
  readonly fills = new Map<string, FillRow>()
  overview: Overview | undefined

  async refresh(model: ReadModel): Promise<void> {
    await model.refresh()
    const { revision, text } = model.changeSince(this.revision)
    const change: Change = await said(text)
    this.revision = revision
    this.overview = change.overview
    for (const row of change.strategies) this.strategies.set(row.name, row)
    for (const row of change.fills.toReversed())
      this.fills.set(`${row.intentId} ${row.txHash}`, row)
  }
}

/** A daemon's state and files, with all events published about them. */
class Timeline {
  readonly state = emptyState()
  readonly observed: RuntimeEvent[] = []
  readonly records: Recorded[] = []
  strategies: readonly Strategy[] = ['alpha', 'beta'].map((each) => aStrategy({ name: each }))

  /** A read model that follows the timeline from here on. */
  model(): ReadModel {
    const model = createReadModel({
      now: () => 0,
      clean: (text) => text,
      explorers: NO_EXPLORERS,
      describe: ({ kind, enabled }) => ({ kind, enabled, does: '', schedule: '' }),
      overview: () => ({ counts: { unresolved: this.state.intents.size } }) as unknown as Overview,
      firstRevision: 1_000,
    })
    model.take(this.strategies)
    model.begin(this.state)
    return model
  }

  go(on: Exclude<Move, { tag: 'refresh' }>, now: number, model: ReadModel): void {
    if (on.tag === 'files') {
      const { names, off } = on
      this.strategies = names.map((each) => aStrategy({ name: each, enabled: !off.includes(each) }))
      model.take(this.strategies)
    } else if (on.tag === 'record') {
      const events = legalEvents(this.state, 1_000 + now)
      const event = events[on.choice % events.length]
      if (event === undefined) return
      const record = { seq: this.records.length + 1, atMs: now }
      const entry = reduceRecorded(this.state, event, record)
      this.records.push(entry)
      model.recorded(entry)
    } else {
      const event = observationOf(on)
      this.observed.push(event)
      model.observe(event)
    }
  }

  /** A read model that gets all events at once, with the latest files. */
  async fromScratch(): Promise<ReadModel> {
    const scratch = this.model()
    for (const event of this.observed) scratch.observe(event)
    for (const entry of this.records) scratch.recorded(entry)
    await scratch.refresh()
    return scratch
  }
}

test('rows sent incrementally equal a model built from scratch, for any events between refreshes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 20, maxLength: 90 }), async (moves) => {
      const timeline = new Timeline()
      const model = timeline.model()
      const clients = [new Client(), new Client()] as const
      for (const [now, each] of moves.entries()) {
        if (each.tag === 'refresh') await clients[each.client].refresh(model)
        else timeline.go(each, now, model)
      }
      const scratch = await timeline.fromScratch()
      const rows: StrategyRow[] = await said(scratch.strategiesText())
      const fills = scratch.fills.before(Number.POSITIVE_INFINITY, undefined)
      const fillTexts = fills.map((entry) => scratch.fillText(entry)).sort()
      const names = new Set(rows.map((row) => row.name))
      for (const client of clients) {
        await client.refresh(model)
        // A strategy removed before its first slot is not sent to later clients.
        const known = [...client.strategies.values()].filter(
          (row) => row.state !== 'removed' || names.has(row.name),
        )
        expect(byName(known)).toEqual(rows)
        expect(client.overview?.counts.unresolved).toBe(timeline.state.intents.size)
        const shown = [...client.fills.values()].map((row) => JSON.stringify(row))
        expect(shown.sort()).toEqual(fillTexts)
      }
    }),
    { numRuns: 150 },
  )
})

const NO_EXPLORER = { transaction: () => null, address: () => null }
const NO_EXPLORERS = byRoute(() => NO_EXPLORER)

function byName(rows: readonly StrategyRow[]): readonly StrategyRow[] {
  return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function observationOf(each: Extract<Move, { tag: 'next' | 'waits' }>): RuntimeEvent {
  const { name: strategy } = each
  if (each.tag === 'next')
    return {
      type: 'next-slot',
      strategy,
      nextSlotSeconds: each.slot,
      lastFillAtMs: undefined,
      paused: false,
      held: false,
    }
  return { type: 'slot-waiting', strategy, slotSeconds: each.slot, reason: 'cooldown', detail: '' }
}
