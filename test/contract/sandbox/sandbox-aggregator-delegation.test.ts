import { encodeFunctionData, type Hex, keccak256, zeroAddress } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  callsOf,
  delegatedAccount,
  delegationTransaction,
  funds,
  newAccount,
  nonceOf,
  QUIET,
  rawTransaction,
  recordData,
  recordWhen,
  result,
  sepoliaClient,
  signedPayload,
  submit,
  submitAndLand,
  termsOf,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { DEMO, PROPOSER } from '../../support/aggregator/aggregator-abi.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const contracts = () => sandbox().sepolia.contracts

async function codeOf({ address }: PrivateKeyAccount): Promise<Hex | undefined> {
  return sepoliaClient(sandbox()).getCode({ address })
}

function nestedNonce({ address }: PrivateKeyAccount): Promise<bigint> {
  return sepoliaClient(sandbox()).readContract({
    ...{ address, abi: PROPOSER, functionName: 'nestedNonce' },
  })
}

async function refusal(raw: Hex): Promise<string | undefined> {
  return (await submit(sandbox(), raw)).body.error?.message
}

/** A call to the account itself, sent to the chain past the service. */
async function selfCall(account: PrivateKeyAccount, data: Hex): Promise<string> {
  const raw = await rawTransaction(sandbox(), account, { to: account.address, data })
  const client = sepoliaClient(sandbox())
  const hash = await client.sendRawTransaction({ serializedTransaction: raw })
  return (await client.waitForTransactionReceipt({ hash, pollingInterval: 10 })).status
}

describe('delegation', () => {
  test('the service sponsors an authorization with the account’s own nonce', async () => {
    const account = await newAccount(sandbox(), { coin: 0n })
    const delegate = contracts().trustedProposer
    const raw = await delegationTransaction(sandbox(), account, { delegate })
    const receipt = await submitAndLand(sandbox(), raw)
    expect(receipt.transactionHash).not.toBe(keccak256(raw))
    expect(await codeOf(account)).toBe(`0xef0100${delegate.slice(2).toLowerCase()}`)
    expect(await nonceOf(sandbox(), account)).toBe(1)
    const cost = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)
    expect((await funds(sandbox(), account)).outstanding).toBe(cost)
  })

  test('an authorization for the next nonce is broadcast in the transaction it was signed for', async () => {
    const account = await newAccount(sandbox())
    const delegate = contracts().trustlessProposer
    const raw = await delegationTransaction(sandbox(), account, { delegate, nonceAhead: 1 })
    const receipt = await submitAndLand(sandbox(), raw)
    expect(receipt.transactionHash).toBe(keccak256(raw))
    expect(await codeOf(account)).toBe(`0xef0100${delegate.slice(2).toLowerCase()}`)
    expect(await nonceOf(sandbox(), account)).toBe(2)
    expect((await funds(sandbox(), account)).outstanding).toBe(0n)
  })

  test('which needs coin in the account', async () => {
    const account = await newAccount(sandbox(), { coin: 0n })
    const delegate = contracts().trustlessProposer
    const raw = await delegationTransaction(sandbox(), account, { delegate, nonceAhead: 1 })
    expect(await refusal(raw)).toMatch(/insufficient funds/i)
  })

  test('the zero address clears it', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await delegationTransaction(sandbox(), account, { delegate: zeroAddress })
    await submitAndLand(sandbox(), raw)
    expect(await codeOf(account)).toBeUndefined()
  })

  test('refuses unknown code, another chain, another signer and another nonce', async () => {
    const [account, other] = [await newAccount(sandbox()), await newAccount(sandbox())]
    const delegate = contracts().trustedProposer
    const wrong = [
      { delegate: contracts().demoTarget },
      { delegate, chainId: 1 },
      { delegate, signer: other },
      { delegate, nonceAhead: 2 },
    ]
    for (const terms of wrong) {
      const raw = await delegationTransaction(sandbox(), account, terms)
      expect(await refusal(raw)).toMatch(/authorization/)
    }
    expect(await codeOf(account)).toBeUndefined()
  })

  test('asks for a deposit like everything else', async () => {
    const account = await newAccount(sandbox(), { deposit: 0n })
    const raw = await delegationTransaction(sandbox(), account, {
      delegate: contracts().trustedProposer,
    })
    expect(await refusal(raw)).toBe('Account not found')
  })
})

