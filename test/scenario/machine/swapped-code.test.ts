import { expect, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import type { EventOf } from '../../../src/journal/events/registry.ts'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { PERMIT2, SPENDER, USDC, WETH_USDC } from '../../simulation/stage.ts'
import {
  callSimulation,
  executed,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const EVERY_TEN = aStrategy({
  name: 'often',
  schedule: aSchedule('*/10 * * * *', { maxLatenessMs: 8 * MINUTE }),
})

function codeEvents(sim: Simulation, name: string): string[] {
  return sim.disk
    .events()
    .filter((event): event is EventOf<'contract-code'> => event.type === 'contract-code')
    .filter((event) => event.name === name)
    .map(({ status }) => status)
}

/** A simulation after an hour of trading. */
async function trading(options: Partial<ConstructorParameters<typeof Simulation>[0]> = {}) {
  const sim = new Simulation({ seed: 'swapped code', strategies: [EVERY_TEN], ...options })
  sim.start()
  await sim.runFor(HOUR)
  expect(new Set(outcomes(sim, 'often'))).toEqual(new Set(['filled filled']))
  return sim
}

async function approved(sim: Simulation, name: string): Promise<unknown> {
  const answer = sim.control.approve(name)
  await sim.runFor(1_000)
  return answer
}

function swap(sim: Simulation, address: Address, version = 1): void {
  sim.ledger.codes.set(address, version, sim.ledger.block)
}

const CONTRACTS = [
  ['gasless.spenders.0', SPENDER],
  ['gasless.permit2', PERMIT2],
  ['tokens.USDC', USDC.address],
  ['tokens.WETH', EVERY_TEN.buy.token.address],
  ['prices.WETH/USDC.feed', WETH_USDC.feed],
] as const

test.each(CONTRACTS)(
  'no permit is signed once the code of %s has changed, until an operator accepts it',
  async (name, address) => {
    const sim = await trading()
    swap(sim, address)
    await sim.runFor(2 * MINUTE)
    const signatures = sim.watch.signatures
    await sim.runFor(HOUR)
    expect(sim.watch.signatures).toBe(signatures)
    expect(outcomes(sim, 'often').at(-1)).toBe('refused code-changed')
    expect(codeEvents(sim, name)).toEqual(['seen', 'changed'])
    // The change survives a restart.
    sim.crash()
    sim.start()
    await sim.runFor(HOUR)
    expect(sim.watch.signatures).toBe(signatures)
    expect(await approved(sim, name)).toMatchObject({ ok: true, approved: [name] })
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'often').at(-1)).toBe('filled filled')
    expect(codeEvents(sim, name)).toEqual(['seen', 'changed', 'accepted'])
    expectSound(sim)
  },
)

test('code that is swapped and swapped back at final blocks stays blocked until an operator accepts it', async () => {
  const sim = await trading()
  swap(sim, SPENDER)
  await sim.runFor(5 * MINUTE)
  swap(sim, SPENDER, 0)
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'often').at(-1)).toBe('refused code-changed')
  expect(codeEvents(sim, 'gasless.spenders.0')).toEqual(['seen', 'changed', 'changed'])
  await approved(sim, SPENDER)
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'often').at(-1)).toBe('filled filled')
  expectSound(sim)
})

test('a code change that never becomes final pauses signatures until it is gone', async () => {
  const sim = await trading({ rule: { finality: 60 } })
  await sim.runFor(9 * MINUTE)
  const signatures = sim.watch.signatures
  swap(sim, SPENDER)
  await sim.runFor(100_000)
  expect(sim.watch.signatures).toBe(signatures)
  sim.ledger.reorg({ blocks: 55, againAfterMs: 100 })
  await sim.runFor(HOUR)
  expect(codeEvents(sim, 'gasless.spenders.0')).toEqual(['seen'])
  expect(outcomes(sim, 'often').at(-1)).toBe('filled filled')
  expectSound(sim)
})

test('a code change shown by one node pauses signatures and is reported, but not recorded', async () => {
  const sim = new Simulation({ seed: 'one liar', strategies: [EVERY_TEN], rule: { agree: 2 } })
  sim.otherNodes.push(noChainFaults(), noChainFaults())
  sim.start()
  await sim.runFor(HOUR)
  sim.chainFaults.wrongCode = 'other'
  await sim.runFor(MINUTE)
  const signatures = sim.watch.signatures
  await sim.runFor(HOUR)
  expect(sim.watch.signatures).toBe(signatures)
  expect(outcomes(sim, 'often').at(-1)).toBe('expired too-late')
  const details = sim.observations.flatMap((event) =>
    event.type === 'disbelieved' && event.what === 'code' ? [event.detail] : [],
  )
  expect(details.join()).toContain('gasless.spenders.0')
  sim.chainFaults.wrongCode = undefined
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'often').at(-1)).toBe('filled filled')
  expect(codeEvents(sim, 'gasless.spenders.0')).toEqual(['seen'])
  expectSound(sim)
})

