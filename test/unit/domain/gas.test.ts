import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  defaultGasLimits,
  gasCost,
  gasRefusal,
  gweiText,
  intrinsicGas,
  TRANSACTION_GAS_MAX,
  unfitGas,
  withinGasLimits,
} from '../../../src/domain/money/gas.ts'

const GWEI = 10n ** 9n
const LIMITS = {
  maxFeePerGas: 20n * GWEI,
  maxPriorityFeePerGas: 5n * GWEI,
  perTransaction: 50_000n * 10n * GWEI,
  perDay: 50_000n * 25n * GWEI,
}
const requested = (base: bigint, tip: bigint, gas = 50_000n) => ({
  ...{ gas, baseFeePerGas: base * GWEI, maxPriorityFeePerGas: tip * GWEI },
  maxFeePerGas: (2n * base + tip) * GWEI,
})

test('a transaction without data takes 21,000 gas, and calldata costs what EIP-7623 defines', () => {
  expect(intrinsicGas('0x')).toBe(21_000n)
  // A zero byte is one token, any other byte four; a token costs ten gas.
  expect(intrinsicGas('0x00ff')).toBe(21_050n)
})

test.each([
  ['0x', 20_999n, /from 21000 to 16777216/],
  ['0x', 21_000n, undefined],
  ['0xff', 21_000n, /from 21040/],
  ['0x', TRANSACTION_GAS_MAX, undefined],
  ['0x', TRANSACTION_GAS_MAX + 1n, /no block accepts/],
] as const)('gas for %s: %s', (data, gas, expected) => {
  const reason = unfitGas(data, gas)
  if (expected === undefined) expect(reason).toBeUndefined()
  else expect(reason).toMatch(expected)
})

test('an offer equals the request if the limits allow it', () => {
  const { baseFeePerGas: _, ...offer } = requested(2n, 1n)
  expect(withinGasLimits(LIMITS, requested(2n, 1n), 0n)).toEqual({ ok: true, offer })
})

test('the margin for a rising base fee shrinks first, down to the fee of the next block', () => {
  // One transaction may cost at most 10 gwei per gas.
  const allowed = withinGasLimits(LIMITS, requested(8n, 1n), 0n)
  expect(allowed).toMatchObject({ ok: true, offer: { maxFeePerGas: 10n * GWEI } })
  expect(withinGasLimits(LIMITS, requested(10n, 1n), 0n)).toEqual({
    ok: false,
    why: 'gas would cost 0.00050000000005 ETH; chains.*.gas.perTransaction allows 0.0005 ETH',
  })
})

test('a suggested tip is cut to its limit', () => {
  const allowed = withinGasLimits(
    LIMITS,
    { ...requested(1n, 1n), maxPriorityFeePerGas: 10n ** 15n },
    0n,
  )
  expect(allowed).toMatchObject({ offer: { maxPriorityFeePerGas: 3n * GWEI } })
})

test("the offer is limited to the rest of the day's budget, and refused once the budget is spent", () => {
  const used = LIMITS.perDay - 50_000n * 3n * GWEI
  expect(withinGasLimits(LIMITS, requested(2n, 1n), used)).toMatchObject({
    offer: { maxFeePerGas: 3n * GWEI },
  })
  expect(withinGasLimits(LIMITS, requested(2n, 1n), LIMITS.perDay)).toMatchObject({
    ok: false,
    why: expect.stringContaining('chains.*.gas.perDay allows 0.00125 ETH'),
  })
})

const wei = fc.bigInt({ min: 0n, max: 10n ** 30n })
const gas = fc.bigInt({ min: 21_000n, max: TRANSACTION_GAS_MAX })

test('no offer exceeds a limit or its request', () => {
  fc.assert(
    fc.property(
      fc.record({ gas, maxFeePerGas: wei, maxPriorityFeePerGas: wei, baseFeePerGas: wei }),
      wei,
      (request, used) => {
        const allowed = withinGasLimits(LIMITS, request, used)
        if (!allowed.ok) return
        const { offer } = allowed
        expect(gasRefusal(LIMITS, offer, used)).toBeUndefined()
        expect(offer.maxFeePerGas).toBeLessThanOrEqual(request.maxFeePerGas)
        expect(offer.maxPriorityFeePerGas).toBeLessThanOrEqual(offer.maxFeePerGas)
        expect(gasCost(offer)).toBeLessThanOrEqual(LIMITS.perTransaction)
      },
    ),
  )
})

test('a rollup and a mainnet have separate limits, far below the funds of a wallet', () => {
  const [base, mainnet] = [8453, 1].map(defaultGasLimits)
  expect(base?.perDay).toBe(10n ** 16n)
  expect(mainnet?.perDay).toBe(2n * 10n ** 17n)
})

test.each([
  [20n * GWEI, '20 gwei'],
  [1_500_000n, '0.0015 gwei'],
  [1n, '0.000000001 gwei'],
])('%s wei are %s', (amount, text) => {
  expect(gweiText(amount)).toBe(text)
})
