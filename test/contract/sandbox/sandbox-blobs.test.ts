import type { Hex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import {
  delegatedAccount,
  funds,
  newAccount,
  nonceOf,
  QUIET,
  result,
  submitAndLand,
} from '../../support/aggregator/aggregator.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

// A distinct price, so that no value here can come from the charges of aggregated calls.
const sandbox = sandboxForSuite({ aggregator: { ...QUIET, blobCostWei: 77n } })

const BLOB_BYTES = 131_072
/** Commitment to the zero blob and its proof: the point at infinity, which needs no trusted setup. */
const INFINITY = Uint8Array.from({ length: 48 }, (_, index) => (index === 0 ? 0xc0 : 0))

async function blobTransaction(account: PrivateKeyAccount, blobs: number): Promise<Hex> {
  return account.signTransaction({
    type: 'eip4844',
    chainId: sandbox().sepolia.chainId,
    nonce: await nonceOf(sandbox(), account),
    to: sandbox().sepolia.contracts.demoTarget,
    gas: 100_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    maxFeePerBlobGas: 10n ** 11n,
    blobs: Array(blobs).fill(`0x${'00'.repeat(BLOB_BYTES)}`),
    kzg: { blobToKzgCommitment: () => INFINITY, computeBlobKzgProof: () => INFINITY },
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

test('a transaction with blobs of a delegated account is broadcast unchanged', async () => {
  const account = await delegatedAccount(sandbox(), 'trusted')
  const raw = await blobTransaction(account, 1)
  const receipt = await submitAndLand(sandbox(), raw)
  expect(receipt.from.toLowerCase()).toBe(account.address.toLowerCase())
})
