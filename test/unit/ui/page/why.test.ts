import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../../src/journal/events/registry.ts'
import type { TransactionRecord } from '../../../../src/journal/records.ts'
import { createScrubber } from '../../../../src/system/scrubber.ts'
import type { Why } from '../../../../src/ui/page/model.ts'
import { slotIn } from '../../../../src/ui/page/server/why.ts'
import { type APage, aPage, said } from '../../../support/page/a-page.ts'
import {
  BOUND,
  bytes32,
  filledSlot,
  fillOf,
  intentOf,
  OWNER,
  opened,
  STRATEGY,
  scheduled,
} from '../../../support/state/journal-events.ts'

const SLOT = 1_800_000_000
const START_MS = SLOT * 1000 - 60 * 60_000

/** Writes slots a minute apart, including the queried one. */
async function appendSlots(
  { journal, clock }: APage,
  own: readonly JournalEvent[] = filledSlot(SLOT),
): Promise<void> {
  await journal.append(BOUND, scheduled(), scheduled('other'))
  for (let minute = -59; minute <= 59; minute += 1) {
    clock.nowMs = (SLOT + minute * 60) * 1000
    await journal.append(...filledSlot(SLOT + minute * 60, 'other'))
    if (minute === 0) for (const event of own) await journal.append(event)
  }
}

const why = ({ page }: APage, slotSeconds = SLOT, strategy = STRATEGY) =>
  said<Why | null>(page.why({ strategy, slotSeconds }))

const titles = (found: Why | null): string[] => found?.lines.map(({ title }) => title) ?? []

test('shows a slot from its opening to its outcome, in sentences, among other slots', async () => {
  const daemon = await aPage({ nowMs: START_MS, journal: { segmentBytes: 10_000 } })
  await appendSlots(daemon)
  const found = await why(daemon)
  expect(found).toMatchObject({ slot: `${STRATEGY}:${SLOT}`, whole: true })
  expect(titles(found)).toEqual([
    'opened in time, 1 order',
    'attempt 1 recorded, ready to sign, valid until 2027-01-15T08:10Z',
    `attempt 1 accepted as order-${SLOT}`,
    'filled: 24.9 USDC for 0.0061 WETH',
    'filled',
  ])
  expect(found?.lines[3]?.facts).toContainEqual(['fill.paid', '24900000'])
  expect(found?.lines.flatMap(({ facts }) => facts.map(([name]) => name))).not.toContain('type')
})

test('includes later finality, reorganisations and wallet transactions', async () => {
  const intent = intentOf(SLOT)
  const transaction: TransactionRecord = {
    id: 'approve:0xaa:7',
    purpose: 'approve',
    intentId: intent.id,
    chainId: 8453,
    from: OWNER,
    nonce: 7,
    to: OWNER,
    data: '0x',
    value: 0n,
    gas: 1n,
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
  }
  const [opening, ...rest] = filledSlot(SLOT)
  const daemon = await aPage({ nowMs: START_MS, journal: { segmentBytes: 10_000 } })
  await appendSlots(daemon, [
    ...(opening === undefined ? [] : [opening]),
    { type: 'transaction-recorded', transaction },
    { type: 'transaction-signed', id: transaction.id, hash: bytes32(3) },
    {
      type: 'transaction-ended',
      ...{ id: transaction.id, status: 'mined', hash: bytes32(3), blockNumber: 5n },
      fee: 10n ** 15n,
    },
    ...rest,
  ])
  const { blockNumber } = fillOf(intent)
  await daemon.journal.append({ type: 'fills-final', orders: [`${intent.id}:1`], blockNumber })
  expect(titles(await why(daemon))).toEqual([
    'opened in time, 1 order',
    'own transaction (approve) recorded',
    'own transaction (approve) signed',
    'own transaction (approve) mined, it cost 0.001 ETH',
    expect.stringMatching(/^attempt 1 recorded/),
    expect.stringMatching(/^attempt 1 accepted/),
    expect.stringMatching(/^filled: /),
    'filled',
    'final by block 12350',
  ])
})

