import { expect, test } from 'vitest'
import { scheduleKey } from '../../../src/domain/schedule/schedule.ts'
import { createAgenda } from '../../../src/engine/tick.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import { ACCOUNT, USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { aStrategy, aView, NOON_SECONDS } from '../../support/builders.ts'

/** One tick at noon in which this many strategies trade; resolves to what it did in order, and how often it read all orders. */
async function tickOf(count: number) {
  const strategies = Array.from({ length: count }, (_, at) => aStrategy({ name: `s${at}` }))
  const state = emptyState()
  for (const { name, schedule } of strategies) {
    const key = scheduleKey(schedule)
    const fromSeconds = NOON_SECONDS - 1
    reduce(state, { type: 'strategy-scheduled', strategy: name, scheduleKey: key, fromSeconds }, 0)
  }
  const nowMs = NOON_SECONDS * 1_000
  const done: string[] = []
  let readings = 0
  const { values } = state.intents
  state.intents.values = () => {
    readings += 1
    return values.call(state.intents)
  }
  const append = async (...events: readonly JournalEvent[]): Promise<void> => {
    for (const event of events) {
      reduce(state, event, nowMs)
      done.push(event.type)
    }
  }
  const observe = ({ type }: RuntimeEvent): void => {
    if (type === 'portfolio') done.push(type)
  }
  const context = {
    ...{ mode: 'live', account: ACCOUNT, pricePath: () => [{ feed: WETH_USDC, inverted: true }] },
    tokenFault: () => undefined,
    closing: new AbortController().signal,
    wallet: { signer: { address: WALLET } },
    gasless: { chain: 'base' },
    policy: { requestTriesMax: 1 },
    market: {},
    compared: { trader: { missing: () => undefined } },
    ports: {
      ...{ journal: { state, append, note: append }, observe, signer: { address: WALLET } },
      modules: { versionOf: () => undefined },
      clock: { now: () => nowMs, sleep: () => Promise.resolve(), wakesAt: () => true },
      gasless: { clockOffsetMs: () => 0 },
      chain: { view: async () => ({ ok: true, value: aView() }) },
    },
  } as unknown as OrderContext
  const agenda = createAgenda({
    ...{ context, strategies, wallet: 'trader', tokens: [USDC, WETH], feeds: [WETH_USDC] },
    startedAtMs: () => nowMs - 5_000,
    launch: () => undefined,
    wake: () => undefined,
    fail: (error) => {
      throw error
    },
  })
  await agenda.tick()
  return { done, readings }
}

test('a small tick reports the market and then decides', async () => {
  const { done } = await tickOf(2)
  expect(done).toEqual(['portfolio', 'slot-opened', 'slot-opened'])
})

test('a large tick decides all its slots before it reports the market', async () => {
  const { done } = await tickOf(1_000)
  expect(done).toHaveLength(1_001)
  expect(done.at(-1)).toBe('portfolio')
})

test('a decision does not read the open orders of other strategies', async () => {
  const few = await tickOf(10)
  const many = await tickOf(1_000)
  expect(many.done).toHaveLength(1_001)
  expect(many.readings).toBe(few.readings)
})