describe('calls through the TrustlessProposer', () => {
  test('are executed as the account and use up its nestedNonce', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless', { coin: 0n })
    const receipt = await submitAndLand(sandbox(), await trustlessTransaction(sandbox(), account))
    expect(receipt.status).toBe('0x1')
    expect(await callsOf(sandbox(), account)).toBe(1n)
    expect(await nestedNonce(account)).toBe(1n)
    const second = await trustlessTransaction(sandbox(), account, { nonce: 1n })
    await submitAndLand(sandbox(), second)
    expect(await nestedNonce(account)).toBe(2n)
  })

  test('are refused before they reach the chain when the payload is bad', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const other = await newAccount(sandbox())
    const { trustlessProposer } = contracts()
    const foreign = await signedPayload(other, trustlessProposer, termsOf(sandbox()))
    const data = (payload: Hex) =>
      encodeFunctionData({
        abi: PROPOSER,
        functionName: 'onCall',
        args: [contracts().demoTarget, payload, 0n],
      })
    const to = trustlessProposer
    const bySomeoneElse = await rawTransaction(sandbox(), account, { to, data: data(foreign) })
    expect(await refusal(bySomeoneElse)).toBe('execution reverted: WrongSigner')
    const garbled = await rawTransaction(sandbox(), account, { to, data: data('0x1234') })
    expect(await refusal(garbled)).toMatch(/signed call/)
    const stale = await trustlessTransaction(sandbox(), account, { deadline: 1n })
    expect(await refusal(stale)).toBe('execution reverted: the deadline has passed')
    const burn = encodeFunctionData({ abi: DEMO, functionName: 'burn', args: [100_000n] })
    const greedy = await trustlessTransaction(sandbox(), account, {
      calldata: burn,
      gasLimit: 50_000n,
    })
    expect(await refusal(greedy)).toMatch(/execution reverted/)
    expect(await nestedNonce(account)).toBe(0n)
  })

  test('a nonce used by a direct self-call is refused, and so is the self-call after the service', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const terms = termsOf(sandbox())
    const payload = await signedPayload(account, contracts().trustlessProposer, terms)
    const args = [terms.target, payload, 0n] as const
    const data = encodeFunctionData({ abi: PROPOSER, functionName: 'onCall', args })
    expect(await selfCall(account, data)).toBe('success')
    const raw = await rawTransaction(sandbox(), account, {
      to: contracts().trustlessProposer,
      data,
    })
    expect(await refusal(raw)).toBe('execution reverted: the nonce has been used')
    await submitAndLand(sandbox(), await trustlessTransaction(sandbox(), account, { nonce: 1n }))
    expect(await selfCall(account, data)).toBe('reverted')
    expect(await callsOf(sandbox(), account)).toBe(2n)
  })

  test('while both are under way, service and self-call compete for one nonce and one wins', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    sandbox().faults.set({ rules: [{ kind: 'lateInclusion', delayMs: 300, count: 1 }] })
    const terms = termsOf(sandbox())
    const payload = await signedPayload(account, contracts().trustlessProposer, terms)
    const args = [terms.target, payload, 0n] as const
    const data = encodeFunctionData({ abi: PROPOSER, functionName: 'onCall', args })
    const raw = await rawTransaction(sandbox(), account, {
      to: contracts().trustlessProposer,
      data,
    })
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [raw])
    expect(await selfCall(account, data)).toBe('success')
    const record = await recordWhen(sandbox(), hash, ({ state }) => state === 'dropped')
    expect(record.reason).toBe('the nonce has been used')
    expect(await callsOf(sandbox(), account)).toBe(1n)
    expect(await result(sandbox(), 'eth_getTransactionReceipt', [hash])).toBe(null)
  })

  test('a call ahead of its nonce waits for the one before it', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const second = await trustlessTransaction(sandbox(), account, { nonce: 1n })
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [second])
    const first = await submitAndLand(sandbox(), await trustlessTransaction(sandbox(), account))
    const record = await recordWhen(sandbox(), hash, ({ state }) => state === 'landed')
    expect(record.batchedTransactionHash).not.toBe(first.transactionHash)
    expect(await nestedNonce(account)).toBe(2n)
  })

  test('are given up when the deadline passes while they wait', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    sandbox().faults.set({ rules: [{ kind: 'lateInclusion', delayMs: 3_500, count: 1 }] })
    const deadline = BigInt(Math.floor(Date.now() / 1000) + 1)
    const raw = await trustlessTransaction(sandbox(), account, { deadline })
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [raw])
    const record = await recordWhen(sandbox(), hash, ({ state }) => state === 'dropped')
    expect(record.reason).toBe('the deadline has passed')
    expect(await nestedNonce(account)).toBe(0n)
    const { outstanding } = await funds(sandbox(), account)
    const delegation = await result(sandbox(), 'agg_transactionStatus', [hash])
    expect(delegation).toMatchObject({ status: 'dropped', costs: null })
    expect(outstanding).toBeGreaterThan(0n)
  })

  test('are refused from an account that is not delegated to it', async () => {
    const plain = await newAccount(sandbox())
    const trusted = await delegatedAccount(sandbox(), 'trusted')
    for (const account of [plain, trusted]) {
      const raw = await trustlessTransaction(sandbox(), account)
      expect(await refusal(raw)).toMatch(/not delegated to the TrustlessProposer/)
    }
  })

  test('a plain transaction of such an account goes directly', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const to = contracts().demoTarget
    const raw = await rawTransaction(sandbox(), account, { to, data: recordData('0a') })
    expect((await submitAndLand(sandbox(), raw)).transactionHash).toBe(keccak256(raw))
  })
})

test('with the domain of the account, signatures for the account are good and others are not', async () => {
  const other = await startSandbox({
    feedIntervalMs: 0,
    aggregator: { ...QUIET, domain: 'account' },
  })
  try {
    const account = await delegatedAccount(other, 'trustless')
    expect(
      (await submit(other, await trustlessTransaction(other, account))).body.error.message,
    ).toBe('execution reverted: WrongSigner')
    const terms = termsOf(other)
    const args = [terms.target, await signedPayload(account, account.address, terms), 0n] as const
    const data = encodeFunctionData({ abi: PROPOSER, functionName: 'onCall', args })
    const to = other.sepolia.contracts.trustlessProposer
    await submitAndLand(other, await rawTransaction(other, account, { to, data }))
    expect(await callsOf(other, account)).toBe(1n)
  } finally {
    await other.stop()
  }
})
