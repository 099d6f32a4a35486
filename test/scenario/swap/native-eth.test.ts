import { expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { World } from '../../simulation/simulation.ts'
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
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { runUntil, untilEvent } from '../../support/worlds/run-until.ts'

const FROM_ETH = aStrategy({
  sell: ETH,
  buy: SELL_USDC,
  size: { side: 'sell', amount: milliWeth(20) },
})

const TO_ETH = aStrategy({ buy: { ...BUY_WETH, native: true } })

function transactions(world: World): string[] {
  return world.disk
    .events()
    .flatMap((event) => (event.type === 'transaction-recorded' ? [event.transaction.purpose] : []))
}

function untilUnwrap(world: World, stepMs: number): Promise<number> {
  return runUntil(world, 'unwrapping', () => transactions(world).includes('unwrap'), stepMs)
}

test('a sale of ETH wraps exactly the amount sold', async () => {
  const world = new World({ seed: 'sell eth', strategies: [FROM_ETH] })
  const weth = world.balance(WETH.address)
  const eth = world.balance('native')
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(world.balance(WETH.address)).toBe(weth)
  const gasMost = 10n ** 15n
  expect(eth - world.balance('native') - milliWeth(20)).toBeLessThan(gasMost)
  expect(transactions(world)).toEqual(['wrap', 'approve'])
  expectSound(world)
})

test('a purchase of an exact amount with ETH unwraps the unused rest', async () => {
  const strategy = { ...FROM_ETH, size: { side: 'buy', amount: usdc(25) } } as const
  const world = new World({ seed: 'rest', strategies: [strategy] })
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(transactions(world)).toEqual(['wrap', 'approve', 'unwrap'])
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('a purchase of ETH unwraps the amount bought', async () => {
  const strategy = aStrategy({ buy: { ...BUY_WETH, native: true } })
  const world = new World({ seed: 'buy eth', strategies: [strategy] })
  const eth = world.balance('native')
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  expect(transactions(world)).toEqual(['approve', 'unwrap'])
  expect(world.balance('native')).toBeGreaterThan(eth + milliWeth(9))
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('an order that never fills unwraps its ETH', async () => {
  const world = new World({ seed: 'give back', strategies: [FROM_ETH] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['expired order-expired'])
  expect(transactions(world).at(-1)).toBe('unwrap')
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test("an intent abandoned before a crash is not resumed with another order's WETH", async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: 10 * MINUTE })
  const world = new World({ seed: 'given up', strategies: [{ ...FROM_ETH, schedule }] })
  world.serviceFaults.down = true
  world.start()
  await world.runFor(HOUR)
  await untilUnwrap(world, 100)
  world.crash()
  world.serviceFaults.down = false
  await world.runFor(10_000)
  world.start()
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['failed attempts-exhausted'])
  expect(world.balance(USDC.address)).toBe(usdc(100_000))
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('a transaction lost by the node is sent again with the same nonce', async () => {
  const world = new World({ seed: 'lossy', strategies: [FROM_ETH] })
  world.chainFaults.losesTransaction = 0.7
  world.start()
  await world.runFor(6 * HOUR)
  world.chainFaults.losesTransaction = 0
  expect(await world.calmDown()).toBe(true)
  expect(world.state.strategies.get('hourly')?.fills).toBeGreaterThan(3)
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('a mined wrap is not treated as lost when the node indexes receipts late', async () => {
  const world = new World({ seed: 'late receipts', strategies: [FROM_ETH] })
  world.chainFaults.indexingSeconds = 40
  world.start()
  await world.runFor(2 * HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled', 'filled filled'])
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('a halt stops a wrap that waits for another transaction of the wallet', async () => {
  const world = new World({
    seed: 'halt in the queue',
    strategies: [FROM_ETH, { ...FROM_ETH, name: 'second', file: 'second.yaml' }],
  })
  world.chainFaults.losesTransaction = 1
  const eth = world.balance('native')
  world.start()
  await world.runFor(HOUR + 5_000)
  expect(transactions(world)).toEqual(['wrap'])
  await Promise.all([world.control.halt(), world.runFor(1_000)])
  world.chainFaults.losesTransaction = 0
  await world.runFor(5 * MINUTE)
  expect(transactions(world)).toEqual(['wrap', 'unwrap'])
  expect(outcomes(world, 'hourly')).toEqual(['skipped halted'])
  expect(outcomes(world, 'second')).toEqual(['skipped halted'])
  expect(eth - world.balance('native')).toBeLessThan(10n ** 15n)
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('a node that falls behind cannot make the wallet reuse the nonce of a mined transaction', async () => {
  const world = new World({ seed: 'behind', strategies: [TO_ETH] })
  world.start()
  await world.runFor(HOUR - 1_000)
  // The approval is seconds old; a node behind its block still reports its nonce as free.
  world.disk.onAppend = (type) => {
    if (type === 'fill-proven') world.chainFaults.lagSeconds = 40
  }
  await untilEvent(world, 'fill-proven')
  await world.runFor(10_000)
  expect(transactions(world)).toEqual(['approve'])
  world.disk.onAppend = undefined
  world.chainFaults.lagSeconds = 0
  await world.runFor(5 * MINUTE)
  expect(transactions(world)).toEqual(['approve', 'unwrap'])
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('an unwrap is sent again when a foreign transaction uses its nonce', async () => {
  const world = new World({ seed: 'lost unwrapping', strategies: [TO_ETH] })
  world.start()
  await world.runFor(HOUR - 1_000)
  await untilEvent(world, 'fill-proven')
  world.chainFaults.losesTransaction = 1
  await untilUnwrap(world, 50)
  world.mempool.useNonce(WALLET)
  world.chainFaults.losesTransaction = 0
  await world.runFor(10 * MINUTE)
  expect(eventTypes(world).filter((type) => type === 'transaction-ended')).toHaveLength(3)
  expect(transactions(world)).toEqual(['approve', 'unwrap', 'unwrap'])
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})
