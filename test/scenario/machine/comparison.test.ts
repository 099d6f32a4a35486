import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import type { Transfer } from '../../../src/ports.ts'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { SIMULATED_CHAIN_ID, USDC, WALLET } from '../../simulation/stage.ts'
import {
  aCallStrategy,
  callSimulation,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, milliWeth, usdc } from '../../support/builders.ts'
import { runUntil, untilEvent, untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** A stopped daemon that has filled three orders. Only its journal knows its progress. */
async function traded(seed: string): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(3 * HOUR + 10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
  sim.crash()
  return sim
}

/** Detail of the halt, if any, after a restart that lasts long enough to trade. */
async function haltAfterRestart(sim: Simulation, hours = 2): Promise<string | undefined> {
  const signed = sim.watch.signatures
  sim.start()
  await sim.runFor(hours * HOUR)
  const { halted } = sim.state
  if (halted !== undefined) {
    expect(halted.cause).toBe('evidence')
    expect(sim.watch.signatures).toBe(signed)
  }
  return halted?.detail
}

const sold = (sim: Simulation): bigint => 100_000n * 10n ** 6n - sim.balance(USDC.address)

describe('comparison of chain and journal at the start', () => {
  test('halts everything when the records of a fill are lost, and names the fill', async () => {
    const sim = await traded('lost records')
    const spent = sold(sim)
    sim.disk.cutTo(eventTypes(sim).lastIndexOf('slot-opened'))
    const why = await haltAfterRestart(sim)
    expect(why).toMatch(
      /^transaction 0x[0-9a-f]{64} in block \d+ paid 25 USDC out of the wallet for no order on record: /,
    )
    expect(why).toContain('Find out which before `tranched resume`')
    expect(sold(sim)).toBe(spent)
  })

  test('halts everything when a daemon with a copy of the state and key has sold', async () => {
    const sim = await traded('a copy')
    const here = sim.disk.events().length
    sim.start()
    await sim.runFor(2 * HOUR)
    sim.crash()
    // Restores the state as it was before the copy.
    sim.disk.cutTo(here)
    expect(await haltAfterRestart(sim)).toMatch(/paid 25 USDC .*; transaction .* paid 25 USDC/)
  })

  test('halts everything when the wallet has sent a transaction that this daemon has not signed', async () => {
    const sim = await traded('a stranger')
    sim.mempool.useNonce(WALLET)
    expect(await haltAfterRestart(sim)).toMatch(
      /^wallet 0x\w+ has sent 2 transactions on chain \d+, and the journal accounts for 1: /,
    )
  })

  test('does not halt again for evidence that the operator accepted with resume', async () => {
    const sim = await traded('accepted')
    sim.mempool.useNonce(WALLET)
    expect(await haltAfterRestart(sim)).toContain('has sent 2 transactions')
    expect(await haltAfterRestart(sim)).not.toContain('Halted before that')
    void sim.control.resume(undefined)
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
    sim.crash()
    expect(await haltAfterRestart(sim)).toBeUndefined()
    expectSound(sim)
  })

  test('does not halt again for an unexplained payment after resume', async () => {
    const sim = await traded('reported once')
    sim.disk.cutTo(eventTypes(sim).lastIndexOf('slot-opened'))
    expect(await haltAfterRestart(sim, 0.01)).toContain('paid 25 USDC')
    void sim.control.resume(undefined)
    await sim.runFor(10_000)
    sim.crash()
    expect(await haltAfterRestart(sim)).toBeUndefined()
  })

  test('accepts a transaction signed before the stop and mined after the next start', async () => {
    const sim = new Simulation({ seed: 'mined late', strategies: [aStrategy()] })
    sim.chainFaults.minesAfterBlocksMax = 20
    sim.start()
    await sim.runFor(HOUR - 1)
    await untilEvent(sim, 'transaction-signed', 10)
    for (let starts = 0; starts < 8; starts += 1) {
      sim.crash()
      sim.start()
      await sim.runFor(6_000)
    }
    expect(sim.state.halted).toBeUndefined()
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  })

  test("replaces an operator's halt, so that resume cannot lift the evidence unseen", async () => {
    const sim = await traded('halted before')
    sim.start()
    await sim.runFor(MINUTE)
    void sim.control.halt()
    await sim.runFor(MINUTE)
    sim.crash()
    sim.mempool.useNonce(WALLET)
    const why = await haltAfterRestart(sim)
    expect(why).toContain('has sent 2 transactions')
    expect(why).toContain('Halted before that: halted by the operator')
  })

  test('explains payments by orders in flight before their proof', async () => {
    const sim = new Simulation({ seed: 'in flight', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR - 10_000)
    await untilSigned(sim, 1)
    sim.crash()
    await sim.runFor(2 * MINUTE)
    expect(sold(sim)).toBe(25_000_000n)
    // Neither the service nor a receipt shows the fill at first.
    sim.chainFaults.indexingSeconds = 60
    sim.loseServiceFor(10 * MINUTE)
    expect(await haltAfterRestart(sim)).toBeUndefined()
    expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
    expectSound(sim)
  })

  test('explains a payment by an ended order whose settlement delivered too little', async () => {
    const sim = new Simulation({ seed: 'taken', strategies: [aStrategy()] })
    sim.serviceFaults.steals = 1
    sim.start()
    await sim.runFor(HOUR + 10 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['failed permit-cancelled'])
    sim.crash()
    sim.serviceFaults.steals = 0
    expect(await haltAfterRestart(sim)).toBeUndefined()
    expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
  })

  test('halts for a foreign payment beside orders in flight', async () => {
    const sim = new Simulation({ seed: 'beside', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR - 10_000)
    await untilSigned(sim, 1)
    sim.crash()
    await sim.runFor(2 * MINUTE)
    sim.ledger.mine({
      hash: `0x${'5a'.repeat(32)}`,
      input: '0x',
      call: () => [{ token: USDC.address, from: WALLET, to: NATIVE_TOKEN, amount: 4_000_000n }],
    })
    expect(await haltAfterRestart(sim)).toMatch(/0x5a5a\w* in block \d+ paid 4 USDC /)
  })

  test('blocks trading while the chain is silent', async () => {
    const sim = await traded('silent')
    sim.mempool.useNonce(WALLET)
    sim.chainFaults.unavailable = 1
    sim.start()
    await sim.runFor(HOUR)
    expect(sim.watch.signatures).toBe(3)
    sim.chainFaults.unavailable = 0
    await sim.runFor(HOUR)
    expect(sim.state.halted?.detail).toContain('has sent 2 transactions')
    expect(sim.watch.signatures).toBe(3)
  })

  test('queries a node that is behind the journal again, and reports no loss', async () => {
    const sim = await traded('behind')
    sim.chainFaults.lagSeconds = 2 * 3600
    sim.start()
    await sim.runFor(10 * MINUTE)
    expect(sim.state.halted).toBeUndefined()
    sim.chainFaults.lagSeconds = 0
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly')).toContain('filled filled')
    expectSound(sim)
  })
})

describe('comparison of an honest daemon halts nothing', () => {
  test('after claims beside an order older than eight days', async () => {
    const monthly = aStrategy({ schedule: aSchedule('0 1 1 * *') })
    const daily = aCallStrategy({ schedule: aSchedule('0 2 * * *') })
    const sim = new Simulation({ seed: 'forgotten', strategies: [monthly, daily] })
    sim.start()
    await sim.runFor(9 * 24 * HOUR)
    sim.crash()
    expect(await haltAfterRestart(sim)).toBeUndefined()
  })

  test('after a transaction signed before the first comparison and mined after it', async () => {
    const sim = new Simulation({ seed: 'first', strategies: [aStrategy()] })
    sim.chainFaults.minesAfterBlocksMax = 20
    sim.start()
    await sim.runFor(HOUR - 1)
    await untilEvent(sim, 'transaction-signed')
    sim.crash()
    // As after `state accept-loss`; journals of older versions have no comparison either.
    sim.disk.plant({ type: 'loss-accepted', detail: 'on request' }, sim.clock.trueMs)
    sim.start()
    await untilEvent(sim, 'transaction-ended')
    sim.crash()
    expect(await haltAfterRestart(sim)).toBeUndefined()
  })

  test('waits without an alarm until what the wallet did before the first start is final', async () => {
    const rule = { finality: 30, agree: 1 } as const
    const sim = new Simulation({ seed: 'not final', strategies: [aStrategy()], rule })
    await sim.runFor(HOUR - MINUTE / 2)
    sim.mempool.useNonce(WALLET)
    sim.start()
    await sim.runFor(MINUTE / 2)
    expect(eventTypes(sim)).not.toContain('wallet-compared')
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(sim.observations.map(({ type }) => type)).not.toContain('chain-trouble')
  })

  test.each([
    ['in another transaction', { zeroes: 0, isOther: true }],
    ['at another index of its block', { zeroes: 2, isOther: false }],
  ])('after a reorg during downtime moved a fill %s', async (_, { zeroes, isOther }) => {
    const rule = { finality: 30, agree: 1 } as const
    const sim = new Simulation({ seed: 'moved', strategies: [aStrategy()], rule })
    sim.start()
    await sim.runFor(HOUR - 100)
    await untilEvent(sim, 'slot-closed')
    const mined = sim.ledger.transactions.find(({ settled }) => settled.length > 0)
    if (mined === undefined) throw new Error('nothing was settled')
    sim.crash()
    sim.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await sim.runFor(4_000)
    const again = isOther ? {} : { zeroes, hash: mined.hash }
    expect(sim.ledger.settle(mined.settled, again).success).toBe(true)
    await sim.runFor(4_000)
    expect(await haltAfterRestart(sim)).toBeUndefined()
    expect(sold(sim)).toBeGreaterThan(0n)
  })

  test.each([1, 20_000])(
    'while one node has the logs of orders and the other lacks their receipts, batched by %i ms',
    async (batchMs) => {
      const strategies = [40, 12, 25].map((amount, index) =>
        aStrategy({ name: `order-${index}`, size: { side: 'sell', amount: usdc(amount) } }),
      )
      const rule = { finality: 2, agree: 2 } as const
      const sim = new Simulation({ seed: `late receipts ${batchMs}`, strategies, rule })
      sim.otherNodes.push(noChainFaults())
      sim.serviceFaults.batchMs = batchMs
      sim.start()
      await sim.runFor(HOUR - MINUTE)
      sim.chainFaults.indexingSeconds = 600
      await sim.runFor(8 * MINUTE)
      expect(sold(sim)).toBe(77_000_000n)
      expect(eventTypes(sim)).not.toContain('fill-proven')
      sim.chainFaults.indexingSeconds = 0
      await sim.runFor(10 * MINUTE)
      expect(sim.state.halted).toBeUndefined()
      expect(outcomes(sim, 'order-0')).toEqual(['filled filled'])
      expectSound(sim)
    },
  )

  test('while a node behind the logs reports the nonce of a settled order as unused', async () => {
    const rule = { finality: 2, agree: 2 } as const
    const sim = new Simulation({ seed: 'fallen behind', strategies: [aStrategy()], rule })
    // Puts the first node behind whenever the second node serves its logs.
    const second = Object.defineProperty(noChainFaults(), 'losesLogs', {
      get() {
        sim.chainFaults.lagSeconds = 60
        return 0
      },
    })
    sim.otherNodes.push(second)
    sim.start()
    await sim.runFor(HOUR - MINUTE)
    sim.chainFaults.indexingSeconds = 1_200
    await untilSigned(sim, 1)
    await runUntil(sim, 'sale', () => sold(sim) > 0n, 100)
    sim.chainFaults.lagSeconds = 0
    await sim.runFor(3 * MINUTE)
    expect(sim.chainFaults.lagSeconds).toBe(60)
    expect(sim.state.halted).toBeUndefined()
  })

  test('after one settlement of two orders in a fee-on-transfer token', async () => {
    const strategies = [aStrategy(), aStrategy({ name: 'second' })]
    const sim = new Simulation({ seed: 'fee', strategies })
    sim.serviceFaults.batchMs = 20_000
    const mine = sim.ledger.mine.bind(sim.ledger)
    sim.ledger.mine = (transaction) =>
      mine({ ...transaction, call: (block) => transaction.call(block)?.flatMap(withFee) })
    sim.start()
    await sim.runFor(HOUR + 20 * MINUTE)
    expect(sim.state.spent.get(USDC.address)).toBe(50_000_000n)
    sim.crash()
    expect(await haltAfterRestart(sim)).toBeUndefined()
  })
})

/** Diverts one percent of the wallet's payments to a fee account. */
function withFee(transfer: Omit<Transfer, 'logIndex'>): Omit<Transfer, 'logIndex'>[] {
  if (transfer.token !== USDC.address || transfer.from !== WALLET) return [transfer]
  const fee = transfer.amount / 100n
  const to = `0x${'fe'.repeat(20)}` as const
  return [
    { ...transfer, amount: transfer.amount - fee },
    { ...transfer, to, amount: fee },
  ]
}

describe('comparison of chain and journal while the daemon runs', () => {
  test('halts within minutes of an unexplained payment between two slots', async () => {
    const sim = new Simulation({ seed: 'stolen', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(3 * HOUR + 30 * MINUTE)
    steal(sim)
    await sim.runFor(3 * MINUTE)
    expect(sim.state.halted?.detail).toMatch(/paid 4,000 USDC out of the wallet/)
  })

  test('halts for an unexplained payment once its late logs appear, even after later trades', async () => {
    const sim = new Simulation({ seed: 'stolen late', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(3 * HOUR + 30 * MINUTE)
    sim.chainFaults.losesLogs = 1
    steal(sim)
    await sim.runFor(10 * MINUTE)
    sim.chainFaults.losesLogs = 0
    await sim.runFor(10 * MINUTE)
    expect(sim.state.halted).toBeUndefined()
    await sim.runFor(3 * HOUR)
    expect(sim.state.halted?.detail).toMatch(/paid 4,000 USDC out of the wallet/)
  })

  test('halts for an unexplained payment at the next start at the latest', async () => {
    const sim = new Simulation({ seed: 'stolen', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(2 * HOUR + 30 * MINUTE)
    sim.chainFaults.losesLogs = 1
    steal(sim)
    await sim.runFor(10 * MINUTE)
    sim.crash()
    sim.chainFaults.losesLogs = 0
    expect(await haltAfterRestart(sim)).toMatch(/paid 4,000 USDC out of the wallet/)
  })

  test('halts once for trades by a copy of state, anchor and key, and again after a resume', async () => {
    const sim = new Simulation({ seed: 'a copy elsewhere', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(2 * HOUR + 30 * MINUTE)
    // The copy wraps and approves with its own transactions.
    sim.mempool.useNonce(WALLET)
    await sim.runFor(3 * MINUTE)
    const { halted } = sim.state
    expect(halted?.detail).toMatch(/^wallet 0x\w+ has sent \d+ transactions/)
    const signed = sim.watch.signatures
    steal(sim)
    await sim.runFor(20 * MINUTE)
    expect(sim.state.halted).toEqual(halted)
    void sim.control.resume(undefined)
    await sim.runFor(3 * MINUTE)
    expect(sim.state.halted?.detail).toMatch(/^transaction 0x5a5a\w* in block \d+ paid 4,000 USDC/)
    expect(sim.watch.signatures).toBe(signed)
  })

  test('halts for an unexplained payment beside orders in flight once these have ended', async () => {
    const rule = { finality: 2, agree: 2 } as const
    // An order that buys an exact amount may pay a little more than it does.
    const strategies = [aStrategy({ size: { side: 'buy', amount: milliWeth(10) } })]
    const sim = new Simulation({ seed: 'beside orders', strategies, rule })
    sim.otherNodes.push(noChainFaults())
    sim.start()
    await sim.runFor(HOUR - MINUTE)
    sim.chainFaults.indexingSeconds = 1_200
    await untilSigned(sim, 1)
    await runUntil(sim, 'sale', () => sold(sim) > 0n, 100)
    steal(sim, 10_000n)
    // Both payments lack receipts, and their sum is within the permitted amount.
    await sim.runFor(4 * MINUTE)
    expect(sim.state.halted).toBeUndefined()
    sim.chainFaults.indexingSeconds = 0
    await sim.runFor(4 * MINUTE)
    expect(sim.state.halted?.detail).toMatch(/^transaction 0x5a5a\w* in block \d+ paid 0.01 USDC/)
  })

  test('halts within minutes of a foreign use of the nestedNonce', async () => {
    const sim = callSimulation({ seed: 'foreign between slots' })
    await untilFirstSlot(sim)
    await sim.runFor(30 * MINUTE)
    sim.aggregation.ledger.nestedNonce += 1n
    await sim.runFor(3 * MINUTE)
    expect(sim.state.halted?.detail).toMatch(/^account 0x\w+ has used its nestedNonce up to 1 /)
  })

  test('journals a comparison without evidence every three hours', async () => {
    const sim = new Simulation({ seed: 'quiet', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(7 * HOUR)
    expect(eventTypes(sim).filter((type) => type === 'wallet-compared')).toHaveLength(3)
    expectSound(sim)
  })

  test('signs nothing after a foreign use of the wallet nonce', async () => {
    const gasless = { approval: 'exact' } as const
    const sim = new Simulation({ seed: 'exact', strategies: [aStrategy()], gasless })
    sim.start()
    await sim.runFor(2 * HOUR + 30 * MINUTE)
    const signed = sim.watch.signatures
    sim.mempool.useNonce(WALLET)
    await sim.runFor(HOUR)
    expect(sim.state.halted?.detail).toMatch(/^wallet 0x\w+ has sent \d+ transactions/)
    expect(sim.watch.signatures).toBe(signed)
    void sim.control.resume(undefined)
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
  })

  test('signs nothing after a foreign use of the nestedNonce', async () => {
    const sim = callSimulation({ seed: 'foreign while running' })
    await untilFirstSlot(sim)
    await sim.runFor(30 * MINUTE)
    sim.aggregation.ledger.nestedNonce += 1n
    await sim.runFor(HOUR)
    expect(sim.state.halted?.detail).toMatch(/^account 0x\w+ has used its nestedNonce up to 1 /)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'skipped halted'])
    void sim.control.resume(undefined)
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'claim').at(-1)).toBe('filled filled')
  })
})

function steal(sim: Simulation, amount = 4_000_000_000n): void {
  const theft = { token: USDC.address, from: WALLET, to: NATIVE_TOKEN, amount }
  sim.ledger.mine({ hash: `0x${'5a'.repeat(32)}`, input: '0x', call: () => [theft] })
}

describe('comparison with incomplete nodes', () => {
  test('halts when one of two nodes lacks the logs and both must agree', async () => {
    const rule = { finality: 2, agree: 2 } as const
    const sim = new Simulation({ seed: 'two nodes', strategies: [aStrategy()], rule })
    sim.otherNodes.push(noChainFaults())
    sim.start()
    await sim.runFor(2 * HOUR + 30 * MINUTE)
    sim.crash()
    steal(sim)
    await sim.runFor(10 * MINUTE)
    sim.chainFaults.losesLogs = 1
    expect(await haltAfterRestart(sim)).toMatch(/paid 4,000 USDC/)
  })

  test('compares nothing against a node hours behind, whose block predates the retained records', async () => {
    const sim = new Simulation({ seed: 'hours behind', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(12 * HOUR - MINUTE)
    sim.chainFaults.lagSeconds = 10 * 3_600
    await sim.runFor(10 * MINUTE)
    sim.chainFaults.lagSeconds = 0
    await sim.runFor(14 * HOUR)
    expect(sim.state.halted).toBeUndefined()
    expect(eventTypes(sim).filter((type) => type === 'wallet-compared')).toHaveLength(9)
    expectSound(sim)
  })

  test('does not block the start when the recorded block number is beyond every node', async () => {
    const sim = new Simulation({ seed: 'far ahead', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR - 10_000)
    await untilSigned(sim, 1)
    sim.crash()
    const account = { chainId: SIMULATED_CHAIN_ID, wallet: WALLET }
    const far = { blockNumber: 10n ** 9n, sinceBlock: 1n, transactionCount: 1 }
    const compared = {
      type: 'wallet-compared',
      ...account,
      ...far,
      nestedNonce: undefined,
    } as const
    sim.disk.plant(compared, sim.clock.trueMs)
    expect(await haltAfterRestart(sim)).toBeUndefined()
    expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('filled filled'))
  })
})

describe('comparison of the account behind calls', () => {
  test('halts everything when the nestedNonce was used by a foreign call', async () => {
    const sim = callSimulation({ seed: 'foreign call' })
    await untilFirstSlot(sim)
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    sim.crash()
    sim.aggregation.ledger.nestedNonce += 1n
    expect(await haltAfterRestart(sim)).toMatch(
      /^account 0x\w+ has used its nestedNonce up to 1 on chain \d+, and the journal's calls account for what is below 1: /,
    )
    expect(outcomes(sim, 'claim').filter((each) => each.startsWith('filled'))).toHaveLength(1)
  })

  test('halts everything when the account has sent a foreign transaction', async () => {
    const sim = callSimulation({ seed: 'foreign transaction' })
    await untilFirstSlot(sim)
    await sim.runFor(HOUR)
    sim.crash()
    // One of them may be the transaction that submitted the call.
    sim.aggregation.ledger.transactionCount += 2
    expect(await haltAfterRestart(sim)).toMatch(/^wallet 0x\w+ has sent \d+ transactions/)
  })

  test('delays calls while their chain is silent, but no swaps on another chain', async () => {
    const sim = new Simulation({ seed: 'one chain', strategies: [aStrategy(), aCallStrategy()] })
    sim.start()
    await sim.runFor(MINUTE)
    sim.crash()
    sim.aggregation.chainFaults.down = true
    sim.start()
    await sim.runFor(2 * HOUR + MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('filled filled'))
    sim.aggregation.chainFaults.down = false
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'claim').at(-1)).toBe('filled filled')
    expectSound(sim)
  })
})
