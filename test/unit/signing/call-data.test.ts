import fc from 'fast-check'
import { decodeAbiParameters, decodeFunctionData, hashTypedData, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import {
  type AccountCall,
  type AnsweredDomain,
  delegateOf,
  PROPOSER_DOMAIN,
  resolveVerifyingContract,
} from '../../../src/domain/order/call.ts'
import { encodeOnCall, encodeSignedCall, hashCall } from '../../../src/signing/call-data.ts'

const PROPOSER: Address = `0x${'aa'.repeat(20)}`
const ACCOUNT: Address = `0x${'bb'.repeat(20)}`
const STRANGER: Address = `0x${'cc'.repeat(20)}`
const ON_CALL = parseAbi([
  'function onCall(address _target, bytes _data, uint256 _value) returns (bool)',
])
const PAYLOAD = [
  { type: 'bytes' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'bytes' },
  { type: 'uint256' },
] as const

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map(hex)
const bytes = fc.uint8Array({ maxLength: 200 }).map(hex)
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const call: fc.Arbitrary<AccountCall> = fc.record({
  chainId: fc.integer({ min: 1, max: 2 ** 40 }),
  account: address,
  verifyingContract: address,
  deadlineSeconds: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  nonce: uint256,
  target: address,
  value: uint256,
  calldata: bytes,
  gasLimit: uint256,
})

describe('the digest of a call', () => {
  test("equals viem's digest of the interface's typed data", () => {
    fc.assert(
      fc.property(call, ({ chainId, verifyingContract, deadlineSeconds, ...rest }) => {
        const { account, ...message } = rest
        const expected = hashTypedData({
          domain: { name: 'TrustlessProposer', version: '1', chainId, verifyingContract },
          types: {
            Call: [
              { name: 'deadline', type: 'uint256' },
              { name: 'nonce', type: 'uint256' },
              { name: 'target', type: 'address' },
              { name: 'value', type: 'uint256' },
              { name: 'calldata', type: 'bytes' },
              { name: 'gasLimit', type: 'uint256' },
            ],
          },
          primaryType: 'Call',
          message: { ...message, deadline: BigInt(deadlineSeconds) },
        })
        const given = { ...message, account, chainId, verifyingContract, deadlineSeconds }
        expect(hashCall(given)).toBe(expected)
      }),
    )
  })

  test('changes with every signed field', () => {
    const one: AccountCall = {
      chainId: 1,
      account: ACCOUNT,
      verifyingContract: PROPOSER,
      deadlineSeconds: 1,
      nonce: 1n,
      target: STRANGER,
      value: 1n,
      calldata: '0x01',
      gasLimit: 1n,
    }
    const others: readonly AccountCall[] = [
      { ...one, chainId: 2 },
      { ...one, verifyingContract: ACCOUNT },
      { ...one, deadlineSeconds: 2 },
      { ...one, nonce: 2n },
      { ...one, target: PROPOSER },
      { ...one, value: 2n },
      { ...one, calldata: '0x02' },
      { ...one, gasLimit: 2n },
    ]
    expect(new Set([one, ...others].map(hashCall)).size).toBe(others.length + 1)
  })

  test('uses the frozen domain', () => {
    expect(PROPOSER_DOMAIN).toEqual({ name: 'TrustlessProposer', version: '1' })
  })
})

describe('calldata of onCall', () => {
  test('holds target, value and the signed payload in the order of the interface', () => {
    fc.assert(
      fc.property(call, fc.uint8Array({ minLength: 65, maxLength: 65 }), (given, signed) => {
        const signature = hex(signed)
        const { args } = decodeFunctionData({
          abi: ON_CALL,
          data: encodeSignedCall(given, signature),
        })
        const [target, payload, value] = args
        expect(target.toLowerCase()).toBe(given.target)
        expect(value).toBe(given.value)
        const { deadlineSeconds, nonce, calldata, gasLimit } = given
        expect(decodeAbiParameters(PAYLOAD, payload)).toEqual([
          signature,
          BigInt(deadlineSeconds),
          nonce,
          calldata,
          gasLimit,
        ])
      }),
    )
  })

  test('accepts any payload', () => {
    const data = encodeOnCall(STRANGER, '0x1234', 5n)
    const { args } = decodeFunctionData({ abi: ON_CALL, data })
    expect([args[0].toLowerCase(), args[1], args[2]]).toEqual([STRANGER, '0x1234', 5n])
  })
})

describe('the verifying contract of a signature', () => {
  const answer: AnsweredDomain = {
    name: 'TrustlessProposer',
    version: '1',
    chainId: 11_155_111n,
    verifyingContract: ACCOUNT,
    hasExtras: false,
  }
  const resolve = (answered: AnsweredDomain | undefined): Address | undefined =>
    resolveVerifyingContract({
      answered,
      chainId: 11_155_111,
      proposer: PROPOSER,
      account: ACCOUNT,
    })

  test('is the proposer if the account returns no domain', () => {
    expect(resolve(undefined)).toBe(PROPOSER)
  })

  test.each([PROPOSER, ACCOUNT])(
    'is the contract that the account returns: %s',
    (verifyingContract) => {
      expect(resolve({ ...answer, verifyingContract })).toBe(verifyingContract)
    },
  )

  test.each<[string, Partial<AnsweredDomain>]>([
    ['another name', { name: 'TrustedProposer' }],
    ['no name', { name: '' }],
    ['another version', { version: '2' }],
    ['another chain', { chainId: 1n }],
    ['a chain beyond the safe integers', { chainId: 2n ** 64n + 11_155_111n }],
    ['a foreign contract', { verifyingContract: STRANGER }],
    ['a salt or extensions', { hasExtras: true }],
  ])('is undefined for a domain with %s', (_, changes) => {
    expect(resolve({ ...answer, ...changes })).toBeUndefined()
  })
})

describe('the delegate of an account', () => {
  test('is the address in its code, in lower case', () => {
    expect(delegateOf(`0xef0100${'aa'.repeat(20)}`)).toBe(PROPOSER)
    expect(delegateOf(`0xEF0100${'AA'.repeat(20)}` as Hex)).toBe(PROPOSER)
  })

  test.each<[string, Hex]>([
    ['no code', '0x'],
    ['a contract', '0x6080604052'],
    ['another prefix', `0xef0101${'aa'.repeat(20)}`],
    ['a byte too few', `0xef0100${'aa'.repeat(19)}`],
    ['a byte too many', `0xef0100${'aa'.repeat(21)}`],
    ['a delegation inside other code', `0x00ef0100${'aa'.repeat(20)}`],
  ])('is undefined for %s', (_, code) => {
    expect(delegateOf(code)).toBeUndefined()
  })
})
