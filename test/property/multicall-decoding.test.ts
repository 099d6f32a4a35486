import fc from 'fast-check'
import { encodeAbiParameters, type Hex } from 'viem'
import { expect, test } from 'vitest'
import { UnusableAnswer } from '../../src/chain/node/batch.ts'
import { decodeReads, type Reads } from '../../src/chain/snapshot-reads.ts'
import type { Address } from '../../src/domain/money/units.ts'

const address = (index: number): Address => `0x${index.toString(16).padStart(40, '0')}`
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`
const uint = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const small = fc.bigInt({ min: 0n, max: 2n ** 40n })

/** Encodes an answer of `aggregate3` with an independent library. */
function encode(results: readonly { success: boolean; returnData: Hex }[]): Hex {
  const components = [
    { name: 'success', type: 'bool' },
    { name: 'returnData', type: 'bytes' },
  ] as const
  return encodeAbiParameters([{ type: 'tuple[]', components }], [results])
}

const scene = fc.record({
  block: small,
  time: small,
  native: uint,
  tokens: fc.array(
    fc.record({ balance: uint, allowance: uint, fails: fc.boolean(), silent: fc.boolean() }),
    { maxLength: 6 },
  ),
})

function readsOf(tokens: number): Reads {
  return {
    owner: address(1),
    permit2: address(2),
    tokens: Array.from({ length: tokens }, (_, index) => address(10 + index)),
    rounds: [],
    decimals: [],
    permitNonce: undefined,
  }
}

function answerOf({
  block,
  time,
  native,
  tokens,
}: typeof scene extends fc.Arbitrary<infer Scene> ? Scene : never): Hex {
  const good = (value: bigint) => ({ success: true, returnData: word(value) })
  return encode([
    good(block),
    good(time),
    good(native),
    ...tokens.flatMap(({ balance, allowance, fails, silent }) => [
      fails ? { success: false, returnData: '0x08c379a0' as const } : good(balance),
      silent ? { success: true, returnData: '0x' as const } : good(allowance),
    ]),
  ])
}

test('an answer encoded by an ABI library is decoded, without failed and empty results', () => {
  fc.assert(
    fc.property(scene, (given) => {
      const reads = readsOf(given.tokens.length)
      const readings = decodeReads(reads, answerOf(given))
      expect(readings.blockNumber).toBe(given.block)
      expect(readings.blockTimeSeconds).toBe(Number(given.time))
      expect(readings.nativeBalance).toBe(given.native)
      for (const [index, token] of given.tokens.entries()) {
        expect(readings.balances.get(address(10 + index))).toBe(
          token.fails ? undefined : token.balance,
        )
        expect(readings.allowances.get(address(10 + index))).toBe(
          token.silent ? undefined : token.allowance,
        )
      }
    }),
  )
})

test('data cut at any byte is refused, or decodes to the same values when only padding is cut', () => {
  fc.assert(
    fc.property(
      scene,
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (given, at) => {
        const whole = answerOf(given)
        const reads = readsOf(given.tokens.length)
        const cut = whole.slice(0, 2 + 2 * Math.floor(at * (whole.length / 2 - 1))) as Hex
        try {
          expect(decodeReads(reads, cut)).toEqual(decodeReads(reads, whole))
        } catch (error) {
          expect(error).toBeInstanceOf(UnusableAnswer)
        }
      },
    ),
  )
})

test('an offset, a length or a count that points beyond the data is refused', () => {
  const whole = encode([{ success: true, returnData: word(1n) }])
  for (const slot of [0, 1, 2, 4, 5]) {
    const start = 2 + slot * 64
    const bad = `${whole.slice(0, start)}${'f'.repeat(64)}${whole.slice(start + 64)}` as Hex
    expect(() => decodeReads(readsOf(0), bad)).toThrow(UnusableAnswer)
  }
})
