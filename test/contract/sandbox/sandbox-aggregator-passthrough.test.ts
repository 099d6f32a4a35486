import {
  createPublicClient,
  createWalletClient,
  defineChain,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  accountInfo,
  call,
  callsOf,
  delegatedAccount,
  delegationTransaction,
  ETHER,
  funds,
  newAccount,
  nonceOf,
  onCallData,
  post,
  QUIET,
  rawTransaction,
  recordData,
  sepoliaClient,
  submit,
  termsOf,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { DEMO, GAS_TANK_BALANCES } from '../../support/aggregator/aggregator-abi.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: { ...QUIET, passthrough: true } })
const unknownHash: Hex = `0x${'ab'.repeat(32)}`

/** A wallet that knows the endpoint alone. */
function walletOf(account: PrivateKeyAccount) {
  const { aggregatorUrl, sepolia } = sandbox()
  const chain = defineChain({
    id: sepolia.chainId,
    name: 'sepolia',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [aggregatorUrl] } },
  })
  const transport = http(aggregatorUrl, { retryCount: 0, timeout: 120_000, batch: true })
  const terms = { chain, transport, pollingInterval: 10, cacheTime: 0 }
  return { wallet: createWalletClient({ ...terms, account }), reader: createPublicClient(terms) }
}

describe('a wallet at the endpoint with passthrough', () => {
  test('makes its first deposit', async () => {
    const account = await newAccount(sandbox(), { deposit: 0n })
    const { wallet, reader } = walletOf(account)
    const data = encodeFunctionData({ abi: GAS_TANK_BALANCES, functionName: 'deposit' })
    const to = sandbox().sepolia.contracts.gasTank
    const hash = await wallet.sendTransaction({ to, data, value: ETHER / 10n })
    const receipt = await reader.waitForTransactionReceipt({ hash })
    expect([receipt.status, receipt.transactionHash]).toEqual(['success', hash])
    expect((await funds(sandbox(), account)).balance).toBe(ETHER / 10n)
    expect(await reader.getTransactionCount({ address: account.address })).toBe(1)
  })

  test('sends a call that is aggregated, with gas and fees of the node', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const { wallet, reader } = walletOf(account)
    const nonce = await nonceOf(sandbox(), account)
    const hash = await wallet.sendTransaction({
      to: sandbox().sepolia.contracts.demoTarget,
      data: recordData('01'),
      // The proposer's own gas comes on top of the estimate.
      gas: 200_000n,
    })
    const receipt = await reader.waitForTransactionReceipt({ hash })
    expect(receipt.transactionHash).not.toBe(hash)
    expect(await callsOf(sandbox(), account)).toBe(1n)
    expect(await nonceOf(sandbox(), account)).toBe(nonce)
  })

  test('sends blobs with an onCall and a nonce far ahead, as a published client does', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const { wallet, reader } = walletOf(account)
    const infinity = Uint8Array.from({ length: 48 }, (_, index) => (index === 0 ? 0xc0 : 0))
    const hash = await wallet.sendTransaction({
      to: account.address,
      data: await onCallData(sandbox(), account, termsOf(sandbox())),
      blobs: [`0x${'00'.repeat(131_072)}`],
      kzg: { blobToKzgCommitment: () => infinity, computeBlobKzgProof: () => infinity },
      nonce: (await reader.getTransactionCount(account)) + 900,
      gas: 500_000n,
      maxFeePerBlobGas: 2n * (await reader.getBlobBaseFee()),
    })
    const receipt = await reader.waitForTransactionReceipt({ hash })
    expect([receipt.status, receipt.type]).toEqual(['success', 'eip4844'])
    expect(receipt.transactionHash).not.toBe(hash)
    expect(await callsOf(sandbox(), account)).toBe(1n)
  })

  test('reads balances, blocks, fees and the data of a revert', async () => {
    const account = await newAccount(sandbox(), { coin: 123n, deposit: 0n })
    const { reader } = walletOf(account)
    expect(await reader.getBalance({ address: account.address })).toBe(123n)
    expect(await reader.getChainId()).toBe(sandbox().sepolia.chainId)
    expect((await reader.estimateFeesPerGas()).maxFeePerGas).toBeGreaterThan(0n)
    expect((await reader.getFeeHistory({ blockCount: 1, rewardPercentiles: [] })).oldestBlock).toBe(
      await sepoliaClient(sandbox()).getBlockNumber(),
    )
    const failing = { address: sandbox().sepolia.contracts.demoTarget, abi: DEMO } as const
    await expect(reader.readContract({ ...failing, functionName: 'fail' })).rejects.toThrow(
      'Refused',
    )
  })
})

