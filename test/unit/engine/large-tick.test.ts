import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { scheduleKey } from '../../../src/domain/schedule/schedule.ts'
import type { PriceBounds } from '../../../src/domain/strategy.ts'
import { createAgenda } from '../../../src/engine/tick.ts'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { NO_BOUNDS } from '../../../src/strategies/decision/swap.ts'
import type { OrderContext } from '../../../src/venues/context.ts'
import { ACCOUNT, USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { aStrategy, aView, NOON_SECONDS } from '../../support/builders.ts'

type Stage = { readonly free?: bigint; readonly price?: PriceBounds }

/** An agenda at noon at which this many strategies are due. */
function agendaOf(count: number, { free, price = NO_BOUNDS }: Stage = {}) {
  const strategies = Array.from({ length: count }, (_, at) => aStrategy({ name: `s${at}`, price }))
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
  let paths = 0
  const pricePath = () => {
    paths += 1
    return [{ feed: WETH_USDC, inverted: true }]
  }
  const balances = new Map([[USDC.address, free ?? 10n ** 24n]])
  const append = async (...events: readonly JournalEvent[]): Promise<void> => {
    for (const event of events) {
      reduce(state, event, nowMs)
      done.push(event.type === 'slot-closed' ? `${event.reason}` : event.type)
    }
  }
  const observe = ({ type }: RuntimeEvent): void => {
    if (type === 'portfolio') done.push(type)
  }
  const context = {
    ...{ mode: 'live', account: ACCOUNT, pricePath },
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
      clock: { now: () => nowMs, sleep: () => setImmediate(), wakesAt: () => true },
      gasless: { clockOffsetMs: () => 0 },
      chain: { view: async () => ({ ok: true, value: aView({ balances }) }) },
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
  return { agenda, done, readings: () => readings, paths: () => paths }
}

/** One tick; resolves to what it did in order, and how often it read all orders. */
async function tickOf(count: number, stage?: Stage) {
  const { agenda, done, readings } = agendaOf(count, stage)
  await agenda.tick()
  return { done, readings: readings() }
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

test('a decision counts what the decisions before it in the same tick have reserved', async () => {
  const { done } = await tickOf(1_000, { free: 25_000_000n * 700n })
  const count = (what: string): number => done.filter((each) => each === what).length
  expect(count('slot-opened')).toBe(700)
  expect(count('insufficient-balance')).toBe(300)
})

test('terms of many strategies are computed before their first tick, those of a few in it', async () => {
  const price = { min: undefined, max: { num: 1n, den: 1n } }
  const [many, few] = [agendaOf(400, { price }), agendaOf(10, { price })]
  for (let turn = 0; turn <= 400 / 25; turn += 1) await setImmediate()
  expect(many.paths()).toBe(400)
  expect(few.paths()).toBe(0)
})
