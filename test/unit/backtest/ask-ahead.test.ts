import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ModuleView } from '../../../src/domain/module.ts'
import { ACCOUNT } from '../../simulation/stage.ts'
import { aTape, DAY, FREE, played, YEAR_BEGINS } from '../../support/backtest/playing.ts'
import { aCustomStrategy, aSchedule, aStrategy, usdc } from '../../support/builders.ts'
import { A_VIEW, moduleHost, writeModule } from '../../support/modules.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const SCHEMA = 'export const schema = { safeParse: (data) => ({ success: true, data }) }\n'

/** Counts its slots in memory and in a variable, and orders, fails or changes its memory by both and by the price. */
const MODULE = `${SCHEMA}let calls = 0
export function decide({ balances, prices, memory, slotSeconds }) {
  calls += 1
  const turn = Number(memory.turn ?? '0') + 1
  if (calls % 61 === 0) throw new Error('every now and then')
  const price = Number(prices['USDC/WETH'].num) / Number(prices['USDC/WETH'].den)
  if (calls % 97 === 0 || turn % 41 === 0)
    return { orders: [{ sell: 'USDC', buy: 'WETH', amount: 1_000_000n + BigInt(calls) }], memory: { turn: '0' } }
  if (slotSeconds % 420 === 0) return { skip: 'without memory' }
  return { skip: 'waits', memory: { turn: String(turn), price: String(price), free: String(balances.USDC.amount) } }
}
`

async function startedModule(text: string) {
  const host = await moduleHost()
  const module = writeModule(join(temporaryDirectory(), 'modules'), text, {})
  const strategy = aCustomStrategy({ name: 'own', schedule: aSchedule('* * * * *'), module })
  expect(await host.start(strategy)).toMatchObject({ ok: true })
  return { host, strategy }
}

/** Plays the module beside purchases, and counts the exchanges with it. */
async function playedWith(isAhead: boolean) {
  const { host, strategy } = await startedModule(MODULE)
  let exchanges = 0
  const views: ModuleView[] = []
  const { lines, play } = await played({
    strategies: [
      aStrategy({ name: 'buyer', schedule: aSchedule('17 */3 * * *') }),
      strategy,
      aStrategy({ name: 'later', schedule: aSchedule('*/50 * * * *') }),
    ],
    priceSeries: [
      aTape(Array.from({ length: 900 }, (_, at) => [YEAR_BEGINS + at * 100, 2_000 + (at % 37)])),
    ],
    account: { ...ACCOUNT, perOrder: new Map(), perDay: new Map() },
    untilSeconds: YEAR_BEGINS + DAY,
    usdc: usdc(5_000),
    model: { ...FREE, failurePpm: 200_000, quoteSeconds: 2, fillSeconds: 90 },
    modules: {
      versionOf: host.versionOf,
      decide(asks, view) {
        exchanges += 1
        views.push(view)
        return host.decide(asks, view)
      },
      ...(isAhead && {
        async decideAhead(asks, ahead) {
          exchanges += 1
          return (await host.decideAhead?.(asks, ahead)) ?? []
        },
      }),
    },
  })
  const memory = play.sim.state.strategies.get('own')?.memory
  return { lines, balances: [...play.sim.wallet.balances], memory, exchanges }
}

test('a module that is asked about slots to come decides as if it were asked slot by slot', async () => {
  const [ahead, single] = [await playedWith(true), await playedWith(false)]
  expect(ahead.lines).toEqual(single.lines)
  expect(ahead.balances).toEqual(single.balances)
  expect(ahead.memory).toEqual(single.memory)
  expect(single.exchanges).toBeGreaterThan(1_000)
  expect(ahead.exchanges).toBeLessThan(single.exchanges / 2)
  for (const reason of ['module-skipped', 'module-failed', 'filled'])
    expect(single.lines.some((line) => line.includes(reason))).toBe(true)
})

test('replies end with the first order, and each view has the memory of the replies before it', async () => {
  const { host, strategy } = await startedModule(`${SCHEMA}export function decide({ memory }) {
    const turn = Number(memory.turn ?? '0') + 1
    if (turn < 4) return { skip: 'turn ' + turn, memory: { turn: String(turn) } }
    return { orders: [], memory: {} }
  }`)
  const views = Array.from({ length: 6 }, () => A_VIEW)
  const replies = await host.decideAhead?.(strategy, views)
  expect(replies).toEqual([
    ...[1, 2, 3].map((turn) => ({
      ok: true,
      value: { skip: `turn ${turn}`, memory: { turn: `${turn}` } },
    })),
    { ok: true, value: { orders: [], memory: {} } },
  ])
})

test('a view that is not answered in time fails alone, and the views before it keep their replies', async () => {
  const { host, strategy } = await startedModule(`${SCHEMA}export function decide({ memory }) {
    if (memory.last === 'yes') for (;;);
    return { skip: 'fine', memory: { last: 'yes' } }
  }`)
  const replies = await host.decideAhead?.(strategy, [A_VIEW, A_VIEW, A_VIEW])
  expect(replies).toEqual([
    { ok: true, value: { skip: 'fine', memory: { last: 'yes' } } },
    { ok: false, detail: 'it did not answer within 2 s' },
  ])
  expect(await host.decide(strategy, A_VIEW)).toMatchObject({ ok: true })
})
