import { expect, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import type { EventOf } from '../../../src/journal/events/registry.ts'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { World } from '../../simulation/simulation.ts'
import { PERMIT2, SPENDER, USDC, WETH_USDC } from '../../simulation/stage.ts'
import {
  callWorld,
  executed,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const EVERY_TEN = aStrategy({
  name: 'often',
  schedule: aSchedule('*/10 * * * *', { maxLatenessMs: 8 * MINUTE }),
})

function codeEvents(world: World, name: string): string[] {
  return world.disk
    .events()
    .filter((event): event is EventOf<'contract-code'> => event.type === 'contract-code')
    .filter((event) => event.name === name)
    .map(({ status }) => status)
}

/** A world after an hour of trading. */
async function trading(options: Partial<ConstructorParameters<typeof World>[0]> = {}) {
  const world = new World({ seed: 'swapped code', strategies: [EVERY_TEN], ...options })
  world.start()
  await world.runFor(HOUR)
  expect(new Set(outcomes(world, 'often'))).toEqual(new Set(['filled filled']))
  return world
}

async function approved(world: World, name: string): Promise<unknown> {
  const answer = world.control.approve(name)
  await world.runFor(1_000)
  return answer
}

function swap(world: World, address: Address, version = 1): void {
  world.ledger.codes.set(address, version, world.ledger.block)
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
    const world = await trading()
    swap(world, address)
    await world.runFor(2 * MINUTE)
    const signatures = world.watch.signatures
    await world.runFor(HOUR)
    expect(world.watch.signatures).toBe(signatures)
    expect(outcomes(world, 'often').at(-1)).toBe('refused code-changed')
    expect(codeEvents(world, name)).toEqual(['seen', 'changed'])
    // The change survives a restart.
    world.crash()
    world.start()
    await world.runFor(HOUR)
    expect(world.watch.signatures).toBe(signatures)
    expect(await approved(world, name)).toMatchObject({ ok: true, approved: [name] })
    await world.runFor(HOUR)
    expect(outcomes(world, 'often').at(-1)).toBe('filled filled')
    expect(codeEvents(world, name)).toEqual(['seen', 'changed', 'accepted'])
    expectSound(world)
  },
)

test('code that is swapped and swapped back at final blocks stays blocked until an operator accepts it', async () => {
  const world = await trading()
  swap(world, SPENDER)
  await world.runFor(5 * MINUTE)
  swap(world, SPENDER, 0)
  await world.runFor(HOUR)
  expect(outcomes(world, 'often').at(-1)).toBe('refused code-changed')
  expect(codeEvents(world, 'gasless.spenders.0')).toEqual(['seen', 'changed', 'changed'])
  await approved(world, SPENDER)
  await world.runFor(HOUR)
  expect(outcomes(world, 'often').at(-1)).toBe('filled filled')
  expectSound(world)
})

test('a code change that never becomes final pauses signatures until it is gone', async () => {
  const world = await trading({ rule: { finality: 60 } })
  await world.runFor(9 * MINUTE)
  const signatures = world.watch.signatures
  swap(world, SPENDER)
  await world.runFor(100_000)
  expect(world.watch.signatures).toBe(signatures)
  world.ledger.reorg({ blocks: 55, againAfterMs: 100 })
  await world.runFor(HOUR)
  expect(codeEvents(world, 'gasless.spenders.0')).toEqual(['seen'])
  expect(outcomes(world, 'often').at(-1)).toBe('filled filled')
  expectSound(world)
})

test('a code change shown by one node pauses signatures and is reported, but not recorded', async () => {
  const world = new World({ seed: 'one liar', strategies: [EVERY_TEN], rule: { agree: 2 } })
  world.otherNodes.push(noChainFaults(), noChainFaults())
  world.start()
  await world.runFor(HOUR)
  world.chainFaults.wrongCode = 'other'
  await world.runFor(MINUTE)
  const signatures = world.watch.signatures
  await world.runFor(HOUR)
  expect(world.watch.signatures).toBe(signatures)
  expect(outcomes(world, 'often').at(-1)).toBe('expired too-late')
  const details = world.observations.flatMap((event) =>
    event.type === 'disbelieved' && event.what === 'code' ? [event.detail] : [],
  )
  expect(details.join()).toContain('gasless.spenders.0')
  world.chainFaults.wrongCode = undefined
  await world.runFor(HOUR)
  expect(outcomes(world, 'often').at(-1)).toBe('filled filled')
  expect(codeEvents(world, 'gasless.spenders.0')).toEqual(['seen'])
  expectSound(world)
})

test('a code change is detected although one node hides it', async () => {
  const world = new World({ seed: 'hidden', strategies: [EVERY_TEN], rule: { agree: 2 } })
  world.otherNodes.push(noChainFaults(), noChainFaults())
  world.start()
  await world.runFor(HOUR)
  world.chainFaults.wrongCode = 'first'
  swap(world, SPENDER)
  await world.runFor(2 * MINUTE)
  const signatures = world.watch.signatures
  await world.runFor(HOUR)
  expect(world.watch.signatures).toBe(signatures)
  expect(codeEvents(world, 'gasless.spenders.0')).toEqual(['seen', 'changed'])
  expectSound(world)
})

test('unreadable code pauses signatures after a minute and resumes them once it is readable', async () => {
  const world = await trading()
  world.chainFaults.wrongCode = 'unread'
  await world.runFor(9 * MINUTE)
  const signatures = world.watch.signatures
  await world.runFor(5 * MINUTE)
  expect(world.watch.signatures).toBe(signatures)
  world.chainFaults.wrongCode = undefined
  await world.runFor(HOUR)
  expect(world.watch.signatures).toBeGreaterThan(signatures)
  expect(new Set(outcomes(world, 'often'))).toEqual(new Set(['filled filled']))
  expect(codeEvents(world, 'gasless.spenders.0')).toEqual(['seen'])
  expectSound(world)
})

test('a started daemon signs nothing before it has read the code', async () => {
  const world = await trading()
  world.crash()
  world.chainFaults.wrongCode = 'unread'
  const signatures = world.watch.signatures
  world.start()
  await world.runFor(HOUR)
  expect(world.watch.signatures).toBe(signatures)
  expect(outcomes(world, 'often').at(-1)).toBe('expired too-late')
  expectSound(world)
})

test('an address without code is reported and blocks signatures until it has code', async () => {
  const world = new World({ seed: 'no code', strategies: [EVERY_TEN] })
  world.ledger.codes.set(SPENDER, 'none', 0)
  world.start()
  await world.runFor(HOUR)
  expect(world.watch.signatures).toBe(0)
  const details = world.observations.flatMap((event) =>
    event.type === 'disbelieved' ? [event.detail] : [],
  )
  expect(details).toEqual([expect.stringContaining(`gasless.spenders.0 (${SPENDER}) has no code`)])
  expect(codeEvents(world, 'gasless.spenders.0')).toEqual([])
  swap(world, SPENDER)
  await world.runFor(HOUR)
  expect(outcomes(world, 'often').at(-1)).toBe('filled filled')
  expect(codeEvents(world, 'gasless.spenders.0')).toEqual(['seen'])
  expectSound(world)
})

test.each(['target', 'gasTank', 'multicall', 'trustlessProposer'] as const)(
  'no call is signed once the code of its %s has changed, until an operator accepts it',
  async (which) => {
    const world = callWorld({ seed: 'swapped for calls' })
    world.start()
    await world.runFor(3 * HOUR)
    const { contracts, targets } = world.aggregation.settings
    const [target] = targets.values()
    const address = which === 'target' ? target : contracts[which]
    if (address === undefined) throw new Error('there is no target')
    world.aggregation.ledger.codes.set(address, 1, world.ledger.block)
    await world.runFor(2 * MINUTE)
    const before = world.aggregation.watch.signatures
    await world.runFor(3 * HOUR)
    expect(world.aggregation.watch.signatures).toBe(before)
    expect(outcomes(world, 'claim').at(-1)).toBe('refused code-changed')
    expect(await approved(world, address)).toMatchObject({ ok: true })
    const done = executed(world)
    await world.runFor(3 * HOUR)
    expect(executed(world)).toBeGreaterThan(done)
    expectSound(world)
  },
)

test('a submitted call is not sent directly once the code of its target has changed', async () => {
  const world = callWorld({ seed: 'no fallback' })
  world.aggregation.faults.neverExecutes = true
  await untilFirstSlot(world)
  await untilEvent(world, 'call-signed')
  const [target] = world.aggregation.settings.targets.values()
  if (target === undefined) throw new Error('there is no target')
  world.aggregation.ledger.codes.set(target, 1, world.ledger.block)
  await world.runFor(10 * MINUTE)
  expect(eventTypes(world)).not.toContain('transaction-signed')
  expect(unknowns(world).join()).toContain('not sent directly')
  expect(outcomes(world, 'claim')).toEqual(['refused code-changed'])
  expectSound(world)
})
