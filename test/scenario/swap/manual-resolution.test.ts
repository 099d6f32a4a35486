import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { World, type WorldOptions } from '../../simulation/simulation.ts'
import { USDC, WETH } from '../../simulation/stage.ts'
import {
  aSchedule,
  aStrategy,
  capOf,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { answered, DEAD, EXECUTED, say, shown, theOpen } from '../../support/settling.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilSigned } from '../../support/worlds/run-until.ts'
import { above, aThreshold } from '../../unit/strategies/decide-fixture.ts'

const FIRST = aSchedule('0 * * * *', { overlap: 'skip' })

/**
 * A world whose first order fills on chain while no node shows its log or receipt and the service is silent: its
 * nonce is used, and no transaction explains it.
 */
async function unexplained(options: Partial<WorldOptions> & { seed: string }): Promise<World> {
  const world = new World({ strategies: [aStrategy({ schedule: FIRST })], ...options })
  Object.assign(world.serviceFaults, { silent: 1, silence: 'not-found' })
  world.start()
  await world.runFor(HOUR - 1_000)
  await untilSigned(world, 1)
  Object.assign(world.chainFaults, { losesLogs: 1 })
  await world.runFor(5 * MINUTE)
  expect(world.ledger.transactions.filter(({ settled }) => settled.length > 0)).toHaveLength(1)
  return world
}

function settlementIn(world: World) {
  const mined = world.ledger.transactions.find(({ settled }) => settled.length > 0)
  if (mined === undefined) throw new Error('nothing was settled')
  return mined.hash
}

function settledEvents(world: World) {
  return world.disk.events().filter(({ type }) => type === 'order-settled')
}

describe('an order whose nonce is used without an explanation', () => {
  test('blocks its strategy until the operator resolves it as executed, then counts in full', async () => {
    const limits = { ...OPEN, perDay: capOf(USDC, usdc(40)) }
    const world = await unexplained({
      seed: 'unexplained',
      strategies: [aStrategy({ schedule: FIRST, limits })],
    })
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('skipped too-many-open'))
    const evidence = await shown(world)
    expect(evidence).toMatchObject({
      does: 'sell 25 USDC for WETH',
      state: 'accepted',
      signed: { kind: 'permit', most: { token: 'USDC', amount: '25' } },
      chain: { head: { nonceUsed: true }, final: { nonceUsed: true }, isDeadlinePast: true },
      transactions: [],
      counted: { token: 'USDC', amount: '25' },
    })
    expect(evidence.answers.map(({ as, reason }) => [as, reason])).toEqual([
      ['dead', 'nonce-used'],
      ['executed TX', null],
      ['executed unknown', null],
    ])
    expect(await say(world, EXECUTED)).toEqual({ ok: true, by: 'word', verdict: EXECUTED })
    await world.runFor(1_000)
    expect(outcomes(world, 'hourly').at(-1)).toBe('failed settled')
    expect(world.state.intents.size).toBe(0)
    expect(world.state.spent.get(USDC.address)).toBe(usdc(25))
    await world.runFor(HOUR)
    // 25 of 40 USDC are used of its day.
    expect(outcomes(world, 'hourly').at(-1)).toBe('skipped limit-per-day')
    expect(world.watch.signatures).toBe(1)
    expect(settledEvents(world)).toHaveLength(1)
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test('is reported with the command that resolves it', async () => {
    const world = await unexplained({ seed: 'reported' })
    const { id } = theOpen(world)
    const messages = world.observations.flatMap((event) =>
      event.type === 'order-unknown' ? [event.message] : [],
    )
    expect(messages.at(-1)).toContain(`tranched settle ${id}`)
  })

  test('is recorded from the proof when the named transaction proves the fill', async () => {
    const world = await unexplained({ seed: 'named' })
    const txHash = settlementIn(world)
    expect(await shown(world, txHash)).toMatchObject({ named: 'proof' })
    const word = { as: 'executed', txHash } as const
    expect(await say(world, word)).toEqual({ ok: true, by: 'proof', word })
    await world.runFor(1_000)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(settledEvents(world)).toEqual([])
    expectSound(world)
  })

  test('is not reported as proven before the proof is on disk', async () => {
    const world = await unexplained({ seed: 'not on disk' })
    const txHash = settlementIn(world)
    world.disk.onAppend = (type) => {
      world.disk.full ||= type === 'fill-proven'
    }
    await expect(say(world, { as: 'executed', txHash })).rejects.toThrow('no space left')
    expect(eventTypes(world)).not.toContain('fill-proven')
  })

  test("counts in full on the operator's word when the named transaction proves nothing", async () => {
    const world = await unexplained({ seed: 'stranger' })
    const { hash: txHash } = world.ledger.strangersTransfer(USDC.address, 5n)
    await world.runFor(10_000)
    expect(await shown(world, txHash)).toMatchObject({ named: 'nothing' })
    const word = { as: 'executed', txHash } as const
    expect(await say(world, word)).toEqual({ ok: true, by: 'word', word })
    await world.runFor(1_000)
    expect(outcomes(world, 'hourly')).toEqual(['failed settled'])
    expect(world.state.spent.get(USDC.address)).toBe(usdc(25))
    expectSound(world)
  })

  test('cannot be resolved by a transaction unknown to the chain, nor as dead', async () => {
    const world = await unexplained({ seed: 'nowhere' })
    const txHash = `0x${'77'.repeat(32)}` as const
    expect(await say(world, { as: 'executed', txHash })).toMatchObject({
      ok: false,
      reason: 'no-such-transaction',
    })
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'nonce-used' })
    world.chainFaults.down = true
    expect(await say(world, EXECUTED)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(settledEvents(world)).toEqual([])
    expect(world.state.intents.size).toBe(1)
  })

  test('counts as executed for a strategy that fires once', async () => {
    const schedule = aSchedule('0 * * * *', { overlap: 'skip' })
    const rungs = [above(1_000)]
    const strategies = [aThreshold({ name: 'profit', schedule, rungs, once: true })]
    const world = await unexplained({ seed: 'once', strategies })
    await say(world, EXECUTED)
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'profit')).toEqual([
      'failed settled',
      ...Array(3).fill('skipped finished'),
    ])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('leaves the WETH wrapped for it untouched', async () => {
    const size = { side: 'sell', amount: milliWeth(20) } as const
    const strategy = aStrategy({ schedule: FIRST, sell: ETH, buy: SELL_USDC, size })
    const world = await unexplained({ seed: 'wrapped', strategies: [strategy] })
    const before = world.balance(WETH.address)
    await say(world, EXECUTED)
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['failed settled'])
    expect(world.balance(WETH.address)).toBe(before)
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test("has one outcome when the machine loses power between the operator's word and the close", async () => {
    for (const [append, when] of [
      [1, 'before'],
      [1, 'after'],
      [2, 'before'],
      [2, 'after'],
    ] as const) {
      const world = await unexplained({ seed: 'power' })
      world.disk.crashAt = { append: world.disk.appends + append, when }
      const { id, attempt } = theOpen(world)
      void world.control.settle(id, { verdict: EXECUTED, attempt })
      await world.runFor(MINUTE)
      const point = `${when} append ${append}`
      if (point === 'before append 1') {
        expect([point, settledEvents(world).length]).toEqual([point, 0])
        await say(world, EXECUTED)
        await world.runFor(1_000)
      }
      expect([point, outcomes(world, 'hourly')]).toEqual([point, ['failed settled']])
      expect([point, settledEvents(world).length]).toEqual([point, 1])
      expect([point, world.watch.signatures]).toEqual([point, 1])
      expectSound(world)
    }
  })
})

describe('a manual resolution while the order waits for a reply', () => {
  const MOMENTS = Array.from({ length: 14 }, (_, n) => n * 400)

  test.each([
    ['return before it', [0], ['filled filled']],
    ['return during it', MOMENTS.slice(1, 9), ['failed settled', 'filled filled']],
    ['never return', [HOUR], ['failed settled']],
  ])('has one outcome at any moment, with logs that %s', async (_, showsMs, all) => {
    const ends = new Set<string>()
    for (const momentMs of MOMENTS) {
      for (const showMs of showsMs) {
        const world = await unexplained({ seed: 'moments' })
        world.chainFaults.slowMs = 1_000
        await world.runFor(10_000 + momentMs)
        world.clock.schedule(world.clock.trueMs + showMs, () => {
          world.chainFaults.losesLogs = 0
        })
        const { id, attempt } = theOpen(world)
        const requests = [1, 2].map(() => world.control.settle(id, { verdict: EXECUTED, attempt }))
        const replies = await Promise.all(requests.map((each) => answered(world, each)))
        await world.runFor(30_000)
        const [end = 'none', ...others] = outcomes(world, 'hourly')
        const point = `said after ${momentMs} ms, shown after ${showMs} ms`
        expect([point, world.ended, others]).toEqual([point, undefined, []])
        // The second of two resolutions finds the order closed.
        expect(replies.filter(({ ok }) => ok).length).toBeLessThanOrEqual(1)
        expect(settledEvents(world)).toHaveLength(end === 'failed settled' ? 1 : 0)
        expectSound(world)
        ends.add(end)
      }
    }
    expect([...ends].toSorted()).toEqual(all)
  })

  test.each([
    ['answers polls with an error', { silence: 'error' }, 0],
    ['lets polls hang', { silence: 'hang' }, 0],
    ['holds its queue for ten minutes', {}, 10 * MINUTE],
  ] as const)('is accepted within seconds while the service %s', async (_, faults, poll) => {
    const world = await unexplained({ seed: 'held' })
    Object.assign(world.serviceFaults, faults)
    world.queueDelaysMs = { poll }
    await world.runFor(MINUTE)
    const saidAtMs = world.clock.trueMs
    expect(await say(world, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    expect(world.clock.trueMs - saidAtMs).toBeLessThan(10_000)
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['failed settled'])
    expectSound(world)
  })

  test('is refused for an attempt other than the one shown', async () => {
    const world = await unexplained({ seed: 'another attempt' })
    const { id, attempt } = theOpen(world)
    const later = world.control.settle(id, { verdict: EXECUTED, attempt: attempt + 1 })
    expect(await answered(world, later)).toMatchObject({ ok: false, reason: 'moved-on' })
  })

  test('is answered with an error when the daemon stops first', async () => {
    const world = await unexplained({ seed: 'stopping' })
    world.chainFaults.slowMs = 100_000
    await world.runFor(10_000)
    const { id, attempt } = theOpen(world)
    const request = world.control.settle(id, { verdict: EXECUTED, attempt })
    world.stop('SIGTERM')
    await expect(answered(world, request)).rejects.toThrow('the daemon is stopping')
    expect(settledEvents(world)).toEqual([])
  })
})

describe('an order that may still execute', () => {
  async function live(seed: string): Promise<World> {
    const world = new World({ seed, strategies: [aStrategy()], rule: { finality: 10 } })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(HOUR - 1_000)
    await untilSigned(world, 1)
    await world.runFor(2_000)
    return world
  }

  test('cannot be resolved as dead or as executed', async () => {
    const world = await live('live')
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    expect(await say(world, EXECUTED)).toMatchObject({ ok: false, reason: 'nonce-unused' })
    // Its deadline has passed at the newest block, but not at a final block.
    await world.runFor(62_000)
    const { chain } = await shown(world)
    expect(chain).toMatchObject({ head: { nonceUsed: false }, isDeadlinePast: false })
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    expect(eventTypes(world)).not.toContain('order-settled')
  })

  test('can be resolved as dead after its deadline, frees its cap and is not tried again', async () => {
    const world = await live('late')
    // The ordinary rules also wait for the service's clock, which lags by hours.
    world.serviceFaults.skewMs = -9 * HOUR
    await world.runFor(5 * MINUTE)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    expect([...world.state.exposures.values()]).toMatchObject([{ amount: usdc(25), live: true }])
    expect(await say(world, DEAD)).toEqual({ ok: true, by: 'word', verdict: DEAD })
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['failed settled'])
    expect(world.state.exposures.size).toBe(0)
    expect(world.state.spent.get(USDC.address)).toBeUndefined()
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('cannot be resolved before it is signed', async () => {
    const world = new World({ seed: 'planned', strategies: [aStrategy()] })
    world.serviceFaults.down = true
    world.start()
    await world.runFor(HOUR + 5_000)
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'nothing-signed' })
    const unknownId = 'unknown:1:0' as const
    const reply = world.control.settle(unknownId, { verdict: DEAD, attempt: 1 })
    expect(await answered(world, reply)).toMatchObject({ ok: false, reason: 'not-open' })
  })
})
