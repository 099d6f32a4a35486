import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation, type SimulationOptions } from '../../simulation/simulation.ts'
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
import { untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { above, aThreshold } from '../../unit/strategies/decide-fixture.ts'

const FIRST = aSchedule('0 * * * *', { overlap: 'skip' })

/**
 * A simulation whose first order fills on chain while no node shows its log or receipt and the service is silent: its
 * nonce is used, and no transaction explains it.
 */
async function unexplained(
  options: Partial<SimulationOptions> & { seed: string },
): Promise<Simulation> {
  const sim = new Simulation({ strategies: [aStrategy({ schedule: FIRST })], ...options })
  Object.assign(sim.serviceFaults, { silent: 1, silence: 'not-found' })
  sim.start()
  await sim.runFor(HOUR - 1_000)
  await untilSigned(sim, 1)
  Object.assign(sim.chainFaults, { losesLogs: 1 })
  await sim.runFor(5 * MINUTE)
  expect(sim.ledger.transactions.filter(({ settled }) => settled.length > 0)).toHaveLength(1)
  return sim
}

function settlementIn(sim: Simulation) {
  const mined = sim.ledger.transactions.find(({ settled }) => settled.length > 0)
  if (mined === undefined) throw new Error('nothing was settled')
  return mined.hash
}

function settledEvents(sim: Simulation) {
  return sim.disk.events().filter(({ type }) => type === 'order-settled')
}

describe('an order whose nonce is used without an explanation', () => {
  test('blocks its strategy until the operator resolves it as executed, then counts in full', async () => {
    const limits = { ...OPEN, perDay: capOf(USDC, usdc(40)) }
    const sim = await unexplained({
      seed: 'unexplained',
      strategies: [aStrategy({ schedule: FIRST, limits })],
    })
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('skipped too-many-open'))
    const evidence = await shown(sim)
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
    expect(await say(sim, EXECUTED)).toEqual({ ok: true, by: 'word', verdict: EXECUTED })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('failed settled')
    expect(sim.state.intents.size).toBe(0)
    expect(sim.state.spent.get(USDC.address)).toBe(usdc(25))
    await sim.runFor(HOUR)
    // 25 of 40 USDC are used of its day.
    expect(outcomes(sim, 'hourly').at(-1)).toBe('skipped limit-per-day')
    expect(sim.watch.signatures).toBe(1)
    expect(settledEvents(sim)).toHaveLength(1)
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test('is reported with the command that resolves it', async () => {
    const sim = await unexplained({ seed: 'reported' })
    const { id } = theOpen(sim)
    const messages = sim.observations.flatMap((event) =>
      event.type === 'order-unknown' ? [event.message] : [],
    )
    expect(messages.at(-1)).toContain(`tranched settle ${id}`)
  })

  test('is recorded from the proof when the named transaction proves the fill', async () => {
    const sim = await unexplained({ seed: 'named' })
    const txHash = settlementIn(sim)
    expect(await shown(sim, txHash)).toMatchObject({ named: 'proof' })
    const word = { as: 'executed', txHash } as const
    expect(await say(sim, word)).toEqual({ ok: true, by: 'proof', verdict: word })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(settledEvents(sim)).toEqual([])
    expectSound(sim)
  })

  test('is not reported as proven before the proof is on disk', async () => {
    const sim = await unexplained({ seed: 'not on disk' })
    const txHash = settlementIn(sim)
    sim.disk.onAppend = (type) => {
      sim.disk.full ||= type === 'fill-proven'
    }
    await expect(say(sim, { as: 'executed', txHash })).rejects.toThrow('no space left')
    expect(eventTypes(sim)).not.toContain('fill-proven')
  })

  test("counts in full on the operator's word when the named transaction proves nothing", async () => {
    const sim = await unexplained({ seed: 'stranger' })
    const { hash: txHash } = sim.ledger.strangersTransfer(USDC.address, 5n)
    await sim.runFor(10_000)
    expect(await shown(sim, txHash)).toMatchObject({ named: 'nothing' })
    const word = { as: 'executed', txHash } as const
    expect(await say(sim, word)).toEqual({ ok: true, by: 'word', verdict: word })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'hourly')).toEqual(['failed settled'])
    expect(sim.state.spent.get(USDC.address)).toBe(usdc(25))
    expectSound(sim)
  })

  test('cannot be resolved by a transaction unknown to the chain, nor as dead', async () => {
    const sim = await unexplained({ seed: 'nowhere' })
    const txHash = `0x${'77'.repeat(32)}` as const
    expect(await say(sim, { as: 'executed', txHash })).toMatchObject({
      ok: false,
      reason: 'no-such-transaction',
    })
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'nonce-used' })
    sim.chainFaults.down = true
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(settledEvents(sim)).toEqual([])
    expect(sim.state.intents.size).toBe(1)
  })

  test('counts as executed for a strategy that fires once', async () => {
    const schedule = aSchedule('0 * * * *', { overlap: 'skip' })
    const rungs = [above(1_000)]
    const strategies = [aThreshold({ name: 'profit', schedule, rungs, once: true })]
    const sim = await unexplained({ seed: 'once', strategies })
    await say(sim, EXECUTED)
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'profit')).toEqual([
      'failed settled',
      ...Array(3).fill('skipped finished'),
    ])
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('leaves the WETH wrapped for it untouched', async () => {
    const size = { side: 'sell', amount: milliWeth(20) } as const
    const strategy = aStrategy({ schedule: FIRST, sell: ETH, buy: SELL_USDC, size })
    const sim = await unexplained({ seed: 'wrapped', strategies: [strategy] })
    const before = sim.balance(WETH.address)
    await say(sim, EXECUTED)
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['failed settled'])
    expect(sim.balance(WETH.address)).toBe(before)
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test("has one outcome when the machine loses power between the operator's word and the close", async () => {
    for (const [append, when] of [
      [1, 'before'],
      [1, 'after'],
      [2, 'before'],
      [2, 'after'],
    ] as const) {
      const sim = await unexplained({ seed: 'power' })
      sim.disk.crashAt = { append: sim.disk.appends + append, when }
      const { id, attempt } = theOpen(sim)
      void sim.control.settle(id, { verdict: EXECUTED, attempt })
      await sim.runFor(MINUTE)
      const point = `${when} append ${append}`
      if (point === 'before append 1') {
        expect([point, settledEvents(sim).length]).toEqual([point, 0])
        await say(sim, EXECUTED)
        await sim.runFor(1_000)
      }
      expect([point, outcomes(sim, 'hourly')]).toEqual([point, ['failed settled']])
      expect([point, settledEvents(sim).length]).toEqual([point, 1])
      expect([point, sim.watch.signatures]).toEqual([point, 1])
      expectSound(sim)
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
        const sim = await unexplained({ seed: 'moments' })
        sim.chainFaults.slowMs = 1_000
        await sim.runFor(10_000 + momentMs)
        sim.clock.schedule(sim.clock.trueMs + showMs, () => {
          sim.chainFaults.losesLogs = 0
        })
        const { id, attempt } = theOpen(sim)
        const requests = [1, 2].map(() => sim.control.settle(id, { verdict: EXECUTED, attempt }))
        const replies = await Promise.all(requests.map((each) => answered(sim, each)))
        await sim.runFor(30_000)
        const [end = 'none', ...others] = outcomes(sim, 'hourly')
        const point = `said after ${momentMs} ms, shown after ${showMs} ms`
        expect([point, sim.ended, others]).toEqual([point, undefined, []])
        // The second of two resolutions finds the order closed.
        expect(replies.filter(({ ok }) => ok).length).toBeLessThanOrEqual(1)
        expect(settledEvents(sim)).toHaveLength(end === 'failed settled' ? 1 : 0)
        expectSound(sim)
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
    const sim = await unexplained({ seed: 'held' })
    Object.assign(sim.serviceFaults, faults)
    sim.queueDelaysMs = { poll }
    await sim.runFor(MINUTE)
    const saidAtMs = sim.clock.trueMs
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    expect(sim.clock.trueMs - saidAtMs).toBeLessThan(10_000)
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['failed settled'])
    expectSound(sim)
  })

  test('is refused for an attempt other than the one shown', async () => {
    const sim = await unexplained({ seed: 'another attempt' })
    const { id, attempt } = theOpen(sim)
    const later = sim.control.settle(id, { verdict: EXECUTED, attempt: attempt + 1 })
    expect(await answered(sim, later)).toMatchObject({ ok: false, reason: 'moved-on' })
  })

  test('is answered with an error when the daemon stops first', async () => {
    const sim = await unexplained({ seed: 'stopping' })
    sim.chainFaults.slowMs = 100_000
    await sim.runFor(10_000)
    const { id, attempt } = theOpen(sim)
    const request = sim.control.settle(id, { verdict: EXECUTED, attempt })
    sim.stop('SIGTERM')
    await expect(answered(sim, request)).rejects.toThrow('the daemon is stopping')
    expect(settledEvents(sim)).toEqual([])
  })
})

