import { expect, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { SIMULATED_CHAIN_ID, USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'

const STRANGER: Address = `0x${'5a'.repeat(20)}`

test('a forged record in the journal of a stopped daemon stops the start and sends nothing', async () => {
  const sim = new Simulation({ seed: 'forged journal', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(2 * HOUR)
  sim.crash()
  const nonce = sim.mempool.nonceOf(WALLET)
  const allowed = sim.ledger.allowance(USDC.address, WALLET)
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
  sim.disk.forge({ type: 'transaction-recorded', transaction }, sim.clock.trueMs)
  sim.start()
  await sim.runFor(10 * MINUTE)
  expect(sim.mempool.nonceOf(WALLET)).toBe(nonce)
  expect(sim.ledger.allowance(USDC.address, WALLET)).toBe(allowed)
  expect(sim.ended).toMatchObject({
    error: { message: expect.stringContaining("was not written by this wallet's daemon") },
  })
})
