import { expect, test } from 'vitest'
import { DEFAULT_MODEL, type FillModel } from '../../../src/backtest/model.ts'
import { Observer, observedNote } from '../../../src/backtest/observed.ts'
import { Play } from '../../../src/backtest/play.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { TransactionPurpose } from '../../../src/journal/records.ts'
import { aTape, DAY, inputOf, recording, YEAR_BEGINS } from '../../support/backtest/playing.ts'
import { aCall, aSchedule, aStrategy, usdc } from '../../support/builders.ts'

/** Plays a year with a fill model and observes the journal that a daemon would write. */
async function observedOf(model: Partial<FillModel>, days = 365): Promise<Observer> {
  const price = (at: number): number => 2_500 + 100 * Math.sin(at / 40_000)
  const minutes = Array.from({ length: days * 24 }, (_, hour) => YEAR_BEGINS + hour * 3_600 - 60)
  const play = new Play(
    inputOf(
      {
        strategies: [
          aStrategy({ name: 'daily', schedule: aSchedule('0 9 * * *') }),
          aCall({ name: 'calls', schedule: aSchedule('0 0 * * *') }),
        ],
        usdc: usdc(1_000_000),
        model: { ...DEFAULT_MODEL, ...model },
        priceSeries: [aTape(minutes.map((at) => [at, price(at)]))],
        untilSeconds: YEAR_BEGINS + days * DAY,
      },
      recording().listener,
    ),
  )
  const observer = new Observer()
  const { sim } = play
  const apply = sim.apply.bind(sim)
  sim.apply = (...events) => {
    for (const event of events) observer.add({ event, atMs: sim.nowMs })
    apply(...events)
  }
  await play.run()
  return observer
}

test("the observed model matches the model that filled the journal's orders", async () => {
  const model = {
    ...{ spreadPpm: 1_500, failurePpm: 150_000, quoteSeconds: 3, fillSeconds: 25 },
    ...{ validSeconds: 90, callWei: 7n * 10n ** 14n },
  }
  const { model: observed, fills, calls } = (await observedOf(model)).result()
  expect(observed).toMatchObject({ quoteSeconds: 3, fillSeconds: 25, validSeconds: 90, feePpm: 0 })
  expect(observed.callWei).toBe(7n * 10n ** 14n)
  expect(observed.spreadPpm).toBeGreaterThan(1_400)
  expect(observed.spreadPpm).toBeLessThan(1_600)
  expect(observed.failurePpm).toBeGreaterThan(100_000)
  expect(observed.failurePpm).toBeLessThan(200_000)
  expect(fills).toBeGreaterThan(300)
  expect(calls).toBe(365)
})

test('too few orders give no estimates', async () => {
  const observed = (await observedOf({}, 3)).result()
  expect(Object.keys(observed.model)).toEqual(['callWei'])
  expect(observedNote(observed)).toBe(
    'From 3 fills and 3 calls of the journal: charges of calls; defaults: spread, fee, time to sign, time to fill, life of signatures, share that fails, gas of wraps.',
  )
})

test('the fee is separated from the spread, paper fills count, and wrap gas excludes other transactions', () => {
  const observer = new Observer()
  const add = (event: JournalEvent): void => observer.add({ event, atMs: 0 })
  for (let order = 0; order < 5; order += 1)
    add({
      ...({ type: 'paper-filled', intentId: `one:${order}:0`, attempt: 1 } as const),
      ...{ paid: usdc(2_000), received: usdc(997), fee: usdc(4) },
      feed: { num: 2n, den: 1n },
    })
  for (const [purpose, fee] of [
    ['wrap', 30n],
    ['approve', 9_000n],
    ['unwrap', 40n],
    ['wrap', 20n],
  ] as const) {
    const id = `${purpose}:${fee}`
    add({ type: 'transaction-recorded', transaction: transaction(id, purpose) })
    const hash = '0x00'
    add({ type: 'transaction-ended', id, status: 'mined', hash, blockNumber: 1n, fee })
  }
  expect(observer.result()).toEqual({
    model: { spreadPpm: 1_000, feePpm: 2_000, wrapWei: 30n },
    ...{ fills: 5, calls: 0 },
  })
})

function transaction(id: string, purpose: TransactionPurpose) {
  return {
    ...{ id, purpose, intentId: undefined, chainId: 1, nonce: 0, data: '0x' as const },
    ...{ from: '0x01' as const, to: '0x02' as const, value: 0n, gas: 0n },
    ...{ maxFeePerGas: 0n, maxPriorityFeePerGas: 0n },
  }
}
