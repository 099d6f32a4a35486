import { encodeFunctionData, type Hex, hexToBytes } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  callsOf,
  delegatedAccount,
  funds,
  landed,
  newAccount,
  nonceOf,
  onCallData,
  QUIET,
  rawTransaction,
  recordData,
  recordWhen,
  result,
  sepoliaClient,
  submit,
  submitAndLand,
  termsOf,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { PROPOSER } from '../../support/aggregator/aggregator-abi.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

// A distinct price, so that no value here can come from the charges of aggregated calls.
// The window is long enough for two calls on a busy machine.
const sandbox = sandboxForSuite({ aggregator: { ...QUIET, blobCost: 77n, window: 700 } })

const BLOB_BYTES = 131_072
/** Commitment to the zero blob and its proof: the point at infinity, which needs no trusted setup. */
const INFINITY = Uint8Array.from({ length: 48 }, (_, index) => (index === 0 ? 0xc0 : 0))
const KZG = { blobToKzgCommitment: () => INFINITY, computeBlobKzgProof: () => INFINITY }
/** The curve's generator, which proves nothing about the zero blob. */
const GENERATOR = hexToBytes(
  '0x97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
)
const WRONG_KZG = { ...KZG, computeBlobKzgProof: () => GENERATOR }

type Fields = {
  readonly to?: Hex
  readonly data?: Hex
  readonly nonce?: number
  readonly blobVersionedHashes?: Hex[]
  readonly kzg?: { blobToKzgCommitment(): Uint8Array; computeBlobKzgProof(): Uint8Array }
}

async function blobTransaction(
  account: PrivateKeyAccount,
  blobs: number,
  fields: Fields = {},
): Promise<Hex> {
  return account.signTransaction({
    type: 'eip4844',
    chainId: sandbox().sepolia.chainId,
    nonce: await nonceOf(sandbox(), account),
    to: sandbox().sepolia.contracts.demoTarget,
    gas: 300_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    maxFeePerBlobGas: 10n ** 11n,
    blobs: Array(blobs).fill(`0x${'00'.repeat(BLOB_BYTES)}`),
    kzg: KZG,
    ...fields,
  })
}

test.each([1, 6])('the status of a transaction with %i blobs shows their cost', async (blobs) => {
  const account = await newAccount(sandbox())
  const raw = await blobTransaction(account, blobs)
  const hash = await result(sandbox(), 'eth_sendRawTransaction', [raw])
  const receipt = await submitAndLand(sandbox(), raw)
  // Sent twice, it is one transaction under the chain's hash, which does not cover the blobs.
  expect(receipt.transactionHash).toBe(hash)
  const { costs, route } = await result(sandbox(), 'agg_transactionStatus', [hash])
  expect(route).toBe('direct')
  const blobCost = BigInt(receipt.blobGasUsed) * BigInt(receipt.blobGasPrice)
  expect(BigInt(receipt.blobGasUsed)).toBe(BigInt(blobs * BLOB_BYTES))
  expect(blobCost).toBeGreaterThan(0n)
  expect(costs).toMatchObject({ blob_cost: blobCost.toString(), charged: '0' })
  expect((await funds(sandbox(), account)).outstanding).toBe(0n)
})

test('a transaction with blobs and no onCall is broadcast unchanged, even of a delegated account', async () => {
  const account = await delegatedAccount(sandbox(), 'trusted')
  const raw = await blobTransaction(account, 1)
  const receipt = await submitAndLand(sandbox(), raw)
  expect(receipt.from.toLowerCase()).toBe(account.address.toLowerCase())
})

