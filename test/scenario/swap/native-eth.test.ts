import { expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET, WETH } from '../../simulation/stage.ts'
import {
  aSchedule,
  aStrategy,
  BUY_WETH,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { runUntil, untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const FROM_ETH = aStrategy({
  sell: ETH,
  buy: SELL_USDC,
  size: { side: 'sell', amount: milliWeth(20) },
})

const TO_ETH = aStrategy({ buy: { ...BUY_WETH, native: true } })

function transactions(sim: Simulation): string[] {
  return sim.disk
    .events()
    .flatMap((event) => (event.type === 'transaction-recorded' ? [event.transaction.purpose] : []))
}

function untilUnwrap(sim: Simulation, stepMs: number): Promise<number> {
  return runUntil(sim, 'unwrapping', () => transactions(sim).includes('unwrap'), stepMs)
}

test('a sale of ETH wraps exactly the amount sold', async () => {
  const sim = new Simulation({ seed: 'sell eth', strategies: [FROM_ETH] })
  const weth = sim.balance(WETH.address)
  const eth = sim.balance('native')
  sim.start()
  await sim.runFor(HOUR + 2 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(sim.balance(WETH.address)).toBe(weth)
  const gasMost = 10n ** 15n
  expect(eth - sim.balance('native') - milliWeth(20)).toBeLessThan(gasMost)
  expect(transactions(sim)).toEqual(['wrap', 'approve'])
  expectSound(sim)
})

test('a purchase of an exact amount with ETH unwraps the unused rest', async () => {
  const strategy = { ...FROM_ETH, size: { side: 'buy', amount: usdc(25) } } as const
  const sim = new Simulation({ seed: 'rest', strategies: [strategy] })
  sim.start()
  await sim.runFor(HOUR + 2 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(transactions(sim)).toEqual(['wrap', 'approve', 'unwrap'])
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('a purchase of ETH unwraps the amount bought', async () => {
  const strategy = aStrategy({ buy: { ...BUY_WETH, native: true } })
  const sim = new Simulation({ seed: 'buy eth', strategies: [strategy] })
  const eth = sim.balance('native')
  sim.start()
  await sim.runFor(HOUR + 2 * MINUTE)
  expect(transactions(sim)).toEqual(['approve', 'unwrap'])
  expect(sim.balance('native')).toBeGreaterThan(eth + milliWeth(9))
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('an order that never fills unwraps its ETH', async () => {
  const sim = new Simulation({ seed: 'give back', strategies: [FROM_ETH] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(HOUR + 10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['expired order-expired'])
  expect(transactions(sim).at(-1)).toBe('unwrap')
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test("an intent abandoned before a crash is not resumed with another order's WETH", async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: 10 * MINUTE })
  const sim = new Simulation({ seed: 'given up', strategies: [{ ...FROM_ETH, schedule }] })
  sim.serviceFaults.down = true
  sim.start()
  await sim.runFor(HOUR)
  await untilUnwrap(sim, 100)
  sim.crash()
  sim.serviceFaults.down = false
  await sim.runFor(10_000)
  sim.start()
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['failed attempts-exhausted'])
  expect(sim.balance(USDC.address)).toBe(usdc(100_000))
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('a transaction lost by the node is sent again with the same nonce', async () => {
  const sim = new Simulation({ seed: 'lossy', strategies: [FROM_ETH] })
  sim.chainFaults.losesTransaction = 0.7
  sim.start()
  await sim.runFor(6 * HOUR)
  sim.chainFaults.losesTransaction = 0
  expect(await sim.calmDown()).toBe(true)
  expect(sim.state.strategies.get('hourly')?.fills).toBeGreaterThan(3)
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('a mined wrap is not treated as lost when the node indexes receipts late', async () => {
  const sim = new Simulation({ seed: 'late receipts', strategies: [FROM_ETH] })
  sim.chainFaults.indexingSeconds = 40
  sim.start()
  await sim.runFor(2 * HOUR + 10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'filled filled'])
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('a halt stops a wrap that waits for another transaction of the wallet', async () => {
  const sim = new Simulation({
    seed: 'halt in the queue',
    strategies: [FROM_ETH, { ...FROM_ETH, name: 'second', file: 'second.yaml' }],
  })
  sim.chainFaults.losesTransaction = 1
  const eth = sim.balance('native')
  sim.start()
  await sim.runFor(HOUR + 5_000)
  expect(transactions(sim)).toEqual(['wrap'])
  await Promise.all([sim.control.halt(), sim.runFor(1_000)])
  sim.chainFaults.losesTransaction = 0
  await sim.runFor(5 * MINUTE)
  expect(transactions(sim)).toEqual(['wrap', 'unwrap'])
  expect(outcomes(sim, 'hourly')).toEqual(['skipped halted'])
  expect(outcomes(sim, 'second')).toEqual(['skipped halted'])
  expect(eth - sim.balance('native')).toBeLessThan(10n ** 15n)
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('a node that falls behind cannot make the wallet reuse the nonce of a mined transaction', async () => {
  const sim = new Simulation({ seed: 'behind', strategies: [TO_ETH] })
  sim.start()
  await sim.runFor(HOUR - 1_000)
  // The approval is seconds old; a node behind its block still reports its nonce as free.
  sim.disk.onAppend = (type) => {
    if (type === 'fill-proven') sim.chainFaults.lagSeconds = 40
  }
  await untilEvent(sim, 'fill-proven')
  await sim.runFor(10_000)
  expect(transactions(sim)).toEqual(['approve'])
  sim.disk.onAppend = undefined
  sim.chainFaults.lagSeconds = 0
  await sim.runFor(5 * MINUTE)
  expect(transactions(sim)).toEqual(['approve', 'unwrap'])
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('an unwrap is sent again when a foreign transaction uses its nonce', async () => {
  const sim = new Simulation({ seed: 'lost unwrapping', strategies: [TO_ETH] })
  sim.start()
  await sim.runFor(HOUR - 1_000)
  await untilEvent(sim, 'fill-proven')
  sim.chainFaults.losesTransaction = 1
  await untilUnwrap(sim, 50)
  sim.mempool.useNonce(WALLET)
  sim.chainFaults.losesTransaction = 0
  await sim.runFor(10 * MINUTE)
  expect(eventTypes(sim).filter((type) => type === 'transaction-ended')).toHaveLength(3)
  expect(transactions(sim)).toEqual(['approve', 'unwrap', 'unwrap'])
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})
