import { encodeFunctionData, type Hex, keccak256 } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import {
  callsOf,
  delegatedAccount,
  domainContractOf,
  ETHER,
  funds,
  landed,
  newAccount,
  nonceOf,
  onCallData,
  QUIET,
  READINGS,
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
import { admin, sandboxForSuite } from '../../support/sandbox.ts'

const ENVELOPES = ['account', 'proposer'] as const

describe.each(READINGS)('calls through the TrustlessProposer as %s', (reading) => {
  const sandbox = sandboxForSuite({ reading, aggregator: QUIET })
  const contracts = () => sandbox().sepolia.contracts

  const nestedNonce = ({ address }: PrivateKeyAccount): Promise<bigint> =>
    sepoliaClient(sandbox()).readContract({
      ...{ address, abi: PROPOSER, functionName: 'nestedNonce' },
    })

  const onCall = (payload: Hex): Hex =>
    encodeFunctionData({
      abi: PROPOSER,
      functionName: 'onCall',
      args: [contracts().demoTarget, payload, 0n],
    })

  const refusal = async (raw: Hex): Promise<string | undefined> =>
    (await submit(sandbox(), raw)).body.error?.message

  /** A call to the account itself, sent to the chain without the service. */
  const selfCall = async (account: PrivateKeyAccount, data: Hex): Promise<string> => {
    const raw = await rawTransaction(sandbox(), account, { to: account.address, data })
    const client = sepoliaClient(sandbox())
    const hash = await client.sendRawTransaction({ serializedTransaction: raw })
    return (await client.waitForTransactionReceipt({ hash, pollingInterval: 10 })).status
  }

  test('execute as the account and use its nestedNonce', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless', { coin: 0n })
    const receipt = await submitAndLand(sandbox(), await trustlessTransaction(sandbox(), account))
    expect(receipt.status).toBe('0x1')
    expect(await callsOf(sandbox(), account)).toBe(1n)
    expect(await nestedNonce(account)).toBe(1n)
    const second = await trustlessTransaction(sandbox(), account, { nonce: 1n })
    await submitAndLand(sandbox(), second)
    expect(await nestedNonce(account)).toBe(2n)
  })

  test('are recognised by either address and leave the account’s own nonce unchanged', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const { multicall } = contracts()
    for (const [nonce, to] of [...ENVELOPES, ...ENVELOPES].entries()) {
      const changes = { nonce: BigInt(nonce) }
      const raw = await trustlessTransaction(sandbox(), account, changes, { to })
      const receipt = await submitAndLand(sandbox(), raw)
      expect(receipt.to.toLowerCase()).toBe(multicall.toLowerCase())
      const status = await result(sandbox(), 'agg_transactionStatus', [keccak256(raw)])
      expect(status.route).toBe('aggregated')
    }
    expect(await nestedNonce(account)).toBe(4n)
    // The nonce after the delegation.
    expect(await nonceOf(sandbox(), account)).toBe(1)
  })

  test('are recognised by the domain of the account’s code, and by no foreign domain', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const { trustlessProposer } = contracts()
    const foreign = reading === 'deployed' ? trustlessProposer : account.address
    const payload = await signedPayload(account, foreign, termsOf(sandbox()))
    const raw = await rawTransaction(sandbox(), account, {
      ...{ to: account.address, data: onCall(payload) },
    })
    expect(await refusal(raw)).toBe('execution reverted: WrongSigner')
  })

  test('are refused before they reach the chain when the payload is invalid', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const other = await delegatedAccount(sandbox(), 'trustless')
    const contract = await domainContractOf(sandbox(), account)
    const foreign = await signedPayload(other, contract, termsOf(sandbox()))
    for (const to of [contracts().trustlessProposer, account.address]) {
      const bySomeoneElse = await rawTransaction(sandbox(), account, { to, data: onCall(foreign) })
      expect(await refusal(bySomeoneElse)).toBe('execution reverted: WrongSigner')
      const garbled = await rawTransaction(sandbox(), account, { to, data: onCall('0x1234') })
      expect(await refusal(garbled)).toMatch(/signed call/)
    }
    const stale = await trustlessTransaction(sandbox(), account, { deadline: 1n })
    expect(await refusal(stale)).toBe('execution reverted: the deadline has passed')
    const valuable = await trustlessTransaction(sandbox(), account, { value: 2n * ETHER })
    expect(await refusal(valuable)).toMatch(/^execution reverted/)
    expect(await nestedNonce(account)).toBe(0n)
  })

  test('are refused with the error’s name when the signed gas limit is too low', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const calldata = encodeFunctionData({ abi: DEMO, functionName: 'burn', args: [100_000n] })
    const greedy = await trustlessTransaction(sandbox(), account, { calldata, gasLimit: 50_000n })
    expect(await refusal(greedy)).toBe(
      `execution reverted: ${reading === 'deployed' ? 'GasLimitExceeded' : 'no reason given'}`,
    )
    // The target uses 30,000 less than the limit, but the proposer's own checks use more.
    const tight = await trustlessTransaction(sandbox(), account, { calldata, gasLimit: 160_000n })
    expect(await refusal(tight)).toBe(
      reading === 'deployed' ? 'execution reverted: GasLimitExceeded' : undefined,
    )
  })

  test('are refused with a nonce used by a self-call, and a self-call is refused after the service used the nonce', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const data = await onCallData(sandbox(), account, termsOf(sandbox()))
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

  test('compete with a concurrent self-call for one nonce, and one of them wins', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    sandbox().faults.set({ rules: [{ kind: 'lateInclusion', delayMs: 300, count: 1 }] })
    const data = await onCallData(sandbox(), account, termsOf(sandbox()))
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

  test('wait for their predecessor when their nonce is ahead', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const second = await trustlessTransaction(sandbox(), account, { nonce: 1n })
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [second])
    const first = await submitAndLand(sandbox(), await trustlessTransaction(sandbox(), account))
    const { blockNumber } = await landed(sandbox(), hash)
    expect(Number(blockNumber)).toBeGreaterThanOrEqual(Number(first.blockNumber))
    expect(await nestedNonce(account)).toBe(2n)
  })

  test('are dropped when the deadline passes while they wait', async () => {
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
      for (const to of ENVELOPES) {
        const raw = await trustlessTransaction(sandbox(), account, {}, { to })
        expect(await refusal(raw)).toMatch(/not delegated to the TrustlessProposer/)
      }
    }
  })

  test('may include their delegation in one transaction, which is broadcast unchanged', async () => {
    const account = await newAccount(sandbox())
    const { address } = account
    const { trustlessProposer } = contracts()
    const contract = reading === 'deployed' ? address : trustlessProposer
    const payload = await signedPayload(account, contract, termsOf(sandbox()))
    const chainId = sandbox().sepolia.chainId
    const authorization = await account.signAuthorization({
      ...{ chainId, contractAddress: trustlessProposer, nonce: 1 },
    })
    const raw = await account.signTransaction({
      ...{ type: 'eip7702', chainId, nonce: 0, to: address, data: onCall(payload) },
      ...{ gas: 400_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n },
      authorizationList: [authorization],
    })
    expect((await submitAndLand(sandbox(), raw)).transactionHash).toBe(keccak256(raw))
    expect(await callsOf(sandbox(), account)).toBe(1n)
  })

  test('get enough gas when they burn nearly the maximum signed limit', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless', { deposit: ETHER })
    const calldata = encodeFunctionData({ abi: DEMO, functionName: 'burn', args: [9_700_000n] })
    const raw = await trustlessTransaction(sandbox(), account, { calldata, gasLimit: 9_900_000n })
    expect((await submitAndLand(sandbox(), raw)).status).toBe('0x1')
  })

  test('are bypassed by a plain transaction of the account, which is broadcast directly', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const to = contracts().demoTarget
    const raw = await rawTransaction(sandbox(), account, { to, data: recordData('0a') })
    expect((await submitAndLand(sandbox(), raw)).transactionHash).toBe(keccak256(raw))
    const { body } = await admin(sandbox(), 'GET', '/aggregator/calls')
    const shown = body.find(({ hash }: { hash: Hex }) => hash === keccak256(raw))
    expect(shown).toMatchObject({ route: 'direct', state: 'landed' })
  })
})
