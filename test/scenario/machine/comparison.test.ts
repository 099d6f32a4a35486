import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import type { Transfer } from '../../../src/ports.ts'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { World } from '../../simulation/simulation.ts'
import { SIMULATED_CHAIN_ID, USDC, WALLET } from '../../simulation/stage.ts'
import { aCallStrategy, callWorld, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, milliWeth, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { runUntil, untilEvent, untilSigned } from '../../support/worlds/run-until.ts'

/** A stopped daemon that has filled three orders. Only its journal knows its progress. */
async function traded(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()] })
  world.start()
  await world.runFor(3 * HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
  world.crash()
  return world
}

/** Detail of the halt, if any, after a restart that lasts long enough to trade. */
async function haltAfterRestart(world: World, hours = 2): Promise<string | undefined> {
  const signed = world.watch.signatures
  world.start()
  await world.runFor(hours * HOUR)
  const { halted } = world.state
  if (halted !== undefined) {
    expect(halted.cause).toBe('evidence')
    expect(world.watch.signatures).toBe(signed)
  }
  return halted?.detail
}

const sold = (world: World): bigint => 100_000n * 10n ** 6n - world.balance(USDC.address)

describe('comparison of chain and journal at the start', () => {
  test('halts everything when the records of a fill are lost, and names the fill', async () => {
    const world = await traded('lost records')
    const spent = sold(world)
    world.disk.cutTo(eventTypes(world).lastIndexOf('slot-opened'))
    const why = await haltAfterRestart(world)
    expect(why).toMatch(
      /^transaction 0x[0-9a-f]{64} in block \d+ paid 25 USDC out of the wallet for no order on record: /,
    )
    expect(why).toContain('Find out which before `tranched resume`')
    expect(sold(world)).toBe(spent)
  })

  test('halts everything when a daemon with a copy of the state and key has sold', async () => {
    const world = await traded('a copy')
    const here = world.disk.events().length
    world.start()
    await world.runFor(2 * HOUR)
    world.crash()
    // Restores the state as it was before the copy.
    world.disk.cutTo(here)
    expect(await haltAfterRestart(world)).toMatch(/paid 25 USDC .*; transaction .* paid 25 USDC/)
  })

  test('halts everything when the wallet has sent a transaction that this daemon has not signed', async () => {
    const world = await traded('a stranger')
    world.mempool.useNonce(WALLET)
    expect(await haltAfterRestart(world)).toMatch(
      /^wallet 0x\w+ has sent 2 transactions on chain \d+, and the journal accounts for 1: /,
    )
  })

  test('does not halt again for evidence that the operator accepted with resume', async () => {
    const world = await traded('accepted')
    world.mempool.useNonce(WALLET)
    expect(await haltAfterRestart(world)).toContain('has sent 2 transactions')
    expect(await haltAfterRestart(world)).not.toContain('Halted before that')
    void world.control.resume(undefined)
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
    expectSound(world)
  })

  test('does not halt again for an unexplained payment after resume', async () => {
    const world = await traded('reported once')
    world.disk.cutTo(eventTypes(world).lastIndexOf('slot-opened'))
    expect(await haltAfterRestart(world, 0.01)).toContain('paid 25 USDC')
    void world.control.resume(undefined)
    await world.runFor(10_000)
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
  })

  test('accepts a transaction signed before the stop and mined after the next start', async () => {
    const world = new World({ seed: 'mined late', strategies: [aStrategy()] })
    world.chainFaults.minesAfterBlocksMax = 20
    world.start()
    await world.runFor(HOUR - 1)
    await untilEvent(world, 'transaction-signed', 10)
    for (let starts = 0; starts < 8; starts += 1) {
      world.crash()
      world.start()
      await world.runFor(6_000)
    }
    expect(world.state.halted).toBeUndefined()
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  })

  test("replaces an operator's halt, so that resume cannot lift the evidence unseen", async () => {
    const world = await traded('halted before')
    world.start()
    await world.runFor(MINUTE)
    void world.control.halt()
    await world.runFor(MINUTE)
    world.crash()
    world.mempool.useNonce(WALLET)
    const why = await haltAfterRestart(world)
    expect(why).toContain('has sent 2 transactions')
    expect(why).toContain('Halted before that: halted by the operator')
  })

  test('explains payments by orders in flight before their proof', async () => {
    const world = new World({ seed: 'in flight', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 10_000)
    await untilSigned(world, 1)
    world.crash()
    await world.runFor(2 * MINUTE)
    expect(sold(world)).toBe(25_000_000n)
    // Neither the service nor a receipt shows the fill at first.
    world.chainFaults.indexingSeconds = 60
    world.loseServiceFor(10 * MINUTE)
    expect(await haltAfterRestart(world)).toBeUndefined()
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
    expectSound(world)
  })

  test('explains a payment by an ended order whose settlement delivered too little', async () => {
    const world = new World({ seed: 'taken', strategies: [aStrategy()] })
    world.serviceFaults.steals = 1
    world.start()
    await world.runFor(HOUR + 10 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['failed permit-cancelled'])
    world.crash()
    world.serviceFaults.steals = 0
    expect(await haltAfterRestart(world)).toBeUndefined()
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
  })

  test('halts for a foreign payment beside orders in flight', async () => {
    const world = new World({ seed: 'beside', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 10_000)
    await untilSigned(world, 1)
    world.crash()
    await world.runFor(2 * MINUTE)
    world.ledger.mine({
      hash: `0x${'5a'.repeat(32)}`,
      input: '0x',
      call: () => [{ token: USDC.address, from: WALLET, to: NATIVE_TOKEN, amount: 4_000_000n }],
    })
    expect(await haltAfterRestart(world)).toMatch(/0x5a5a\w* in block \d+ paid 4 USDC /)
  })

  test('blocks trading while the chain is silent', async () => {
    const world = await traded('silent')
    world.mempool.useNonce(WALLET)
    world.chainFaults.unavailable = 1
    world.start()
    await world.runFor(HOUR)
    expect(world.watch.signatures).toBe(3)
    world.chainFaults.unavailable = 0
    await world.runFor(HOUR)
    expect(world.state.halted?.detail).toContain('has sent 2 transactions')
    expect(world.watch.signatures).toBe(3)
  })

  test('queries a node that is behind the journal again, and reports no loss', async () => {
    const world = await traded('behind')
    world.chainFaults.lagSeconds = 2 * 3600
    world.start()
    await world.runFor(10 * MINUTE)
    expect(world.state.halted).toBeUndefined()
    world.chainFaults.lagSeconds = 0
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toContain('filled filled')
    expectSound(world)
  })
})

describe('comparison of an honest daemon halts nothing', () => {
  test('after claims beside an order older than eight days', async () => {
    const monthly = aStrategy({ schedule: aSchedule('0 1 1 * *') })
    const daily = aCallStrategy({ schedule: aSchedule('0 2 * * *') })
    const world = new World({ seed: 'forgotten', strategies: [monthly, daily] })
    world.start()
    await world.runFor(9 * 24 * HOUR)
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
  })

  test('after a transaction signed before the first comparison and mined after it', async () => {
    const world = new World({ seed: 'first', strategies: [aStrategy()] })
    world.chainFaults.minesAfterBlocksMax = 20
    world.start()
    await world.runFor(HOUR - 1)
    await untilEvent(world, 'transaction-signed')
    world.crash()
    // As after `state accept-loss`; journals of older versions have no comparison either.
    world.disk.plant({ type: 'loss-accepted', detail: 'on request' }, world.clock.trueMs)
    world.start()
    await untilEvent(world, 'transaction-ended')
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
  })

  test.each([
    ['in another transaction', { zeroes: 0, isOther: true }],
    ['at another index of its block', { zeroes: 2, isOther: false }],
  ])('after a reorg during downtime moved a fill %s', async (_, { zeroes, isOther }) => {
    const rule = { finality: 30, agree: 1 } as const
    const world = new World({ seed: 'moved', strategies: [aStrategy()], rule })
    world.start()
    await world.runFor(HOUR - 100)
    await untilEvent(world, 'slot-closed')
    const mined = world.ledger.transactions.find(({ settled }) => settled.length > 0)
    if (mined === undefined) throw new Error('nothing was settled')
    world.crash()
    world.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await world.runFor(4_000)
    const again = isOther ? {} : { zeroes, hash: mined.hash }
    expect(world.ledger.settle(mined.settled, again).success).toBe(true)
    await world.runFor(4_000)
    expect(await haltAfterRestart(world)).toBeUndefined()
    expect(sold(world)).toBeGreaterThan(0n)
  })

  test.each([1, 20_000])(
    'while one node has the logs of orders and the other lacks their receipts, batched by %i ms',
    async (batchMs) => {
      const strategies = [40, 12, 25].map((amount, index) =>
        aStrategy({ name: `order-${index}`, size: { side: 'sell', amount: usdc(amount) } }),
      )
      const rule = { finality: 2, agree: 2 } as const
      const world = new World({ seed: `late receipts ${batchMs}`, strategies, rule })
      world.otherNodes.push(noChainFaults())
      world.serviceFaults.batchMs = batchMs
      world.start()
      await world.runFor(HOUR - MINUTE)
      world.chainFaults.indexingSeconds = 600
      await world.runFor(8 * MINUTE)
      expect(sold(world)).toBe(77_000_000n)
      expect(eventTypes(world)).not.toContain('fill-proven')
      world.chainFaults.indexingSeconds = 0
      await world.runFor(10 * MINUTE)
      expect(world.state.halted).toBeUndefined()
      expect(outcomes(world, 'order-0')).toEqual(['filled filled'])
      expectSound(world)
    },
  )

  test('while a node behind the logs reports the nonce of a settled order as unused', async () => {
    const rule = { finality: 2, agree: 2 } as const
    const world = new World({ seed: 'fallen behind', strategies: [aStrategy()], rule })
    // Puts the first node behind whenever the second node serves its logs.
    const second = Object.defineProperty(noChainFaults(), 'losesLogs', {
      get() {
        world.chainFaults.lagSeconds = 60
        return 0
      },
    })
    world.otherNodes.push(second)
    world.start()
    await world.runFor(HOUR - MINUTE)
    world.chainFaults.indexingSeconds = 1_200
    await untilSigned(world, 1)
    await runUntil(world, 'sale', () => sold(world) > 0n, 100)
    world.chainFaults.lagSeconds = 0
    await world.runFor(3 * MINUTE)
    expect(world.chainFaults.lagSeconds).toBe(60)
    expect(world.state.halted).toBeUndefined()
  })

  test('after one settlement of two orders in a fee-on-transfer token', async () => {
    const strategies = [aStrategy(), aStrategy({ name: 'second' })]
    const world = new World({ seed: 'fee', strategies })
    world.serviceFaults.batchMs = 20_000
    const mine = world.ledger.mine.bind(world.ledger)
    world.ledger.mine = (transaction) =>
      mine({ ...transaction, call: (block) => transaction.call(block)?.flatMap(withFee) })
    world.start()
    await world.runFor(HOUR + 20 * MINUTE)
    expect(world.state.spent.get(USDC.address)).toBe(50_000_000n)
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
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
    const world = new World({ seed: 'stolen', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + 30 * MINUTE)
    steal(world)
    await world.runFor(3 * MINUTE)
    expect(world.state.halted?.detail).toMatch(/paid 4000 USDC out of the wallet/)
  })

  test('halts for an unexplained payment once its late logs appear, even after later trades', async () => {
    const world = new World({ seed: 'stolen late', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + 30 * MINUTE)
    world.chainFaults.losesLogs = 1
    steal(world)
    await world.runFor(10 * MINUTE)
    world.chainFaults.losesLogs = 0
    await world.runFor(10 * MINUTE)
    expect(world.state.halted).toBeUndefined()
    await world.runFor(3 * HOUR)
    expect(world.state.halted?.detail).toMatch(/paid 4000 USDC out of the wallet/)
  })

  test('halts for an unexplained payment at the next start at the latest', async () => {
    const world = new World({ seed: 'stolen', strategies: [aStrategy()] })
    world.start()
    await world.runFor(2 * HOUR + 30 * MINUTE)
    world.chainFaults.losesLogs = 1
    steal(world)
    await world.runFor(10 * MINUTE)
    world.crash()
    world.chainFaults.losesLogs = 0
    expect(await haltAfterRestart(world)).toMatch(/paid 4000 USDC out of the wallet/)
  })

  test('halts once for trades by a copy of state, anchor and key, and again after a resume', async () => {
    const world = new World({ seed: 'a copy elsewhere', strategies: [aStrategy()] })
    world.start()
    await world.runFor(2 * HOUR + 30 * MINUTE)
    // The copy wraps and approves with its own transactions.
    world.mempool.useNonce(WALLET)
    await world.runFor(3 * MINUTE)
    const { halted } = world.state
    expect(halted?.detail).toMatch(/^wallet 0x\w+ has sent \d+ transactions/)
    const signed = world.watch.signatures
    steal(world)
    await world.runFor(20 * MINUTE)
    expect(world.state.halted).toEqual(halted)
    void world.control.resume(undefined)
    await world.runFor(3 * MINUTE)
    expect(world.state.halted?.detail).toMatch(/^transaction 0x5a5a\w* in block \d+ paid 4000 USDC/)
    expect(world.watch.signatures).toBe(signed)
  })

  test('halts for an unexplained payment beside orders in flight once these have ended', async () => {
    const rule = { finality: 2, agree: 2 } as const
    // An order that buys an exact amount may pay a little more than it does.
    const strategies = [aStrategy({ size: { side: 'buy', amount: milliWeth(10) } })]
    const world = new World({ seed: 'beside orders', strategies, rule })
    world.otherNodes.push(noChainFaults())
    world.start()
    await world.runFor(HOUR - MINUTE)
    world.chainFaults.indexingSeconds = 1_200
    await untilSigned(world, 1)
    await runUntil(world, 'sale', () => sold(world) > 0n, 100)
    steal(world, 10_000n)
    // Both payments lack receipts, and their sum is within the permitted amount.
    await world.runFor(4 * MINUTE)
    expect(world.state.halted).toBeUndefined()
    world.chainFaults.indexingSeconds = 0
    await world.runFor(4 * MINUTE)
    expect(world.state.halted?.detail).toMatch(/^transaction 0x5a5a\w* in block \d+ paid 0.01 USDC/)
  })

  test('halts within minutes of a foreign use of the nestedNonce', async () => {
    const world = callWorld({ seed: 'foreign between slots' })
    await untilFirstSlot(world)
    await world.runFor(30 * MINUTE)
    world.aggregation.ledger.nestedNonce += 1n
    await world.runFor(3 * MINUTE)
    expect(world.state.halted?.detail).toMatch(/^account 0x\w+ has used its nestedNonce up to 1 /)
  })

  test('journals a comparison without evidence every three hours', async () => {
    const world = new World({ seed: 'quiet', strategies: [aStrategy()] })
    world.start()
    await world.runFor(7 * HOUR)
    expect(eventTypes(world).filter((type) => type === 'wallet-compared')).toHaveLength(3)
    expectSound(world)
  })

  test('signs nothing after a foreign use of the wallet nonce', async () => {
    const gasless = { approval: 'exact' } as const
    const world = new World({ seed: 'exact', strategies: [aStrategy()], gasless })
    world.start()
    await world.runFor(2 * HOUR + 30 * MINUTE)
    const signed = world.watch.signatures
    world.mempool.useNonce(WALLET)
    await world.runFor(HOUR)
    expect(world.state.halted?.detail).toMatch(/^wallet 0x\w+ has sent \d+ transactions/)
    expect(world.watch.signatures).toBe(signed)
    void world.control.resume(undefined)
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
  })

  test('signs nothing after a foreign use of the nestedNonce', async () => {
    const world = callWorld({ seed: 'foreign while running' })
    await untilFirstSlot(world)
    await world.runFor(30 * MINUTE)
    world.aggregation.ledger.nestedNonce += 1n
    await world.runFor(HOUR)
    expect(world.state.halted?.detail).toMatch(/^account 0x\w+ has used its nestedNonce up to 1 /)
    expect(outcomes(world, 'claim')).toEqual(['filled filled', 'skipped halted'])
    void world.control.resume(undefined)
    await world.runFor(HOUR)
    expect(outcomes(world, 'claim').at(-1)).toBe('filled filled')
  })
})

function steal(world: World, amount = 4_000_000_000n): void {
  const theft = { token: USDC.address, from: WALLET, to: NATIVE_TOKEN, amount }
  world.ledger.mine({ hash: `0x${'5a'.repeat(32)}`, input: '0x', call: () => [theft] })
}

describe('comparison with incomplete nodes', () => {
  test('halts when one of two nodes lacks the logs and both must agree', async () => {
    const rule = { finality: 2, agree: 2 } as const
    const world = new World({ seed: 'two nodes', strategies: [aStrategy()], rule })
    world.otherNodes.push(noChainFaults())
    world.start()
    await world.runFor(2 * HOUR + 30 * MINUTE)
    world.crash()
    steal(world)
    await world.runFor(10 * MINUTE)
    world.chainFaults.losesLogs = 1
    expect(await haltAfterRestart(world)).toMatch(/paid 4000 USDC/)
  })

  test('compares nothing against a node hours behind, whose block predates the retained records', async () => {
    const world = new World({ seed: 'hours behind', strategies: [aStrategy()] })
    world.start()
    await world.runFor(12 * HOUR - MINUTE)
    world.chainFaults.lagSeconds = 10 * 3_600
    await world.runFor(10 * MINUTE)
    world.chainFaults.lagSeconds = 0
    await world.runFor(14 * HOUR)
    expect(world.state.halted).toBeUndefined()
    expect(eventTypes(world).filter((type) => type === 'wallet-compared')).toHaveLength(9)
    expectSound(world)
  })

  test('does not block the start when the recorded block number is beyond every node', async () => {
    const world = new World({ seed: 'far ahead', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 10_000)
    await untilSigned(world, 1)
    world.crash()
    const account = { chainId: SIMULATED_CHAIN_ID, wallet: WALLET }
    const far = { blockNumber: 10n ** 9n, sinceBlock: 1n, transactionCount: 1 }
    const compared = {
      type: 'wallet-compared',
      ...account,
      ...far,
      nestedNonce: undefined,
    } as const
    world.disk.plant(compared, world.clock.trueMs)
    expect(await haltAfterRestart(world)).toBeUndefined()
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
  })
})

describe('comparison of the account behind calls', () => {
  test('halts everything when the nestedNonce was used by a foreign call', async () => {
    const world = callWorld({ seed: 'foreign call' })
    await untilFirstSlot(world)
    await world.runFor(HOUR)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    world.crash()
    world.aggregation.ledger.nestedNonce += 1n
    expect(await haltAfterRestart(world)).toMatch(
      /^account 0x\w+ has used its nestedNonce up to 1 on chain \d+, and the journal's calls account for what is below 1: /,
    )
    expect(outcomes(world, 'claim').filter((each) => each.startsWith('filled'))).toHaveLength(1)
  })

  test('halts everything when the account has sent a foreign transaction', async () => {
    const world = callWorld({ seed: 'foreign transaction' })
    await untilFirstSlot(world)
    await world.runFor(HOUR)
    world.crash()
    // One of them may be the transaction that submitted the call.
    world.aggregation.ledger.transactionCount += 2
    expect(await haltAfterRestart(world)).toMatch(/^wallet 0x\w+ has sent \d+ transactions/)
  })

  test('delays calls while their chain is silent, but no swaps on another chain', async () => {
    const world = new World({ seed: 'one chain', strategies: [aStrategy(), aCallStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    world.crash()
    world.aggregation.chainFaults.down = true
    world.start()
    await world.runFor(2 * HOUR + MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
    world.aggregation.chainFaults.down = false
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'claim').at(-1)).toBe('filled filled')
    expectSound(world)
  })
})
