import { expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { acceptLoss, beginAnew } from '../../simulation/operator.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, capOf, HOUR, MINUTE, OPEN, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

test('an order that the service reports as failed but settles is recorded as filled and not repeated', async () => {
  const sim = new Simulation({ seed: 'failed but filled', strategies: [aStrategy()] })
  sim.serviceFaults.saysFailedButFills = 1
  sim.start()
  await sim.runFor(HOUR + 2 * MINUTE)
  expect(eventTypes(sim)).toContain('order-ended')
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(sim.watch.signatures).toBe(1)
  expectSound(sim)
})

test("a stranger's transaction proves no fill; the daemon finds the real settlement", async () => {
  const sim = new Simulation({ seed: 'foreign', strategies: [aStrategy()] })
  sim.serviceFaults.namesForeignHash = 1
  sim.start()
  await sim.runFor(HOUR - 1_000)
  sim.ledger.strangersTransfer(USDC.address, usdc(25))
  await sim.runFor(2 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})

test("another order's settlement of the same amounts proves no fill", async () => {
  const strategies = [aStrategy({ name: 'one' }), aStrategy({ name: 'two' })]
  const sim = new Simulation({ seed: 'swapped proofs', strategies })
  sim.serviceFaults.namesForeignHash = 1
  sim.start()
  await sim.runFor(8 * HOUR + MINUTE)
  expect(sim.state.strategies.get('one')?.fills).toBe(8)
  expect(sim.state.strategies.get('two')?.fills).toBe(8)
  expectSound(sim)
})

test('a settlement older than the signature proves no fill, even after the journal that recorded it is gone', async () => {
  const sim = new Simulation({ seed: 'foreign and old', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR + 2 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  sim.crash()
  beginAnew(sim)
  // At the lower price, the old settlement delivered more than the new minimum.
  sim.market.setPrice(2_700n)
  sim.serviceFaults.namesForeignHash = 1
  sim.start()
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})

test("a settlement after a lost order's deadline proves no fill while the node lacks logs", async () => {
  const sim = new Simulation({ seed: 'late, foreign', strategies: [aStrategy()], isAnchored: true })
  sim.start()
  await sim.runFor(2 * HOUR + 2 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('filled filled'))
  sim.crash()
  const [first, second] = sim.ledger.transactions.filter(({ settled }) => settled.length > 0)
  const [lost, kept] = [shareOf(first?.hash), shareOf(second?.hash)]
  expect(lost).toBeLessThan(kept)
  sim.disk.cutTo(eventTypes(sim).indexOf('fill-proven'))
  acceptLoss(sim)
  sim.chainFaults.losesLogs = (lost + kept) / 2
  sim.serviceFaults.forgets = 1
  sim.start()
  await sim.runFor(5 * MINUTE)
  expect(eventTypes(sim)).not.toContain('fill-proven')
  sim.chainFaults.losesLogs = 0
  await sim.runFor(5 * MINUTE)
  const proven = sim.disk.events().find((event) => event.type === 'fill-proven')
  expect(proven?.fill.txHash).toBe(first?.hash)
  expectSound(sim)
})

/** Fraction of a hash below which the simulated node loses the logs of its transaction. */
function shareOf(hash: string | undefined): number {
  return Number.parseInt(hash?.slice(2, 10) ?? '0', 16) / 2 ** 32
}

test('an order that the service reports as filled but never settles expires and records no fill', async () => {
  const sim = new Simulation({ seed: 'claimed fill', strategies: [aStrategy()] })
  sim.serviceFaults.saysFilledButDoesNot = 1
  sim.start()
  await sim.runFor(HOUR + 10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['expired order-expired'])
  expect(sim.state.strategies.get('hourly')?.fills).toBe(0)
  expectSound(sim)
})

test('a settlement that takes tokens and delivers nothing counts against the caps', async () => {
  const strategy = aStrategy({
    schedule: aSchedule('*/20 * * * *'),
    limits: { ...OPEN, perDay: capOf(USDC, usdc(100)) },
  })
  const sim = new Simulation({ seed: 'thief', strategies: [strategy] })
  sim.serviceFaults.steals = 1
  sim.start()
  await sim.runFor(12 * HOUR)
  const results = outcomes(sim, 'hourly')
  expect(results.slice(0, 4)).toEqual(Array(4).fill('failed permit-cancelled'))
  expect(new Set(results.slice(4))).toEqual(new Set(['skipped limit-per-day']))
  expect(imbalances(sim)).toEqual([])
  expectSound(sim)
})

test('an intent ends without another attempt when the operator cancels the nonce of its permit', async () => {
  const sim = new Simulation({ seed: 'cancelled by hand', strategies: [aStrategy()] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(HOUR + 10_000)
  const open = sim.state.intents.values().next().value
  const permit = open?.venue === 'gasless' ? open.permit : undefined
  if (permit === undefined) throw new Error('no permit is open')
  sim.ledger.invalidateNonce(permit.owner, permit.nonce)
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['failed permit-cancelled'])
  expect(sim.watch.signatures).toBe(1)
  expectSound(sim)
})
