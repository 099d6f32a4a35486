import fc from 'fast-check'
import { type Hex, hashTypedData } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import {
  createPermitDigest,
  type OrderPermit,
  recoverSigner,
  typedDataOf,
} from '../../../src/sandbox/gasless/permit.ts'

const address = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`)
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const permit: fc.Arbitrary<OrderPermit> = fc.record({
  chainId: fc.constant(8453),
  permit2: fc.constant<Hex>('0x000000000022D473030F116dDEE9F6B43aC78BA3'),
  token: address,
  amount: uint256,
  spender: address,
  nonce: uint256,
  deadline: fc.integer({ min: 1, max: 2 ** 40 }),
  recipient: address,
  tokenOut: address,
  minAmountOut: uint256,
})

test('the fast digest equals the general digest for every permit', () => {
  const digest = createPermitDigest(8453)
  fc.assert(
    fc.property(permit, (value) => {
      const data = typedDataOf(value, { listDomainType: true })
      const general = hashTypedData(data as unknown as Parameters<typeof hashTypedData>[0])
      expect(digest(value)).toBe(general)
    }),
    { numRuns: 100 },
  )
})

const digest: Hex = `0x${'5a'.repeat(32)}`

test('the signer of a full and of a compact signature is recovered', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const signature = await account.sign({ hash: digest })
  const owner = account.address.toLowerCase()
  expect(recoverSigner(digest, signature)).toBe(owner)
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const compact = Buffer.from(bytes.subarray(0, 64))
  compact[32] = (compact[32] ?? 0) | (bytes[64] === 28 ? 0x80 : 0)
  expect(recoverSigner(digest, `0x${compact.toString('hex')}`)).toBe(owner)
})

test('a signature with v 0 or 1 is invalid, since Permit2 accepts only 27 and 28', async () => {
  const signature = await privateKeyToAccount(generatePrivateKey()).sign({ hash: digest })
  for (const v of ['00', '01', '1d']) {
    expect(recoverSigner(digest, `${signature.slice(0, -2)}${v}` as Hex)).toBeUndefined()
  }
})

test.each(['0x1', '0x12', `0x${'00'.repeat(65)}`, `0x${'ff'.repeat(64)}1b`] as const)(
  '%s is not a signature',
  (bytes) => {
    expect(recoverSigner(digest, bytes)).toBeUndefined()
  },
)
