import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { baseUnits } from '../../../../src/domain/money/units.ts'
import type { JournalEvent } from '../../../../src/journal/events/registry.ts'
import { slotClosed } from '../../../../src/journal/events/strategy/slots.ts'
import type {
  FillRow,
  FillsPage,
  UnfilledPage,
  UnfilledRow,
} from '../../../../src/ui/page/model.ts'
import { fillBy } from '../../../support/notify/observations.ts'
import { type APage, aPage, said } from '../../../support/page/a-page.ts'
import { onRecord } from '../../../support/state/happened.ts'
import {
  BOUND,
  bytes32,
  callFor,
  callIntentOf,
  executionOf,
  exposed,
  filledSlot,
  fillOf,
  intentOf,
  opened,
  permitFor,
  STRATEGY,
  scheduled,
} from '../../../support/state/journal-events.ts'
import { segmentOf } from '../../../support/state/state-directory.ts'

const SMALL = { segmentBytes: 20_000 }

/** A daemon that filled slots and restarted: the page only knows the journal. */
async function restarted(
  fill: (daemon: APage) => Promise<void>,
  options: Parameters<typeof aPage>[0] = {},
): Promise<APage> {
  const before = await aPage({ journal: SMALL, ...options })
  await before.journal.append(BOUND, scheduled())
  await fill(before)
  await before.close()
  return aPage({ journal: SMALL, ...options, dir: before.dir })
}

async function fillSlots({ journal, clock }: APage, slots: readonly number[]): Promise<void> {
  for (const slot of slots) {
    clock.nowMs += 60_000
    await journal.append(...filledSlot(slot))
  }
}

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

async function pagesOf(
  { page }: APage,
  query: { readonly limit: number; readonly strategy?: string },
): Promise<FillsPage[]> {
  const pages: FillsPage[] = []
  let before: number | undefined
  for (let queries = 0; queries < 1_000; queries += 1) {
    const { limit, strategy } = query
    const answer = await said<FillsPage>(page.fills({ limit, before, strategy }))
    pages.push(answer)
    if (answer.next === null) return pages
    before = Number(answer.next)
  }
  throw new Error('there was no last page')
}

const slotsOf = (pages: readonly FillsPage[]): number[] =>
  pages.flatMap(({ fills }) => fills.map(({ slotSeconds }) => slotSeconds))

test('every fill is shown once, newest first, at any page size', async () => {
  const daemon = await restarted((each) => fillSlots(each, range(2_001, 2_100)))
  for (const limit of [1, 7, 100, 500]) {
    const slots = slotsOf(await pagesOf(daemon, { limit }))
    expect(slots).toEqual(range(2_001, 2_100).reverse())
  }
})

test('a fill read from disk equals its live form', async () => {
  const before = await aPage({ journal: SMALL })
  await before.journal.append(BOUND, scheduled())
  const intent = intentOf(2_000)
  // A feed that values 24.9 USDC at 0.0061 WETH.
  const feed = { num: 24_900_000n, den: 6_100_000_000_000_000n }
  const permit = { ...permitFor(intent), feed }
  const own = { intentId: intent.id, attempt: 1 }
  await before.journal.append(opened(intent))
  await before.journal.append({ type: 'permit-recorded', intentId: intent.id, permit })
  await before.journal.append({ type: 'fill-proven', ...own, fill: fillOf(intent) })
  const live = await said<FillsPage>(before.page.fills(NEWEST))
  await before.close()
  const after = await aPage({ dir: before.dir, journal: SMALL })
  const read = await said<FillsPage>(after.page.fills(NEWEST))
  expect(read).toEqual(live)
  const { txHash } = fillOf(intent)
  expect(read.fills).toEqual([
    {
      intentId: intent.id,
      strategy: STRATEGY,
      slotSeconds: 2_000,
      atMs: 1_800_000_000_000,
      venue: 'gasless',
      paper: false,
      sold: { amount: '24.9', token: 'USDC' },
      bought: { amount: '0.0061', token: 'WETH' },
      call: null,
      vsFeedBps: 0,
      charged: null,
      txHash,
      explorerUrl: `https://explorer.example/tx/${txHash}`,
      undone: false,
    } satisfies FillRow,
  ])
})

