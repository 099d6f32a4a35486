import { expect, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import { World } from '../../simulation/simulation.ts'
import { SIMULATED_CHAIN_ID, USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'

const STRANGER: Address = `0x${'5a'.repeat(20)}`

test('a forged record in the journal of a stopped daemon stops the start and sends nothing', async () => {
  const world = new World({ seed: 'forged journal', strategies: [aStrategy()] })
  world.start()
  await world.runFor(2 * HOUR)
  world.crash()
  const nonce = world.mempool.nonceOf(WALLET)
  const allowed = world.ledger.allowance(USDC.address, WALLET)
  const transaction: TransactionRecord = {
    id: 'approve:forged:0',
    purpose: 'approve',
    intentId: undefined,
    chainId: SIMULATED_CHAIN_ID,
    from: WALLET,
    nonce,
    to: USDC.address,
    // approve(stranger, maximum amount)
    data: `0x095ea7b3${STRANGER.slice(2).padStart(64, '0')}${'f'.repeat(64)}`,
    value: 0n,
    gas: 50_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 10n ** 9n,
    hash: `0x${'11'.repeat(32)}`,
  }
  world.disk.forge({ type: 'transaction-recorded', transaction }, world.clock.trueMs)
  world.start()
  await world.runFor(10 * MINUTE)
  expect(world.mempool.nonceOf(WALLET)).toBe(nonce)
  expect(world.ledger.allowance(USDC.address, WALLET)).toBe(allowed)
  expect(world.ended).toMatchObject({
    error: { message: expect.stringContaining("was not written by this wallet's daemon") },
  })
})
