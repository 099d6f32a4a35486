import { expect, test } from 'vitest'
import { report } from '../../../../src/cli/commands/money/report.ts'
import type { DriftOutput } from '../../../../src/cli/json/money-outputs.ts'
import type { Token } from '../../../../src/domain/money/token.ts'
import { baseUnits } from '../../../../src/domain/money/units.ts'
import type { JournalEvent } from '../../../../src/journal/events/registry.ts'
import { outputOf } from '../../../support/output-of.ts'
import { BOUND, filledSlot, intentOf } from '../../../support/state/journal-events.ts'
import { openForTest } from '../../../support/state/state-directory.ts'
import { aFolder, HOUR, hour } from '../backtest/backtest-fixture.ts'
import { printed } from '../reading-fixture.ts'

const USDC: Token = {
  ...intentOf(0).sell.token,
  address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
}
const WETH: Token = {
  ...intentOf(0).buy.token,
  address: '0x4200000000000000000000000000000000000006',
}
const STRATEGY = 'hourly'

/** What a decision at 2000 USDC per WETH saw. */
const inputsAt = (seconds: number) => ({
  ...{
    blockNumber: 1n,
    blockTimeSeconds: seconds,
    available: { USDC: 1_000_000_000n },
    memory: {},
  },
  prices: {
    'USDC/WETH': {
      ...{ num: 2_000_000_000n, den: 10n ** 18n, updatedAtSeconds: seconds - 60 },
      feeds: ['WETH/USDC'],
    },
  },
})

/** A slot that bought for 25 USDC. */
function bought(slotSeconds: number, received: bigint): readonly JournalEvent[] {
  return filledSlot(slotSeconds, STRATEGY).map((event): JournalEvent => {
    if (event.type === 'slot-opened') {
      const [intent = intentOf(slotSeconds)] = event.intents.filter((each) => 'sell' in each)
      const tokens = {
        sell: { token: USDC, native: false },
        buy: { token: WETH, native: false },
      }
      return { ...event, intents: [{ ...intent, ...tokens }], inputs: inputsAt(slotSeconds) }
    }
    if (event.type !== 'fill-proven') return event
    const amounts = { paid: baseUnits(25_000_000n), received: baseUnits(received) }
    return { ...event, fill: { ...event.fill, ...amounts } }
  })
}

function skipped(slotSeconds: number): JournalEvent {
  return {
    ...{ type: 'slot-closed', strategy: STRATEGY, slotSeconds },
    ...{ outcome: 'skipped', reason: 'cooldown', inputs: inputsAt(slotSeconds) },
  }
}

/** A journal in which the strategy began at the hour 0, with each event at the time of its slot. */
async function aJournal(events: readonly (readonly [hourOfDay: number, JournalEvent])[]) {
  const { dir } = aFolder({})
  let nowMs = hour(0) * 1000 - HOUR * 1000
  const { journal, close } = await openForTest(`${dir}/state`, {
    clock: { now: () => nowMs },
  })
  const scheduled: JournalEvent = {
    ...{ type: 'strategy-scheduled', strategy: STRATEGY, scheduleKey: '0 * * * * UTC' },
    fromSeconds: hour(0) - 1,
  }
  for (const event of [BOUND, scheduled]) await journal.append(event)
  for (const [at, event] of events) {
    nowMs = hour(at) * 1000 + 2_000
    await journal.append(event)
  }
  await close()
  const options = { config: `${dir}/config.yaml`, timezone: 'UTC', againstBacktest: true }
  const nowSeconds = hour(24)
  const read = (more: { json?: boolean; since?: number; by?: 'day' } = {}) =>
    printed((io) => report({ ...options, ...more }, io, nowSeconds * 1000), {
      json: more.json === true,
    })
  return {
    read,
    async drift(since?: number): Promise<DriftOutput> {
      const more = since === undefined ? {} : { since }
      const { stdout } = await read({ json: true, ...more })
      return outputOf<DriftOutput>('report', stdout)
    },
  }
}

/** 25 USDC at 2000 USDC per WETH, less the model's 10 bps. */
const EXPECTED = 12_487_500_000_000_000n