const NEWEST = { limit: 100, before: undefined, strategy: undefined }

test('a fill of a later attempt, and calls, are found with their details', async () => {
  const intent = intentOf(2_000)
  const call = callIntentOf(2_002)
  const own = { intentId: intent.id, attempt: 1 }
  const events: JournalEvent[] = [
    opened(intent),
    exposed(intent),
    { type: 'authorization-dead', ...own, how: 'expired', blockNumber: 5n, blockTimeSeconds: 6 },
    exposed(intent, 2),
    { type: 'fill-proven', ...own, attempt: 2, fill: fillOf(intent) },
    opened(call),
    { type: 'call-recorded', intentId: call.id, call: callFor(call, { attempt: 1, nonce: 4n }) },
    { type: 'call-proven', intentId: call.id, attempt: 1, execution: executionOf(call) },
  ]
  const daemon = await restarted(async ({ journal }) => {
    for (const event of events) await journal.append(event)
  })
  const { fills } = await said<FillsPage>(daemon.page.fills(NEWEST))
  expect(fills).toMatchObject([
    { call: 'poke()', venue: 'aggregated', charged: { token: 'ETH' }, explorerUrl: null },
    { sold: { amount: '24.9', token: 'USDC' }, bought: { amount: '0.0061' } },
  ])
})

test('paper fills are marked as such', async () => {
  const before = await aPage()
  await before.journal.append({ ...BOUND, mode: 'dry-run' }, scheduled())
  const intent = intentOf(2_000)
  const amounts = { paid: baseUnits(25_000_000n), received: baseUnits(10n ** 16n) }
  await before.journal.append(opened(intent))
  await before.journal.append({ type: 'paper-filled', intentId: intent.id, attempt: 1, ...amounts })
  await before.close()
  const { page } = await aPage({ dir: before.dir })
  const sold = { amount: '25', token: 'USDC' }
  expect((await said<FillsPage>(page.fills(NEWEST))).fills).toMatchObject([
    { paper: true, sold, bought: { amount: '0.01' }, txHash: null, explorerUrl: null },
  ])
})

test('fills of one strategy are found among others, page by page to the end', async () => {
  const others = range(2_001, 2_120)
  const daemon = await restarted(async (each) => {
    await each.journal.append(scheduled('rare'))
    for (const slot of others) {
      await each.journal.append(...filledSlot(slot))
      if (slot % 40 === 0) await each.journal.append(...filledSlot(slot, 'rare'))
    }
  })
  const rare = await pagesOf(daemon, { limit: 2, strategy: 'rare' })
  expect(slotsOf(rare)).toEqual([2_120, 2_080, 2_040])
  expect(await pagesOf(daemon, { limit: 2, strategy: 'unknown' })).toEqual([
    { fills: [], next: null },
  ])
})

test('fills recorded during a read of older fills appear in order, each once', async () => {
  const daemon = await restarted((each) => fillSlots(each, range(2_001, 2_020)))
  const request = daemon.page.fills(NEWEST)
  await fillSlots(daemon, [2_021, 2_022])
  await request
  expect(slotsOf(await pagesOf(daemon, { limit: 5 }))).toEqual(range(2_001, 2_022).reverse())
})

test('a fill read from disk just before its event is shown once', async () => {
  const daemon = await restarted((each) => fillSlots(each, [2_001, 2_002]))
  await daemon.page.overview()
  const [filled] = (await said<FillsPage>(daemon.page.fills(NEWEST))).fills
  const again = onRecord(fillBy(STRATEGY, filled?.slotSeconds), { seq: 12, atMs: 5 })
  daemon.page.recorded(again)
  expect(slotsOf(await pagesOf(daemon, { limit: 5 }))).toEqual([2_002, 2_001])
})

test('fills beyond the cached number are all found', async () => {
  const daemon = await restarted((each) => fillSlots(each, range(2_001, 2_100)))
  await daemon.page.overview()
  await fillSlots(daemon, range(2_101, 2_800))
  expect(slotsOf(await pagesOf(daemon, { limit: 100 }))).toEqual(range(2_001, 2_800).reverse())
})

