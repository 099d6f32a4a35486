import { createHash, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { parseTransaction, recoverTransactionAddress } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import type { Hex } from '../../../../src/domain/money/units.ts'
import type { TransactionDraft } from '../../../../src/ports.ts'
import { createKey } from '../../../../src/signing/keys/key.ts'
import {
  addressOf,
  loadCurve,
  loadNativeCurve,
  loadPortableCurve,
} from '../../../../src/signing/keys/secp256k1-curve.ts'

const KEY: Hex = '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

const toBytes = (hex: Hex) => Uint8Array.from(Buffer.from(hex.slice(2), 'hex'))
const account = privateKeyToAccount(KEY)

function draft(changes: Partial<TransactionDraft> = {}): TransactionDraft {
  return {
    chainId: 8453,
    from: account.address.toLowerCase() as Hex,
    to: '0x4200000000000000000000000000000000000006',
    data: '0xd0e30db0',
    value: 10n ** 18n,
    nonce: 3,
    gas: 60_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000n,
    ...changes,
  }
}

/** Digests that look random and are identical in every run. */
function digests(count: number): readonly Hex[] {
  return Array.from(
    { length: count },
    (_, index): Hex => `0x${createHash('sha256').update(`digest ${index}`).digest('hex')}`,
  )
}

test('signing uses the native addon in this environment', () => {
  expect(loadCurve().kind).toBe('native')
})

describe.each([
  ['native', loadNativeCurve],
  ['portable', loadPortableCurve],
] as const)('signer with the %s curve', (kind, load) => {
  const signer = createKey(toBytes(KEY), load())

  test('has the address of the key, in lower case', () => {
    expect(load().kind).toBe(kind)
    expect(signer.address).toBe(account.address.toLowerCase())
  })

  test('signs digests byte for byte like viem, with s in the lower half and v 27 or 28', async () => {
    const versions = new Set<string>()
    for (const digest of digests(500)) {
      const signature = signer.signDigest(digest)
      expect(signature).toBe(await sign({ hash: digest, privateKey: KEY, to: 'hex' }))
      expect(BigInt(`0x${signature.slice(66, 130)}`)).toBeLessThanOrEqual(HALF_ORDER)
      versions.add(signature.slice(130))
    }
    expect([...versions].sort()).toEqual(['1b', '1c'])
  })

  test('signs transactions byte for byte like viem', async () => {
    const drafts = [
      draft(),
      draft({ value: 0n, nonce: 0, maxPriorityFeePerGas: 0n }),
      draft({ data: '0x' }),
      draft({ data: `0x${'5a'.repeat(900)}`, nonce: 300, chainId: 11_155_111 }),
      ...digests(40).map((data, nonce) => draft({ data, nonce })),
    ]
    for (const each of drafts) {
      const { from: _from, ...fields } = each
      const raw = await account.signTransaction({ ...fields, type: 'eip1559' })
      const signed = signer.signTransaction(each)
      expect(signed.raw).toBe(raw)
      expect(signed).toEqual(signer.signTransaction(each))
    }
  })
})

test("signs a transaction that recovers to its address and holds the draft's fields", async () => {
  const signer = createKey(toBytes(KEY))
  const { raw } = signer.signTransaction(draft())
  const { from, data, ...rest } = draft()
  expect(parseTransaction(raw)).toMatchObject({ ...rest, data, type: 'eip1559' })
  const sender = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
  expect(sender.toLowerCase()).toBe(from)
})

test('ignores fields outside the draft', () => {
  const signer = createKey(toBytes(KEY))
  const more = { ...draft(), type: 'legacy', gasPrice: 1n, accessList: [], id: 'x' }
  expect(signer.signTransaction(more)).toEqual(signer.signTransaction(draft()))
})

test('rejects a draft of another sender', () => {
  const signer = createKey(toBytes(KEY))
  const other = draft({ from: '0x0000000000000000000000000000000000000001' })
  expect(() => signer.signTransaction(other)).toThrow(/the draft is from 0x0+1/)
})

test.each(['0x', '0x12', `0x${'1'.repeat(63)}`, `0x${'1'.repeat(66)}`, `0x${'g'.repeat(64)}`])(
  'rejects an invalid digest: %s',
  (digest) => {
    const signer = createKey(toBytes(KEY))
    expect(() => signer.signDigest(digest as Hex)).toThrow('32 bytes')
  },
)

test('wipes the given bytes and can still sign', () => {
  const bytes = toBytes(KEY)
  const signer = createKey(bytes)
  expect(bytes).toEqual(new Uint8Array(32))
  expect(signer.signDigest(`0x${'01'.repeat(32)}`)).toHaveLength(132)
})

test('never exposes the key through inspection', () => {
  const signer = createKey(toBytes(KEY))
  const shown = [
    JSON.stringify(signer),
    inspect(signer, { showHidden: true, depth: 10 }),
    String(signer.signDigest),
    Object.values(Object.getOwnPropertyDescriptors(signer)).map(String).join(),
  ].join('\n')
  expect(shown.toLowerCase()).not.toContain(KEY.slice(2, 12))
  expect(shown).not.toContain(toBytes(KEY).slice(0, 4).join(', '))
  expect(Object.keys(signer).sort()).toEqual([
    'address',
    'signDelegation',
    'signDigest',
    'signTransaction',
  ])
  expect(Object.isFrozen(signer)).toBe(true)
})

test.each([
  ['too short', randomBytes(31)],
  ['too long', randomBytes(33)],
  ['zero', new Uint8Array(32)],
  ['above the group order', new Uint8Array(32).fill(0xff)],
])('rejects bytes that are not a key: %s', (_, bytes) => {
  for (const load of [loadNativeCurve, loadPortableCurve])
    expect(() => createKey(Uint8Array.from(bytes), load())).toThrow()
  expect(() => createKey(Uint8Array.from(bytes))).toThrow()
})

test('the address needs no addon, and is the same by each curve', () => {
  const [native, portable] = [loadNativeCurve(), loadPortableCurve()]
  for (const digest of [`0x${'00'.repeat(31)}01` as const, ...digests(50)]) {
    const key = toBytes(digest)
    const address = addressOf(key)
    expect([addressOf(key, native), addressOf(key, portable)]).toEqual([address, address])
  }
})
