import { describe, expect, test } from 'vitest'
import type { RuntimeEvent } from '../../../../src/journal/runtime-event.ts'
import type { Change, Overview, StrategyRow } from '../../../../src/ui/page/model.ts'
import { aCall, aStrategy } from '../../../support/builders.ts'
import { type APage, aPage, said } from '../../../support/page/a-page.ts'
import {
  BOUND,
  bytes32,
  filledSlot,
  intentOf,
  STRATEGY,
  scheduled,
} from '../../../support/state/journal-events.ts'

const THOUSAND = Array.from({ length: 1_000 }, (_, index) => aStrategy({ name: `s-${index}` }))

const changeSince = async ({ page }: APage, since: number | undefined): Promise<Change> => {
  await page.refresh()
  return said<Change>(page.changeSince(since).text)
}

describe('without readers', () => {
  test('events build no rows and no overviews', async () => {
    const daemon = await aPage({ strategies: THOUSAND })
    await daemon.journal.append(BOUND, scheduled())
    for (let slot = 2_001; slot < 2_100; slot += 1) await daemon.journal.append(...filledSlot(slot))
    for (const { name } of THOUSAND) daemon.page.observe(nextSlot(name, 5))
    expect(daemon.built).toEqual({ rows: 0, overviews: 0 })
  })
})

describe('a change', () => {
  test('of one strategy in a thousand builds and sends one row', async () => {
    const daemon = await aPage({ strategies: THOUSAND })
    const revision = await daemon.page.refresh()
    expect(daemon.built.rows).toBe(1_000)
    daemon.page.observe(nextSlot('s-500', 1_900_000_000))
    const change = await changeSince(daemon, revision)
    expect(daemon.built.rows).toBe(1_001)
    expect(change.strategies).toMatchObject([{ name: 's-500', nextSlotSeconds: 1_900_000_000 }])
    expect(change.overview.revision).toBeGreaterThan(revision)
  })

  test('without visible effect creates no revision', async () => {
    const daemon = await aPage({ strategies: THOUSAND })
    const revision = await daemon.page.refresh()
    daemon.page.observe(nextSlot('s-1', undefined))
    daemon.page.observe({ type: 'open-orders', openPermits: 0, unresolvedIntents: 0 })
    daemon.clock.nowMs += 60_000
    expect(await daemon.page.refresh()).toBe(revision)
  })

  test('shows a strategy as finished at the first word that it has no next slot', async () => {
    const daemon = await aPage({ strategies: [aStrategy({ name: STRATEGY })] })
    await daemon.journal.append(BOUND, scheduled(), ...filledSlot(2_001))
    const revision = await daemon.page.refresh()
    daemon.page.observe(nextSlot(STRATEGY, undefined))
    const { strategies } = await changeSince(daemon, revision)
    expect(strategies).toMatchObject([{ name: STRATEGY, state: 'finished' }])
  })

  test('holds a fill once, and again when it is undone', async () => {
    const daemon = await aPage()
    await daemon.journal.append(BOUND, scheduled())
    let revision = await daemon.page.refresh()
    const next = async (): Promise<Change> => {
      const change = await changeSince(daemon, revision)
      revision = change.overview.revision
      return change
    }
    await daemon.journal.append(...filledSlot(2_001))
    expect((await next()).fills).toMatchObject([{ slotSeconds: 2_001, undone: false }])
    expect((await next()).fills).toEqual([])
    const block = { blockNumber: 5n, blockHash: bytes32(9) }
    const { id: intentId } = intentOf(2_001)
    await daemon.journal.append({ type: 'fill-reopened', intentId, attempt: 1, ...block })
    const change = await next()
    expect(change.fills).toMatchObject([{ slotSeconds: 2_001, undone: true }])
    expect(change.strategies).toMatchObject([{ name: STRATEGY, lastSlot: { outcome: 'open' } }])
    expect(change.overview.orders).toMatchObject([{ intentId, state: 'lapsing' }])
  })

  test('since a revision of another process holds every row, and without a revision none', async () => {
    const daemon = await aPage({ strategies: THOUSAND })
    const revision = await daemon.page.refresh()
    for (const other of [1, revision + 1_000_000])
      expect((await changeSince(daemon, other)).strategies).toHaveLength(1_000)
    expect((await changeSince(daemon, undefined)).strategies).toEqual([])
    expect((await changeSince(daemon, revision)).strategies).toEqual([])
  })

  test('of the files shows disabled and removed strategies at once', async () => {
    const daemon = await aPage({ strategies: [aStrategy({ name: 'a' }), aStrategy({ name: 'b' })] })
    await daemon.page.refresh()
    const account = daemon.settings.limits
    const strategies = [aStrategy({ name: 'a', enabled: false }), aStrategy({ name: 'c' })]
    daemon.page.take({ strategies, account })
    const rows = await said<StrategyRow[]>(daemon.page.strategies())
    expect(rows.map(({ name, state }) => [name, state])).toEqual([
      ['a', 'disabled'],
      ['b', 'removed'],
      ['c', 'active'],
    ])
    const { counts } = await said<Overview>(daemon.page.overview())
    expect(counts).toMatchObject({ strategies: 2, active: 1 })
  })
})