test('a reorganised fill is marked as undone, live and after a restart', async () => {
  const daemon = await restarted((each) => fillSlots(each, [2_001, 2_002]))
  const { id: intentId } = intentOf(2_001)
  const isUndone = async ({ page }: APage): Promise<unknown[]> => {
    const { fills } = await said<FillsPage>(page.fills(NEWEST))
    return fills.map(({ slotSeconds, undone }) => [slotSeconds, undone])
  }
  await daemon.page.overview()
  const block = { blockNumber: 12_350n, blockHash: bytes32(99) }
  await daemon.journal.append({ type: 'fill-reopened', intentId, attempt: 1, ...block })
  const undone = [
    [2_002, false],
    [2_001, true],
  ]
  expect(await isUndone(daemon)).toEqual(undone)
  await daemon.close()
  const again = await aPage({ dir: daemon.dir, journal: SMALL })
  expect(await isUndone(again)).toEqual(undone)
  // Proven again, it is a separate fill; the undone one stays.
  const fill = { ...fillOf(intentOf(2_001)), txHash: bytes32(98) }
  await again.journal.append({ type: 'fill-proven', intentId, attempt: 1, fill })
  await again.close()
  const last = await aPage({ dir: daemon.dir, journal: SMALL })
  const { fills } = await said<FillsPage>(last.page.fills(NEWEST))
  expect(fills.map(({ undone: isBack, sold }) => [isBack, sold?.amount])).toEqual([
    [false, '24.9'],
    [false, '24.9'],
    [true, '24.9'],
  ])
})

test('a fill whose opening record was deleted is shown with the fields of the fill record', async () => {
  const daemon = await aPage({ journal: { segmentBytes: 1 } })
  await daemon.journal.append(BOUND, scheduled())
  for (const event of filledSlot(2_001)) await daemon.journal.append(event)
  await daemon.close()
  rmSync(segmentOf(daemon.dir, 1))
  rmSync(segmentOf(daemon.dir, 3))
  const { page } = await aPage({
    settings: { stateDir: daemon.dir },
  })
  const read = await said<FillsPage>(page.fills(NEWEST))
  const { txHash } = fillOf(intentOf(2_001))
  expect(read).toMatchObject({
    fills: [{ sold: null, bought: null, txHash, strategy: STRATEGY }],
    next: null,
  })
})

test('slots without a fill are paged newest first, with skips only on request', async () => {
  const daemon = await restarted(async ({ journal }) => {
    for (const slot of range(2_001, 2_060)) {
      const outcome = slot % 10 === 0 ? 'refused' : 'skipped'
      const reason = outcome === 'refused' ? 'price-deviation' : 'paused'
      const end = { strategy: STRATEGY, slotSeconds: slot, outcome, reason } as const
      if (slot % 7 === 0) await journal.append(...filledSlot(slot))
      else await journal.append(slotClosed({ ...end, detail: `slot ${slot}` }))
    }
  })
  const all = async (skipped: boolean): Promise<readonly UnfilledRow[]> => {
    const rows: UnfilledRow[] = []
    let before: number | undefined
    for (let pages = 0; pages < 100; pages += 1) {
      const query = { limit: 4, before, strategy: STRATEGY, skipped }
      const page = await said<UnfilledPage>(daemon.page.unfilled(query))
      rows.push(...page.slots)
      if (page.next === null) return rows
      before = Number(page.next)
    }
    throw new Error('there was no last page')
  }
  const refused = await all(false)
  expect(refused.map(({ slotSeconds }) => slotSeconds)).toEqual([2_060, 2_050, 2_040, 2_020, 2_010])
  expect(refused[0]).toMatchObject({ outcome: 'refused', reason: 'price-deviation', count: 1 })
  expect(refused[0]?.detail).toBe('slot 2060')
  const slots = (await all(true)).map(({ slotSeconds }) => slotSeconds)
  expect(slots).toEqual(
    range(2_001, 2_060)
      .filter((slot) => slot % 7 !== 0)
      .reverse(),
  )
})