describe('an order that may still execute', () => {
  async function live(seed: string): Promise<Simulation> {
    const sim = new Simulation({ seed, strategies: [aStrategy()], rule: { finality: 10 } })
    sim.serviceFaults.neverFills = 1
    sim.start()
    await sim.runFor(HOUR - 1_000)
    await untilSigned(sim, 1)
    await sim.runFor(2_000)
    return sim
  }

  test('cannot be resolved as dead or as executed', async () => {
    const sim = await live('live')
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: false, reason: 'nonce-unused' })
    // Its deadline has passed at the newest block, but not at a final block.
    await sim.runFor(62_000)
    const { chain } = await shown(sim)
    expect(chain).toMatchObject({ head: { nonceUsed: false }, isDeadlinePast: false })
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    expect(eventTypes(sim)).not.toContain('order-settled')
  })

  test('can be resolved as dead after its deadline, frees its cap and is not tried again', async () => {
    const sim = await live('late')
    // The ordinary rules also wait for the service's clock, which lags by hours.
    sim.serviceFaults.skewMs = -9 * HOUR
    await sim.runFor(5 * MINUTE)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    expect([...sim.state.exposures.values()]).toMatchObject([{ amount: usdc(25), live: true }])
    expect(await say(sim, DEAD)).toEqual({ ok: true, by: 'word', verdict: DEAD })
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['failed settled'])
    expect(sim.state.exposures.size).toBe(0)
    expect(sim.state.spent.get(USDC.address)).toBeUndefined()
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('cannot be resolved before it is signed', async () => {
    const sim = new Simulation({ seed: 'planned', strategies: [aStrategy()] })
    sim.serviceFaults.down = true
    sim.start()
    await sim.runFor(HOUR + 5_000)
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'nothing-signed' })
    const unknownId = 'unknown:1:0' as const
    const reply = sim.control.settle(unknownId, { verdict: DEAD, attempt: 1 })
    expect(await answered(sim, reply)).toMatchObject({ ok: false, reason: 'not-open' })
  })
})