test('a code change is detected although one node hides it', async () => {
  const sim = new Simulation({ seed: 'hidden', strategies: [EVERY_TEN], rule: { agree: 2 } })
  sim.otherNodes.push(noChainFaults(), noChainFaults())
  sim.start()
  await sim.runFor(HOUR)
  sim.chainFaults.wrongCode = 'first'
  swap(sim, SPENDER)
  await sim.runFor(2 * MINUTE)
  const signatures = sim.watch.signatures
  await sim.runFor(HOUR)
  expect(sim.watch.signatures).toBe(signatures)
  expect(codeEvents(sim, 'gasless.spenders.0')).toEqual(['seen', 'changed'])
  expectSound(sim)
})

test('unreadable code pauses signatures after a minute and resumes them once it is readable', async () => {
  const sim = await trading()
  sim.chainFaults.wrongCode = 'unread'
  await sim.runFor(9 * MINUTE)
  const signatures = sim.watch.signatures
  await sim.runFor(5 * MINUTE)
  expect(sim.watch.signatures).toBe(signatures)
  sim.chainFaults.wrongCode = undefined
  await sim.runFor(HOUR)
  expect(sim.watch.signatures).toBeGreaterThan(signatures)
  expect(new Set(outcomes(sim, 'often'))).toEqual(new Set(['filled filled']))
  expect(codeEvents(sim, 'gasless.spenders.0')).toEqual(['seen'])
  expectSound(sim)
})

test('a started daemon signs nothing before it has read the code', async () => {
  const sim = await trading()
  sim.crash()
  sim.chainFaults.wrongCode = 'unread'
  const signatures = sim.watch.signatures
  sim.start()
  await sim.runFor(HOUR)
  expect(sim.watch.signatures).toBe(signatures)
  expect(outcomes(sim, 'often').at(-1)).toBe('expired too-late')
  expectSound(sim)
})

test('an address without code is reported and blocks signatures until it has code', async () => {
  const sim = new Simulation({ seed: 'no code', strategies: [EVERY_TEN] })
  sim.ledger.codes.set(SPENDER, 'none', 0)
  sim.start()
  await sim.runFor(HOUR)
  expect(sim.watch.signatures).toBe(0)
  const details = sim.observations.flatMap((event) =>
    event.type === 'disbelieved' ? [event.detail] : [],
  )
  expect(details).toEqual([expect.stringContaining(`gasless.spenders.0 (${SPENDER}) has no code`)])
  expect(codeEvents(sim, 'gasless.spenders.0')).toEqual([])
  swap(sim, SPENDER)
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'often').at(-1)).toBe('filled filled')
  expect(codeEvents(sim, 'gasless.spenders.0')).toEqual(['seen'])
  expectSound(sim)
})

test.each(['target', 'gasTank', 'multicall', 'trustlessProposer'] as const)(
  'no call is signed once the code of its %s has changed, until an operator accepts it',
  async (which) => {
    const sim = callSimulation({ seed: 'swapped for calls' })
    sim.start()
    await sim.runFor(3 * HOUR)
    const { contracts, targets } = sim.aggregation.settings
    const [target] = targets.values()
    const address = which === 'target' ? target : contracts[which]
    if (address === undefined) throw new Error('there is no target')
    sim.aggregation.ledger.codes.set(address, 1, sim.ledger.block)
    await sim.runFor(2 * MINUTE)
    const before = sim.aggregation.watch.signatures
    await sim.runFor(3 * HOUR)
    expect(sim.aggregation.watch.signatures).toBe(before)
    expect(outcomes(sim, 'claim').at(-1)).toBe('refused code-changed')
    expect(await approved(sim, address)).toMatchObject({ ok: true })
    const done = executed(sim)
    await sim.runFor(3 * HOUR)
    expect(executed(sim)).toBeGreaterThan(done)
    expectSound(sim)
  },
)

test('a submitted call is not sent directly once the code of its target has changed', async () => {
  const sim = callSimulation({ seed: 'no fallback' })
  sim.aggregation.faults.neverExecutes = true
  await untilFirstSlot(sim)
  await untilEvent(sim, 'call-signed')
  const [target] = sim.aggregation.settings.targets.values()
  if (target === undefined) throw new Error('there is no target')
  sim.aggregation.ledger.codes.set(target, 1, sim.ledger.block)
  await sim.runFor(10 * MINUTE)
  expect(eventTypes(sim)).not.toContain('transaction-signed')
  expect(unknowns(sim).join()).toContain('not sent directly')
  expect(outcomes(sim, 'claim')).toEqual(['refused code-changed'])
  expectSound(sim)
})