test('a slot in a run of missed slots shows the run', async () => {
  const daemon = await aPage({ nowMs: START_MS })
  await appendSlots(daemon, [
    {
      type: 'slots-missed',
      ...{ strategy: STRATEGY, firstSeconds: SLOT - 600, lastSeconds: SLOT - 60, count: 10 },
      detail: 'chain base could not be read',
    },
  ])
  const found = await why(daemon, SLOT - 300)
  expect(titles(found)).toEqual(['10 slots missed'])
  expect(found?.lines[0]?.sentences[0]).toBe('Chain base could not be read.')
  expect(await why(daemon, SLOT - 900)).toBeNull()
})

test('a slot without records has no explanation', async () => {
  const daemon = await aPage({ nowMs: START_MS })
  expect(await why(daemon)).toBeNull()
  await appendSlots(daemon)
  expect(await why(daemon, SLOT, 'unknown')).toBeNull()
  expect(await why(daemon, SLOT + 1)).toBeNull()
  expect(await why(daemon, 999_999_999_999)).toBeNull()
})

test("a strategy whose name starts with another's name has its own slots", async () => {
  const daemon = await aPage({ nowMs: START_MS })
  await appendSlots(daemon)
  const found = await why(daemon, SLOT, 'other')
  expect(found?.lines).toHaveLength(5)
  expect(await why(daemon, SLOT, 'the')).toBeNull()
})

test('a record of thousands of characters is cut, and so is a long list of records', async () => {
  const daemon = await aPage({ nowMs: START_MS })
  const intent = intentOf(SLOT)
  const own = { intentId: intent.id, attempt: 1 }
  const attempts = Array.from({ length: 400 }, (_, index): JournalEvent[] => {
    const attempt = index + 1
    const permit = { ...permitOf(intent, attempt) }
    return [
      { type: 'permit-recorded', intentId: intent.id, permit },
      {
        type: 'authorization-dead',
        ...{ ...own, attempt, how: 'expired', blockNumber: 5n, blockTimeSeconds: 6 },
      },
    ]
  })
  await appendSlots(daemon, [opened(intent), ...attempts.flat()])
  const found = await why(daemon)
  expect(found?.lines).toHaveLength(300)
  expect(found?.whole).toBe(false)
  const closed: JournalEvent = {
    type: 'slot-closed',
    strategy: 'talker',
    slotSeconds: SLOT,
    outcome: 'skipped',
    reason: 'module-skipped',
    detail: 'x'.repeat(5_000),
  }
  await daemon.journal.append(scheduled('talker'), closed)
  const talk = await why(daemon, SLOT, 'talker')
  expect(JSON.stringify(talk).length).toBeLessThan(2_000)
})

test('secrets that the log would hide are hidden here, by value and by name', async () => {
  const scrubber = createScrubber()
  scrubber.add('hunter2hunter2')
  const hiding = { clean: scrubber.text, value: scrubber.value }
  const daemon = await aPage({ nowMs: START_MS, input: { hiding } })
  const detail = `requested https://node.example/v3/hunter2hunter2 with 0x${'ab'.repeat(65)}`
  await daemon.journal.append(BOUND, scheduled())
  await daemon.journal.append({
    type: 'slot-closed',
    ...{
      strategy: STRATEGY,
      slotSeconds: SLOT,
      outcome: 'skipped',
      reason: 'module-failed',
      detail,
    },
    memory: { apiKey: 'a value of that name' },
  })
  const text = JSON.stringify(await why(daemon))
  expect(text).toContain('node.example')
  for (const secret of ['hunter2', 'abababab', 'a value of that name'])
    expect(text).not.toContain(secret)
})

test.each([
  ['weekly-eth:1800000000', { strategy: 'weekly-eth', slotSeconds: 1_800_000_000 }],
  ['weekly-eth:1800000000:0', { strategy: 'weekly-eth', slotSeconds: 1_800_000_000 }],
  ['weekly-eth', undefined],
  ['Weekly:1', undefined],
  ['../../etc:1', undefined],
  ['a:1234567890123', undefined],
])('the slot in %s is parsed or rejected', (text, slot) => {
  expect(slotIn(text)).toEqual(slot)
})

function permitOf(intent: ReturnType<typeof intentOf>, attempt: number) {
  const event = filledSlot(SLOT)[1]
  if (event?.type !== 'permit-recorded') throw new Error('the slot has no permit')
  return { ...event.permit, attempt, clientOrderId: `${intent.id}:${attempt}` }
}