describe.each(['trusted', 'trustless'] as const)(
  'blobs with an onCall of a %s account',
  (proposer) => {
    /** The account's `onCall`, signed if its proposer asks for that. */
    const dataOf = (
      account: PrivateKeyAccount,
      target = sandbox().sepolia.contracts.demoTarget,
    ): Promise<Hex> | Hex => {
      if (proposer === 'trustless')
        return onCallData(sandbox(), account, termsOf(sandbox(), { target }))
      const args = [target, recordData('0b'), 0n] as const
      return encodeFunctionData({ abi: PROPOSER, functionName: 'onCall', args })
    }

    test('share a batch with a nonce far ahead, and their blob gas is charged', async () => {
      const [account, other] = [
        await delegatedAccount(sandbox(), proposer),
        await delegatedAccount(sandbox(), 'trustless'),
      ]
      const nonce = (await nonceOf(sandbox(), account)) + 777
      const envelope = { to: account.address, data: await dataOf(account), nonce }
      const raw = await blobTransaction(account, 2, envelope)
      const plain = await trustlessTransaction(sandbox(), other)
      const before = (await funds(sandbox(), account)).outstanding
      const [hash, otherHash] = await Promise.all(
        [raw, plain].map((each) => result(sandbox(), 'eth_sendRawTransaction', [each])),
      )
      const receipt = await landed(sandbox(), hash)
      expect(receipt.transactionHash).not.toBe(hash)
      expect(await callsOf(sandbox(), account)).toBe(1n)
      expect(await nonceOf(sandbox(), account)).toBe(nonce - 777)
      expect((await landed(sandbox(), otherHash)).transactionHash).toBe(receipt.transactionHash)
      const { route, costs, savings } = await result(sandbox(), 'agg_transactionStatus', [hash])
      // The batch publishes the blobs.
      expect([receipt.type, BigInt(receipt.blobGasUsed)]).toEqual(['0x3', 2n * BigInt(BLOB_BYTES)])
      const blobCost = 2n * BigInt(BLOB_BYTES) * BigInt(receipt.blobGasPrice) + 77n
      expect([route, costs.blob_cost]).toEqual(['aggregated', blobCost.toString()])
      const { execution_cost, service_fee, charged } = costs
      expect(BigInt(charged)).toBe(BigInt(execution_cost) + BigInt(service_fee) + blobCost)
      expect(BigInt(savings.direct_cost)).toBeGreaterThanOrEqual(BigInt(charged))
      expect((await funds(sandbox(), account)).outstanding - before).toBe(BigInt(charged))
      const others = await result(sandbox(), 'agg_transactionStatus', [otherHash])
      expect(others.costs.blob_cost).toBe('77')
    })

    test('are visible to the target', async () => {
      const account = await delegatedAccount(sandbox(), proposer)
      // Reverts unless its transaction has a blob.
      const target: Hex = `0x${'0b'.repeat(20)}`
      await sepoliaClient(sandbox()).request({
        ...{ method: 'anvil_setCode', params: [target, '0x5f496008575f5ffd5b00'] },
      } as never)
      const envelope = { to: account.address, data: await dataOf(account, target) }
      const bare = await rawTransaction(sandbox(), account, envelope)
      expect((await submit(sandbox(), bare)).body.error.message).toMatch(/^execution reverted/)
      const blobs = await blobTransaction(account, 1, envelope)
      expect((await submitAndLand(sandbox(), blobs)).status).toBe('0x1')
    })

    test('land in several transactions if they are more than six together', async () => {
      const accounts = [
        await delegatedAccount(sandbox(), proposer),
        await delegatedAccount(sandbox(), proposer),
      ]
      const hashes = await Promise.all(
        accounts.map(async (account) => {
          const envelope = { to: account.address, data: await dataOf(account) }
          const raw = await blobTransaction(account, 4, envelope)
          return result(sandbox(), 'eth_sendRawTransaction', [raw])
        }),
      )
      const receipts = await Promise.all(hashes.map((hash) => landed(sandbox(), hash)))
      for (const { blobGasUsed } of receipts)
        expect(BigInt(blobGasUsed)).toBe(4n * BigInt(BLOB_BYTES))
    })

    test('end alone if their proof is wrong, without harm to other blobs', async () => {
      const [bad, good] = [
        await delegatedAccount(sandbox(), proposer),
        await delegatedAccount(sandbox(), proposer),
      ]
      const raws = [
        await blobTransaction(bad, 1, {
          ...{ to: bad.address, data: await dataOf(bad), kzg: WRONG_KZG },
        }),
        await blobTransaction(good, 1, { to: good.address, data: await dataOf(good) }),
      ]
      const hashes = await Promise.all(
        raws.map((raw) => result(sandbox(), 'eth_sendRawTransaction', [raw])),
      )
      const isOver = ({ state }: { state: string }): boolean => state !== 'queued'
      const records = await Promise.all(hashes.map((hash) => recordWhen(sandbox(), hash, isOver)))
      expect(records.map(({ state }) => state)).toEqual(['dropped', 'landed'])
      expect((await funds(sandbox(), bad)).outstanding).toBeLessThan(
        (await funds(sandbox(), good)).outstanding,
      )
    })

    test('are refused if they do not match their hashes', async () => {
      const account = await delegatedAccount(sandbox(), proposer)
      const blobVersionedHashes: Hex[] = [`0x01${'00'.repeat(31)}`]
      const fields = { to: account.address, data: await dataOf(account), blobVersionedHashes }
      const raw = await blobTransaction(account, 1, fields)
      expect((await submit(sandbox(), raw)).body.error.message).toBe(
        'the blobs do not match their versioned hashes',
      )
    })
  },
)
