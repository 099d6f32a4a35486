import { describe, expect, test } from 'vitest'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { slotOpened } from '../../../src/journal/events/strategy/slots.ts'
import { purchaseOf } from '../../../src/journal/projections/purchases.ts'
import { MANUAL, type ManualOrder } from '../../../src/strategies/manual/manual-kind.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { ACCOUNT, USDC, WETH } from '../../simulation/stage.ts'
import {
  aCall,
  aSchedule,
  aStrategy,
  BUY_WETH,
  capOf,
  HOUR,
  MINUTE,
  milliWeth,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const NAME = aStrategy().name

/** Buys for 10 USDC. */
function anOrder(changes: Partial<ManualOrder> = {}): ManualOrder {
  return {
    id: '00000000000000aa',
    sell: SELL_USDC,
    buy: BUY_WETH,
    size: { side: 'sell', amount: usdc(10) },
    price: { min: undefined, max: undefined },
    slippageBps: undefined,
    isOfPurchases: false,
    ...changes,
  }
}

const SALE: Partial<ManualOrder> = {
  sell: BUY_WETH,
  buy: SELL_USDC,
  size: { side: 'sell', amount: milliWeth(1) },
}

async function started(seed: string, changes: Parameters<typeof aStrategy>[0] = {}) {
  const sim = new Simulation({ seed, strategies: [aStrategy(changes)] })
  sim.start()
  await sim.runFor(MINUTE)
  return sim
}

/** Places an order and runs until it has ended. */
async function place(sim: Simulation, order: ManualOrder, strategy?: string) {
  const [answer] = await Promise.all([sim.control.order(strategy, order), sim.runFor(2 * MINUTE)])
  return answer
}

function manualSlots(sim: Simulation) {
  return sim.disk.events().filter((event) => slotOpened.is(event) && event.manual !== undefined)
}

describe('an order by hand', () => {
  test('is a slot of its own, carries its text, and fills like any other', async () => {
    const sim = await started('by hand')
    const before = sim.balance(USDC.address)
    expect(await place(sim, anOrder())).toMatchObject({ ok: true, intents: [expect.any(String)] })
    expect(outcomes(sim, MANUAL)).toEqual(['filled filled'])
    expect(before - sim.balance(USDC.address)).toBe(usdc(10))
    expect(manualSlots(sim)).toEqual([
      expect.objectContaining({
        strategy: MANUAL,
        manual: { id: '00000000000000aa', order: 'sell 10 USDC for WETH' },
      }),
    ])
    expectSound(sim)
  })

  test('for an exact amount pays at most its limit', async () => {
    const sim = await started('exact output')
    const size = { side: 'buy', amount: milliWeth(4) } as const
    const max = (amount: bigint) => ({ min: undefined, max: { num: amount, den: size.amount } })
    expect(await place(sim, anOrder({ size, price: max(usdc(9)) }))).toMatchObject({
      intents: [],
      skip: { reason: 'price-outside-bounds' },
    })
    const before = sim.balance(WETH.address)
    await place(sim, anOrder({ size, price: max(usdc(11)) }))
    expect(outcomes(sim, MANUAL)).toEqual(['skipped price-outside-bounds', 'filled filled'])
    expect(sim.balance(WETH.address) - before).toBe(milliWeth(4))
    expectSound(sim)
  })

  test("keeps within the account's caps, at the decision and at the signature", async () => {
    const account = { ...ACCOUNT, perDay: capOf(USDC, usdc(15)) }
    const sim = new Simulation({ seed: 'capped', strategies: [], account })
    sim.start()
    await sim.runFor(MINUTE)
    await place(sim, anOrder())
    await place(sim, anOrder())
    expect(outcomes(sim, MANUAL)).toEqual(['filled filled', 'skipped limit-account-per-day'])
    expectSound(sim)
  })

  test('is refused while everything is halted, and by what cannot trade its tokens', async () => {
    const sim = new Simulation({ seed: 'refused', strategies: [aCall()] })
    sim.start()
    await sim.runFor(MINUTE)
    expect(await place(sim, anOrder(), 'unknown')).toMatchObject({ ok: false })
    expect(await place(sim, anOrder(), aCall().name)).toMatchObject({ ok: false })
    await Promise.all([sim.control.halt(), sim.runFor(1_000)])
    expect(await place(sim, anOrder())).toMatchObject({
      ok: false,
      detail: expect.stringContaining('everything is halted'),
    })
    expect(manualSlots(sim)).toEqual([])
  })

  test('survives a crash at any record, and is never filled twice', async () => {
    for (const append of [1, 2, 3, 4, 5, 6]) {
      const sim = new Simulation({ seed: `crash ${append}`, strategies: [] })
      sim.start()
      await sim.runFor(MINUTE)
      sim.disk.crashAt = { append, when: 'after' }
      // The answer may be lost with the daemon.
      void sim.control.order(undefined, anOrder()).catch(() => undefined)
      await sim.runFor(MINUTE)
      sim.disk.crashAt = undefined
      await sim.runFor(HOUR)
      expect(usdc(100_000) - sim.balance(USDC.address)).toBeLessThanOrEqual(usdc(10))
      expectSound(sim)
    }
  })

  test('is possible again after a reload', async () => {
    const sim = await started('reload')
    await place(sim, anOrder())
    const files = { strategies: [aStrategy()], account: ACCOUNT }
    await Promise.all([sim.control.reload(files), sim.runFor(1_000)])
    await place(sim, anOrder())
    expect(outcomes(sim, MANUAL)).toEqual(['filled filled', 'filled filled'])
    expectSound(sim)
  })
})

describe("an order for a strategy's purchases", () => {
  test('sells what it bought, and never more', async () => {
    const sim = await started('purchases', { schedule: aSchedule('0 * * * *') })
    await sim.runFor(2 * HOUR)
    const bought = { bought: WETH, paidIn: USDC }
    const before = purchaseOf(sim.state, NAME, bought)
    expect(before.amount).toBeGreaterThan(milliWeth(1))
    const tooMuch = { side: 'sell', amount: before.amount + 1n } as ManualOrder['size']
    expect(
      await place(sim, anOrder({ ...SALE, size: tooMuch, isOfPurchases: true }), NAME),
    ).toEqual({
      ok: false,
      detail: expect.stringMatching(/holds .* WETH that it bought with USDC/),
    })
    await place(sim, anOrder({ ...SALE, isOfPurchases: true }), NAME)
    expect(outcomes(sim, NAME).at(-1)).toBe('filled filled')
    const after = purchaseOf(sim.state, NAME, bought)
    expect(before.amount - after.amount).toBe(milliWeth(1))
    expectSound(sim)
  })

  test("obeys the strategy's own limits, and leaves its memory and schedule alone", async () => {
    const limits = { ...aStrategy().limits, perDay: capOf(USDC, usdc(30)), perHour: NO_CAPS }
    const sim = await started('own limits', { limits, schedule: aSchedule('0 * * * *') })
    await sim.runFor(HOUR + 10 * MINUTE)
    const { memory } = sim.state.strategies.get(NAME) ?? {}
    const slots = outcomes(sim, NAME).length
    const size = { side: 'sell', amount: usdc(31) } as const
    expect(await place(sim, anOrder({ size }), NAME)).toMatchObject({
      ok: true,
      skip: { reason: 'limit-per-day' },
    })
    expect(outcomes(sim, NAME).at(-1)).toBe('skipped limit-per-day')
    expect(sim.state.strategies.get(NAME)?.memory).toEqual(memory)
    await sim.runFor(HOUR)
    expect(outcomes(sim, NAME).length).toBe(slots + 2)
  })
})