describe('after a restart', () => {
  test('the last slot, the last skip and the last fills are restored', async () => {
    const before = await aPage({ journal: { segmentBytes: 40_000 } })
    await before.journal.append(BOUND, scheduled(), scheduled('skipper'), scheduled('misser'))
    const skip = { type: 'slot-closed', strategy: 'skipper', outcome: 'skipped' } as const
    await before.journal.append({ ...skip, slotSeconds: 2_000, reason: 'cooldown', detail: 'x' })
    for (let slot = 2_001; slot < 2_050; slot += 1) await before.journal.append(...filledSlot(slot))
    for (const event of filledSlot(2_050, 'skipper')) await before.journal.append(event)
    await before.journal.append({
      type: 'slots-missed',
      ...{ strategy: 'misser', firstSeconds: 2_010, lastSeconds: 2_020, count: 2 },
    })
    await before.close()
    const strategies = [STRATEGY, 'skipper', 'misser'].map((name) => aStrategy({ name }))
    const daemon = await aPage({ dir: before.dir, strategies })
    const rows = await said<StrategyRow[]>(daemon.page.strategies())
    expect(rows).toMatchObject([
      { name: 'misser', lastSlot: { slotSeconds: 2_020, outcome: 'missed' }, lastSkip: null },
      {
        name: 'skipper',
        lastSlot: { slotSeconds: 2_050, outcome: 'filled', reason: null },
        lastSkip: { slotSeconds: 2_000, reason: 'cooldown', detail: 'x' },
      },
      { name: STRATEGY, lastSlot: { slotSeconds: 2_049 }, fills: 49 },
    ])
  })

  test('an unreadable journal hides the past and causes one warning', async () => {
    const archive = '/dev/null/nowhere'
    const daemon = await aPage({
      settings: { journal: { archive, keepFiles: 64 } },
      strategies: [aStrategy()],
    })
    expect(await said<StrategyRow[]>(daemon.page.strategies())).toHaveLength(1)
    await daemon.page.overview()
    expect(daemon.warnings).toEqual([expect.stringMatching(/^the page is incomplete: /)])
  })
})

test.each([
  ['a live run with calls', { strategies: [aCall()], settings: {} }, true],
  [
    'a live run with disabled calls',
    { strategies: [aCall({ enabled: false })], settings: {} },
    false,
  ],
  ['a live run without calls', { strategies: [aStrategy()], settings: {} }, false],
  ['a dry-run', { strategies: [aCall()], settings: { mode: 'dry-run' } }, false],
] as const)(
  'a GasTank that was not queried yet appears to %s as unknown only if a query will follow',
  async (_, files, isShown) => {
    const { page } = await aPage(files)
    const { gasTank } = await said<Overview>(page.overview())
    const unknown = { account: 'operator', available: null, unknown: 'not requested yet' }
    expect(gasTank).toEqual(isShown ? expect.objectContaining(unknown) : null)
  },
)

test('a failing observer causes one warning and never throws into its caller', async () => {
  const { page, warnings } = await aPage({ input: { now: brokenClock() } })
  for (let times = 0; times < 3; times += 1)
    page.observe({ type: 'portfolio', valueToken: undefined, holdings: [] })
  expect(warnings).toEqual(['the page is incomplete: no clock'])
})

/** Works while the page is created, and fails afterwards. */
function brokenClock(): () => number {
  let reads = 0
  return () => {
    reads += 1
    if (reads > 1) throw new Error('no clock')
    return 5
  }
}

function nextSlot(strategy: string, nextSlotSeconds: number | undefined): RuntimeEvent {
  return {
    type: 'next-slot',
    strategy,
    nextSlotSeconds,
    lastFillAtMs: undefined,
    paused: false,
    held: false,
  }
}
