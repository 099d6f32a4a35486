import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { recoverSigner } from '../../../src/sandbox/gasless/permit.ts'

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
