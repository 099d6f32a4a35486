import { describe, expect, test } from 'vitest'
import { type Address, baseUnits } from '../../../src/domain/money/units.ts'
import type { Permit } from '../../../src/domain/order/permit.ts'
import type { Quote } from '../../../src/domain/order/quote.ts'
import { readTypedData } from '../../../src/signing/typed-data.ts'
import { typedDataOf } from '../../simulation/gasless/offer.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const THIEF: Address = '0x00000000000000000000000000000000000bad00'

/** A quote whose typed data differs from the honest permit. */
function tampered(quote: Quote, changes: Partial<Permit>): Quote {
  const read = readTypedData(quote.typedData, quote.from)
  if (!read.ok) throw new Error(read.detail)
  return { ...quote, typedData: typedDataOf({ ...read.permit, ...changes }) }
}

describe('a quote that differs from the request', () => {
  test.each<[string, (quote: Quote) => Quote]>([
    ['owner-mismatch', (quote) => ({ ...quote, from: THIEF })],
    ['kind-mismatch', (quote) => ({ ...quote, side: 'buy' })],
    [
      'amount-above-limit',
      (quote) => ({ ...tampered(quote, { amount: usdc(26) }), sellAmount: usdc(26) }),
    ],
    ['amount-mismatch', (quote) => tampered(quote, { minAmountOut: baseUnits(1n) })],
    ['sell-token-mismatch', (quote) => tampered(quote, { token: THIEF })],
    ['buy-token-mismatch', (quote) => tampered(quote, { tokenOut: USDC.address })],
    ['recipient-mismatch', (quote) => tampered(quote, { recipient: THIEF })],
    ['permit2-mismatch', (quote) => tampered(quote, { permit2: THIEF })],
    [
      'spender-not-allowed',
      (quote) => ({ ...tampered(quote, { spender: THIEF }), spender: THIEF }),
    ],
    [
      'typed-data-malformed',
      (quote) => ({ ...quote, typedData: { ...quote.typedData, extra: 1 } }),
    ],
    ['digest-mismatch', (quote) => tampered(quote, { amount: usdc(24) })],
    [
      'deadline-mismatch',
      (quote) => tampered(quote, { deadlineSeconds: quote.validToSeconds + 1 }),
    ],
    [
      'deadline-too-far',
      (quote) => {
        const validToSeconds = quote.validToSeconds + 3_600
        return { ...tampered(quote, { deadlineSeconds: validToSeconds }), validToSeconds }
      },
    ],
    [
      'minimum-output-too-low',
      (quote) => ({
        ...tampered(quote, { minAmountOut: baseUnits(1n) }),
        minBuyAmount: baseUnits(1n),
      }),
    ],
    [
      'price-deviation',
      (quote) => {
        const minBuyAmount = baseUnits(((quote.minBuyAmount ?? 0n) * 97n) / 100n)
        const buyAmount = baseUnits((quote.buyAmount * 97n) / 100n)
        return { ...tampered(quote, { minAmountOut: minBuyAmount }), minBuyAmount, buyAmount }
      },
    ],
  ])('is refused as %s', async (reason, tamper) => {
    const sim = new Simulation({ seed: `tampered ${reason}`, strategies: [aStrategy()] })
    sim.serviceFaults.tamper = tamper
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual([`refused ${reason}`])
    expect(sim.watch.signatures).toBe(0)
    expect(sim.balance(USDC.address)).toBe(usdc(100_000))
    expectSound(sim)
  })
})

test('a wallet that gains code signs nothing more', async () => {
  const sim = new Simulation({ seed: 'code', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  sim.ledger.growCode(WALLET)
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'refused wallet-has-code'])
  expect(sim.watch.signatures).toBe(1)
  expectSound(sim)
})

test('the second of two concurrent orders whose quotes share a nonce is refused', async () => {
  const strategies = [aStrategy({ name: 'first' }), aStrategy({ name: 'second' })]
  const sim = new Simulation({ seed: 'one nonce', strategies })
  sim.serviceFaults.tamper = (quote) => tampered(quote, { nonce: 77n })
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  expect([...outcomes(sim, 'first'), ...outcomes(sim, 'second')]).toEqual(['refused nonce-live'])
  expect(sim.watch.signatures).toBe(1)
  expectSound(sim)
})

test('an order requests another quote when the nonce of its quote became live meanwhile', async () => {
  const strategies = [aStrategy({ name: 'first' }), aStrategy({ name: 'second' })]
  const sim = new Simulation({ seed: 'one nonce once', strategies })
  let quotes = 0
  sim.serviceFaults.tamper = (quote) => {
    quotes += 1
    return quotes > 2 ? quote : tampered(quote, { nonce: 77n })
  }
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  expect(outcomes(sim, 'second')).toEqual(['filled filled'])
  expectSound(sim)
})
