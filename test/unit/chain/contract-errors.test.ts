import { encodeErrorResult, type Hex, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { revertReason } from '../../../src/chain/node/contract-errors.ts'

const ABI = parseAbi([
  'error CallFailed(uint256 index, address account, bytes reason)',
  'error WrongNonce(uint256 nonce, uint256 expected)',
  'error Unlisted(uint256 why)',
  'error Error(string text)',
])
const ACCOUNT = `0x${'ab'.repeat(20)}` as const

const passedOn = (reason: Hex): Hex =>
  encodeErrorResult({ abi: ABI, errorName: 'CallFailed', args: [2n, ACCOUNT, reason] })

describe('the reason of a revert', () => {
  test('is the name of a known error with its arguments', () => {
    expect(revertReason('0xbe9179a6')).toBe('GasLimitExceeded()')
    const data = encodeErrorResult({ abi: ABI, errorName: 'WrongNonce', args: [3n, 4n] })
    expect(revertReason(data)).toBe('WrongNonce(3, 4)')
  })

  test('includes up to three nested errors', () => {
    const nested = passedOn('0xbe9179a6')
    expect(revertReason(nested)).toMatch(/^CallFailed\(2, 0x[ab]{40}, GasLimitExceeded\(\)\)$/i)
    expect(revertReason(passedOn(nested))).toMatch(/GasLimitExceeded\(\)\)\)$/)
    expect(revertReason(passedOn(passedOn(passedOn(nested))))).not.toMatch(/GasLimitExceeded/)
  })

  test("is the contract's own text on one bounded line", () => {
    const text = `not\nnow ${'x'.repeat(500)}`
    const data = encodeErrorResult({ abi: ABI, errorName: 'Error', args: [text] })
    const reason = revertReason(data) ?? ''
    expect(reason).toMatch(/^not now x+$/)
    expect(reason).toHaveLength(200)
  })

  test('is the selector of an unknown error', () => {
    const data = encodeErrorResult({ abi: ABI, errorName: 'Unlisted', args: [1n] })
    expect(revertReason(data)).toBe(`custom error ${data.slice(0, 10)}`)
    expect(revertReason(passedOn(data))).toContain(`custom error ${data.slice(0, 10)}`)
  })

  test.each([undefined, null, 7, '', '0x', '0x1234', 'reverted'])('is undefined for %s', (data) => {
    expect(revertReason(data)).toBeUndefined()
  })
})
