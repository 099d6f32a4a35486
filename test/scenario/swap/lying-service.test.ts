import { expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { acceptLoss, beginAnew } from '../../simulation/operator.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, capOf, HOUR, MINUTE, OPEN, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

test('an order that the service reports as failed but settles is recorded as filled and not repeated', async () => {
  const world = new World({ seed: 'failed but filled', strategies: [aStrategy()] })
  world.serviceFaults.saysFailedButFills = 1
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  expect(eventTypes(world)).toContain('order-ended')
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(world.watch.signatures).toBe(1)
  expectSound(world)
})

test("a stranger's transaction proves no fill; the daemon finds the real settlement", async () => {
  const world = new World({ seed: 'foreign', strategies: [aStrategy()] })
  world.serviceFaults.namesForeignHash = 1
  world.start()
  await world.runFor(HOUR - 1_000)
  world.ledger.strangersTransfer(USDC.address, usdc(25))
  await world.runFor(2 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test("another order's settlement of the same amounts proves no fill", async () => {
  const strategies = [aStrategy({ name: 'one' }), aStrategy({ name: 'two' })]
  const world = new World({ seed: 'swapped proofs', strategies })
  world.serviceFaults.namesForeignHash = 1
  world.start()
  await world.runFor(8 * HOUR + MINUTE)
  expect(world.state.strategies.get('one')?.fills).toBe(8)
  expect(world.state.strategies.get('two')?.fills).toBe(8)
  expectSound(world)
})

test('a settlement older than the signature proves no fill, even after the journal that recorded it is gone', async () => {
  const world = new World({ seed: 'foreign and old', strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  world.crash()
  beginAnew(world)
  // At the lower price, the old settlement delivered more than the new minimum.
  world.market.setPrice(2_700n)
  world.serviceFaults.namesForeignHash = 1
  world.start()
  await world.runFor(HOUR)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test("a settlement after a lost order's deadline proves no fill while the node lacks logs", async () => {
  const world = new World({ seed: 'late, foreign', strategies: [aStrategy()], isAnchored: true })
  world.start()
  await world.runFor(2 * HOUR + 2 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
  world.crash()
  const [first, second] = world.ledger.transactions.filter(({ settled }) => settled.length > 0)
  const [lost, kept] = [shareOf(first?.hash), shareOf(second?.hash)]
  expect(lost).toBeLessThan(kept)
  world.disk.cutTo(eventTypes(world).indexOf('fill-proven'))
  acceptLoss(world)
  world.chainFaults.losesLogs = (lost + kept) / 2
  world.serviceFaults.forgets = 1
  world.start()
  await world.runFor(5 * MINUTE)
  expect(eventTypes(world)).not.toContain('fill-proven')
  world.chainFaults.losesLogs = 0
  await world.runFor(5 * MINUTE)
  const proven = world.disk.events().find((event) => event.type === 'fill-proven')
  expect(proven?.fill.txHash).toBe(first?.hash)
  expectSound(world)
})

/** Fraction of a hash below which the simulated node loses the logs of its transaction. */
function shareOf(hash: string | undefined): number {
  return Number.parseInt(hash?.slice(2, 10) ?? '0', 16) / 2 ** 32
}

test('an order that the service reports as filled but never settles expires and records no fill', async () => {
  const world = new World({ seed: 'claimed fill', strategies: [aStrategy()] })
  world.serviceFaults.saysFilledButDoesNot = 1
  world.start()
  await world.runFor(HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['expired order-expired'])
  expect(world.state.strategies.get('hourly')?.fills).toBe(0)
  expectSound(world)
})

test('a settlement that takes tokens and delivers nothing counts against the caps', async () => {
  const strategy = aStrategy({
    schedule: aSchedule('*/20 * * * *'),
    limits: { ...OPEN, perDay: capOf(USDC, usdc(100)) },
  })
  const world = new World({ seed: 'thief', strategies: [strategy] })
  world.serviceFaults.steals = 1
  world.start()
  await world.runFor(12 * HOUR)
  const results = outcomes(world, 'hourly')
  expect(results.slice(0, 4)).toEqual(Array(4).fill('failed permit-cancelled'))
  expect(new Set(results.slice(4))).toEqual(new Set(['skipped limit-per-day']))
  expect(imbalances(world)).toEqual([])
  expectSound(world)
})

test('an intent ends without another attempt when the operator cancels the nonce of its permit', async () => {
  const world = new World({ seed: 'cancelled by hand', strategies: [aStrategy()] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR + 10_000)
  const open = world.state.intents.values().next().value
  const permit = open?.venue === 'gasless' ? open.permit : undefined
  if (permit === undefined) throw new Error('no permit is open')
  world.ledger.invalidateNonce(permit.owner, permit.nonce)
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['failed permit-cancelled'])
  expect(world.watch.signatures).toBe(1)
  expectSound(world)
})
