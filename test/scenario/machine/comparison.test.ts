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

/** A daemon that has filled three orders and is down. Nothing outside its journal says how far it came. */
async function traded(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()] })
  world.start()
  await world.runFor(3 * HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
  world.crash()
  return world
}

/** Why everything is halted, once the daemon has started again and run for long enough to trade. */
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

describe('at a start the chain is held against the journal', () => {
  test('a fill that its records are lost of halts everything, and says which', async () => {
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

  test('so does what another daemon with the same key has sold, from a copy of the state', async () => {
    const world = await traded('a copy')
    const here = world.disk.events().length
    world.start()
    await world.runFor(2 * HOUR)
    world.crash()
    // What is here is the state as it was when it was copied away.
    world.disk.cutTo(here)
    expect(await haltAfterRestart(world)).toMatch(/paid 25 USDC .*; transaction .* paid 25 USDC/)
  })

  test('and a transaction of the wallet that nobody here has signed', async () => {
    const world = await traded('a stranger')
    world.mempool.useNonce(WALLET)
    expect(await haltAfterRestart(world)).toMatch(
      /^wallet 0x\w+ has sent 2 transactions on chain \d+, and the journal accounts for 1: /,
    )
  })

  test('an operator who resumes has accepted it: it is evidence once', async () => {
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

  test('nor is what was paid for nobody told again', async () => {
    const world = await traded('told once')
    world.disk.cutTo(eventTypes(world).lastIndexOf('slot-opened'))
    expect(await haltAfterRestart(world, 0.01)).toContain('paid 25 USDC')
    void world.control.resume(undefined)
    await world.runFor(10_000)
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
  })

  test('what is signed when it stops may come into a block after the next start', async () => {
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

  test('takes the place of a halt that an operator would lift without having seen it', async () => {
    const world = await traded('asked before')
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

  test('orders in flight explain what they paid, whether or not it is proven yet', async () => {
    const world = new World({ seed: 'in flight', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 10_000)
    await untilSigned(world, 1)
    world.crash()
    await world.runFor(2 * MINUTE)
    expect(sold(world)).toBe(25_000_000n)
    // Neither the service nor the receipt says so at first.
    world.chainFaults.indexingSeconds = 60
    world.loseServiceFor(10 * MINUTE)
    expect(await haltAfterRestart(world)).toBeUndefined()
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
    expectSound(world)
  })

  test('so does an order that ended with its tokens taken and too little given', async () => {
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

  test('but not what somebody else was paid beside them', async () => {
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

  test('a silent chain lets nothing begin until it answers', async () => {
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

  test('a node that is behind the journal is asked again, and shows no loss', async () => {
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

describe('what an honest daemon has done is explained', () => {
  test('by claims of an order that is older than eight days', async () => {
    const monthly = aStrategy({ schedule: aSchedule('0 1 1 * *') })
    const daily = aCallStrategy({ schedule: aSchedule('0 2 * * *') })
    const world = new World({ seed: 'forgotten', strategies: [monthly, daily] })
    world.start()
    await world.runFor(9 * 24 * HOUR)
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
  })

  test('by a transaction that was signed before the first comparison and mined after it', async () => {
    const world = new World({ seed: 'first', strategies: [aStrategy()] })
    world.chainFaults.minesAfterBlocksMax = 20
    world.start()
    await world.runFor(HOUR - 1)
    await untilEvent(world, 'transaction-signed')
    world.crash()
    // What an operator's `state accept-loss` leaves; a journal of an older version has no comparison either.
    world.disk.plant({ type: 'loss-accepted', detail: 'asked to' }, world.clock.trueMs)
    world.start()
    await untilEvent(world, 'transaction-ended')
    world.crash()
    expect(await haltAfterRestart(world)).toBeUndefined()
  })

  test.each([
    ['in another transaction', { zeroes: 0, isOther: true }],
    ['at another place of its block', { zeroes: 2, isOther: false }],
  ])(
    'by a fill that a reorganisation has put %s while it was down',
    async (_, { zeroes, isOther }) => {
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
    },
  )

  test.each([1, 20_000])(
    'by orders of which one node has the logs and the other no receipt yet, batched by %i ms',
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

  test('by an order whose nonce a node has not seen used that has fallen behind the logs', async () => {
    const rule = { finality: 2, agree: 2 } as const
    const world = new World({ seed: 'fallen behind', strategies: [aStrategy()], rule })
    // Whenever the second node has shown its logs, the first is behind.
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

  test('by two orders in one settlement, of a token that takes a fee of its transfers', async () => {
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

/** A hundredth of what the wallet pays goes to somebody. */
function withFee(transfer: Omit<Transfer, 'logIndex'>): Omit<Transfer, 'logIndex'>[] {
  if (transfer.token !== USDC.address || transfer.from !== WALLET) return [transfer]
  const fee = transfer.amount / 100n
  const to = `0x${'fe'.repeat(20)}` as const
  return [
    { ...transfer, amount: transfer.amount - fee },
    { ...transfer, to, amount: fee },
  ]
}

describe('while it runs', () => {
  test('a payment for nobody halts it within minutes, between two slots', async () => {
    const world = new World({ seed: 'stolen', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + 30 * MINUTE)
    steal(world)
    await world.runFor(3 * MINUTE)
    expect(world.state.halted?.detail).toMatch(/paid 4000 USDC out of the wallet/)
  })

  test('one whose logs come late does so once they are there, however often it has traded since', async () => {
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

  test('and the next start at the latest', async () => {
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

  test('what a copy of state, anchor and key trades elsewhere is told once, and again after a resume', async () => {
    const world = new World({ seed: 'a copy elsewhere', strategies: [aStrategy()] })
    world.start()
    await world.runFor(2 * HOUR + 30 * MINUTE)
    // The copy wraps and approves by transactions of its own.
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

  test('what is paid for nobody beside orders in flight is told once these are over', async () => {
    const rule = { finality: 2, agree: 2 } as const
    // An order that buys an exact amount is permitted to pay a little more than it does.
    const strategies = [aStrategy({ size: { side: 'buy', amount: milliWeth(10) } })]
    const world = new World({ seed: 'beside orders', strategies, rule })
    world.otherNodes.push(noChainFaults())
    world.start()
    await world.runFor(HOUR - MINUTE)
    world.chainFaults.indexingSeconds = 1_200
    await untilSigned(world, 1)
    await runUntil(world, 'sale', () => sold(world) > 0n, 100)
    steal(world, 10_000n)
    // Of neither is there a receipt, and both together are no more than what is permitted.
    await world.runFor(4 * MINUTE)
    expect(world.state.halted).toBeUndefined()
    world.chainFaults.indexingSeconds = 0
    await world.runFor(4 * MINUTE)
    expect(world.state.halted?.detail).toMatch(/^transaction 0x5a5a\w* in block \d+ paid 0.01 USDC/)
  })

  test('a nestedNonce of the account that somebody else has used halts it within minutes', async () => {
    const world = callWorld({ seed: 'foreign between slots' })
    await untilFirstSlot(world)
    await world.runFor(30 * MINUTE)
    world.aggregation.ledger.nestedNonce += 1n
    await world.runFor(3 * MINUTE)
    expect(world.state.halted?.detail).toMatch(/^account 0x\w+ has used its nestedNonce up to 1 /)
  })

  test('comparing is journaled every three hours, unless there is evidence', async () => {
    const world = new World({ seed: 'quiet', strategies: [aStrategy()] })
    world.start()
    await world.runFor(7 * HOUR)
    expect(eventTypes(world).filter((type) => type === 'wallet-compared')).toHaveLength(3)
    expectSound(world)
  })

  test('a nonce that somebody else has used is not signed behind', async () => {
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

  test('nor a nestedNonce', async () => {
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

describe('nodes that do not tell', () => {
  test('one without the logs hides nothing where two have to agree', async () => {
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

  test('one that is hours behind compares nothing: what it would go back to is forgotten by then', async () => {
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

  test('a block number that no node reaches keeps nothing from beginning', async () => {
    const world = new World({ seed: 'far ahead', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 10_000)
    await untilSigned(world, 1)
    world.crash()
    const place = { chainId: SIMULATED_CHAIN_ID, wallet: WALLET }
    const far = { blockNumber: 10n ** 9n, sinceBlock: 1n, transactionCount: 1 }
    const compared = { type: 'wallet-compared', ...place, ...far, nestedNonce: undefined } as const
    world.disk.plant(compared, world.clock.trueMs)
    expect(await haltAfterRestart(world)).toBeUndefined()
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
  })
})

describe('the account behind calls', () => {
  test('a nestedNonce that no call of ours has used halts everything', async () => {
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

  test('and so does a transaction of it', async () => {
    const world = callWorld({ seed: 'foreign transaction' })
    await untilFirstSlot(world)
    await world.runFor(HOUR)
    world.crash()
    // One may be the transaction that the call was given to the service in.
    world.aggregation.ledger.transactionCount += 2
    expect(await haltAfterRestart(world)).toMatch(/^wallet 0x\w+ has sent \d+ transactions/)
  })

  test('whose chain is silent holds up calls, and not those who trade elsewhere', async () => {
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