describe('passthrough', () => {
  test('keeps ids and order in an array of both kinds of methods', async () => {
    const requests = [
      { jsonrpc: '2.0', id: 'a', method: 'eth_chainId' },
      { jsonrpc: '2.0', id: null, method: 'net_version', params: [] },
      { jsonrpc: '2.0', method: 'eth_blockNumber' },
      { jsonrpc: '2.0', id: 3, method: 'agg_transactionStatus', params: [unknownHash] },
      { jsonrpc: '2.0', id: 4, method: 'eth_getBalance', params: ['nobody', 'latest'] },
    ]
    const { body } = await post(sandbox(), JSON.stringify(requests))
    expect(body).toMatchObject([
      { id: 'a', result: `0x${sandbox().sepolia.chainId.toString(16)}` },
      { id: null, result: String(sandbox().sepolia.chainId) },
      { id: 3, error: { code: -32003 } },
      { id: 4, error: { code: -32602 } },
    ])
  })

  test('shows the receipt of a transaction that the service did not take', async () => {
    const account = await newAccount(sandbox())
    const raw = await rawTransaction(sandbox(), account, { to: account.address })
    const client = sepoliaClient(sandbox())
    const hash = await client.sendRawTransaction({ serializedTransaction: raw })
    await client.waitForTransactionReceipt({ hash, pollingInterval: 10 })
    const { body } = await call(sandbox(), 'eth_getTransactionReceipt', [hash])
    expect(body.result.transactionHash).toBe(hash)
    const unknown = await call(sandbox(), 'eth_getTransactionReceipt', [unknownHash])
    expect(unknown.body.result).toBe(null)
  })

  test("does not reach the node's keys or its controls, or submit past the service", async () => {
    const methods = [
      ...['eth_accounts', 'eth_sendTransaction', 'eth_sign', 'eth_signTypedData_v4'],
      ...['eth_sendRawTransactionSync', 'anvil_setBalance', 'evm_mine', 'debug_traceCall'],
      ...['agg_nothing', 'nothing'],
    ]
    for (const method of methods)
      expect([method, (await call(sandbox(), method, [])).body.error.code]).toEqual([
        method,
        -32601,
      ])
  })

  test('does not take calls or delegations of an account without a deposit', async () => {
    const account = await newAccount(sandbox(), { deposit: 0n })
    const { trustedProposer: delegate, trustlessProposer } = sandbox().sepolia.contracts
    const delegation = await delegationTransaction(sandbox(), account, { delegate })
    expect((await submit(sandbox(), delegation)).body.error.message).toBe('Account not found')
    await sepoliaClient(sandbox()).request({
      method: 'anvil_setCode',
      params: [account.address, `0xef0100${trustlessProposer.slice(2)}`],
    } as never)
    const signed = await trustlessTransaction(sandbox(), account)
    expect((await submit(sandbox(), signed)).body.error.message).toBe('Account not found')
    const plain = await rawTransaction(sandbox(), account, { to: delegate })
    expect((await submit(sandbox(), plain)).body.result).toBe(keccak256(plain))
    expect((await accountInfo(sandbox(), account)).body.error.message).toBe('Account not found')
  })
})
