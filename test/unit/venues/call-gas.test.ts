import { describe, expect, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { proposerGas, targetGas, withLimitAdvice } from '../../../src/venues/call/call-gas.ts'

const SELECTOR: Hex = '0x4e71d92d'

describe('the share of the target', () => {
  test('is the gas of a direct call without its transaction and calldata', () => {
    expect(targetGas({ calldata: SELECTOR, directGas: 45_064n })).toBe(24_000n)
    expect(targetGas({ calldata: '0x', directGas: 21_000n })).toBe(0n)
    expect(targetGas({ calldata: '0x', directGas: 24_000n })).toBe(3_000n)
  })

  test('is zero if the floor price of long calldata hides it', () => {
    const calldata: Hex = `0x${'ff'.repeat(1_000)}`
    const floor = 21_000n + 40_000n
    expect(targetGas({ calldata, directGas: floor })).toBe(0n)
    expect(targetGas({ calldata, directGas: floor + floor / 100n })).toBe(0n)
    expect(targetGas({ calldata, directGas: 90_000n })).toBe(53_000n)
  })
})

describe('the share of the proposer', () => {
  const plain = { calldata: SELECTOR, value: 0n, nonce: 1n, targetGas: 20_000n }

  test('increases for the first nonce, for ether, and for a possibly new address', () => {
    const least = proposerGas(plain)
    expect(proposerGas({ ...plain, nonce: 0n }) - least).toBe(17_100n)
    expect(proposerGas({ ...plain, value: 1n }) - least).toBe(9_000n)
    expect(proposerGas({ ...plain, value: 1n, targetGas: 0n }) - least).toBe(34_000n)
    expect(proposerGas({ ...plain, targetGas: 0n })).toBe(least)
  })
})

describe('an answer that names an exceeded gas limit', () => {
  const call = { calldata: SELECTOR, value: 0n, directGas: 45_064n, gasLimit: 1n, nonce: 7n }
  const needed = 24_000n + proposerGas({ ...call, nonce: 7n, targetGas: 24_000n })

  test.each([
    'execution reverted: GasLimitExceeded()',
    'execution reverted: CallFailed(0, 0xaa, GasLimitExceeded())',
    'execution reverted: NotEnoughGas(90000, 100000)',
    'execution reverted: custom error 0xbe9179a6',
  ])('says how much the limit lacks (%s)', (message) => {
    const gasLimit = 40_000n
    expect(withLimitAdvice(message, { ...call, gasLimit })).toBe(
      `${message}; gasLimit 40000 lacks up to ${needed - gasLimit}: set it to ${needed}`,
    )
  })

  test('says so if a deployment uses more than expected', () => {
    expect(withLimitAdvice('GasLimitExceeded()', { ...call, gasLimit: needed })).toBe(
      `GasLimitExceeded(); gasLimit ${needed} is below what this deployment uses, which is more than the expected ${needed}: raise it`,
    )
  })

  test('leaves other answers as they are', () => {
    expect(withLimitAdvice('execution reverted: WrongNonce(1, 2)', call)).toBe(
      'execution reverted: WrongNonce(1, 2)',
    )
  })
})
