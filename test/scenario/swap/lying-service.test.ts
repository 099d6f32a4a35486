import { expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { acceptLoss, beginAnew } from '../../simulation/operator.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, capOf, HOUR, MINUTE, OPEN, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

test('an order that the service calls failed and settles all the same is booked as filled, and not repeated', async () => {
  const world = new World({ seed: 'failed but filled', strategies: [aStrategy()] })
  world.serviceFaults.saysFailedButFills = 1
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  expect(eventTypes(world)).toContain('order-ended')
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(world.watch.signatures).toBe(1)
  expectSound(world)
})

test("a stranger's transaction proves nothing: the fill is found where it really happened", async () => {
  const world = new World({ seed: 'foreign', strategies: [aStrategy()] })
  world.serviceFaults.namesForeignHash = 1
  world.start()
  await world.runFor(HOUR - 1_000)
  world.ledger.strangersTransfer(USDC.address, usdc(25))
  await world.runFor(2 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test("another order's settlement, of the same amounts, proves nothing either", async () => {
  const strategies = [aStrategy({ name: 'one' }), aStrategy({ name: 'two' })]
  const world = new World({ seed: 'swapped proofs', strategies })
  world.serviceFaults.namesForeignHash = 1
  world.start()
  await world.runFor(8 * HOUR + MINUTE)
  expect(world.state.strategies.get('one')?.fills).toBe(8)
  expect(world.state.strategies.get('two')?.fills).toBe(8)
  expectSound(world)
})

test('a settlement from before an order was signed proves nothing, though no book tells of it any more', async () => {
  const world = new World({ seed: 'foreign and old', strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  world.crash()
  beginAnew(world)
  // For what is worth less than before, the old one delivered enough.
  world.market.setPrice(2_700n)
  world.serviceFaults.namesForeignHash = 1
  world.start()
  await world.runFor(HOUR)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test('nor does one from after its deadline, of an order that is lost, where the node lacks logs', async () => {
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

/** What a node loses its logs by. */
function shareOf(hash: string | undefined): number {
  return Number.parseInt(hash?.slice(2, 10) ?? '0', 16) / 2 ** 32
}

test('an order that the service calls filled without settling it expires, and is never booked', async () => {
  const world = new World({ seed: 'claimed fill', strategies: [aStrategy()] })
  world.serviceFaults.saysFilledButDoesNot = 1
  world.start()
  await world.runFor(HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['expired order-expired'])
  expect(world.state.strategies.get('hourly')?.fills).toBe(0)
  expectSound(world)
})

test('what a settlement takes without delivering still counts against the caps', async () => {
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

test('a permit whose nonce the operator cancels ends its intent without another attempt', async () => {
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