const at = (hourOfDay: number, events: readonly JournalEvent[]) =>
  events.map((event) => [hourOfDay, event] as const)

test('live fills are compared with a backtest of the same slots, in basis points', async () => {
  const { drift } = await aJournal([
    ...at(0, bought(hour(0), EXPECTED)),
    ...at(1, bought(hour(1), (EXPECTED * 98n) / 100n)),
    ...at(2, [skipped(hour(2))]),
    ...at(3, bought(hour(3), EXPECTED)),
  ])
  const { model, strategies } = await drift()
  expect(model).toMatchObject({ source: 'default', spreadBps: 10 })
  expect(strategies).toEqual([
    {
      ...{ strategy: STRATEGY, slots: 4, same: 3, byHand: 0, otherTerms: 0 },
      pairs: [
        {
          fills: 3,
          sold: { amount: '75', token: 'USDC' },
          bought: { amount: '0.03721275', token: 'WETH' },
          expected: { amount: '0.0374625', token: 'WETH' },
          vsBacktestBps: -67,
        },
      ],
      differences: [
        {
          live: { outcome: 'skipped', reason: 'cooldown' },
          expected: { outcome: 'filled', reason: 'filled' },
          slots: 1,
          lastSlot: `${STRATEGY}:${hour(2)}`,
        },
      ],
    },
  ])
})

test('a period begins with the spending and memory that the daemon had then', async () => {
  const { drift } = await aJournal([
    ...at(0, bought(hour(0), EXPECTED)),
    ...at(1, bought(hour(1), EXPECTED)),
    ...at(2, bought(hour(2), EXPECTED)),
  ])
  const { fromAt, strategies } = await drift(hour(1) * 1000)
  expect(fromAt).toBe(new Date(hour(1) * 1000).toISOString())
  expect(strategies.map(({ slots, same }) => ({ slots, same }))).toEqual([{ slots: 2, same: 2 }])
})

test('an outage is compared with all slots that it missed, and a slot opened by hand with none', async () => {
  const { drift } = await aJournal([
    ...at(0, bought(hour(0), EXPECTED)),
    ...at(0, bought(hour(0) + 600, EXPECTED)),
    [
      3,
      {
        ...{ type: 'slots-missed', strategy: STRATEGY, firstSeconds: hour(1) },
        ...{ lastSeconds: hour(3), count: 3 },
      },
    ],
    ...at(4, bought(hour(4), EXPECTED)),
  ])
  const { strategies } = await drift()
  expect(strategies[0]).toMatchObject({ slots: 5, same: 2, byHand: 1 })
  const missed = { live: { outcome: 'missed', reason: 'missed' }, lastSlot: `hourly:${hour(3)}` }
  expect(strategies[0]?.differences).toEqual([
    // The feed was last read before the outage.
    { ...missed, expected: { outcome: 'skipped', reason: 'price-stale' }, slots: 2 },
    { ...missed, expected: { outcome: 'filled', reason: 'filled' }, slots: 1 },
  ])
})

test('people read how many slots and by how much fills differ', async () => {
  const { read } = await aJournal([
    ...at(0, bought(hour(0), (EXPECTED * 99n) / 100n)),
    ...at(1, [skipped(hour(1))]),
  ])
  const { code, stdout } = await read()
  expect(code).toBe(0)
  expect(stdout).toContain('LIVE AGAINST BACKTEST, 2024-12-31 23:00 to 2025-01-01 01:00 UTC')
  expect(stdout).toContain('hourly: 1 of 2 slots as expected, fills 100 bps worse than expected')
  expect(stdout).toMatch(/skipped cooldown +filled +1 +hourly:\d+/)
})

test('a grouping, and a period without records, are refused', async () => {
  const { read } = await aJournal(at(0, bought(hour(0), EXPECTED)))
  const grouped = await read({ by: 'day' })
  expect(grouped.code).toBe(2)
  expect(grouped.stderr).toContain('--by does not fit --against-backtest')
  const late = await read({ since: hour(20) * 1000 })
  expect(late.code).toBe(1)
  expect(late.stderr).toContain('the journal has no record of this period')
})
