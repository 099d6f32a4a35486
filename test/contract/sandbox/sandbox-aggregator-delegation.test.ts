import { type Hex, keccak256, zeroAddress } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import {
  delegatedAccount,
  delegationTransaction,
  funds,
  newAccount,
  nonceOf,
  QUIET,
  sepoliaClient,
  submit,
  submitAndLand,
} from '../../support/aggregator/aggregator.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const contracts = () => sandbox().sepolia.contracts

async function codeOf({ address }: PrivateKeyAccount): Promise<Hex | undefined> {
  return sepoliaClient(sandbox()).getCode({ address })
}

async function refusal(raw: Hex): Promise<string | undefined> {
  return (await submit(sandbox(), raw)).body.error?.message
}

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

test('an authorization for the next nonce is broadcast in its own transaction', async () => {
  const account = await newAccount(sandbox())
  const delegate = contracts().trustlessProposer
  const raw = await delegationTransaction(sandbox(), account, { delegate, nonceAhead: 1 })
  const receipt = await submitAndLand(sandbox(), raw)
  expect(receipt.transactionHash).toBe(keccak256(raw))
  expect(await codeOf(account)).toBe(`0xef0100${delegate.slice(2).toLowerCase()}`)
  expect(await nonceOf(sandbox(), account)).toBe(2)
  expect((await funds(sandbox(), account)).outstanding).toBe(0n)
})

test('an authorization in its own transaction needs coin in the account', async () => {
  const account = await newAccount(sandbox(), { coin: 0n })
  const delegate = contracts().trustlessProposer
  const raw = await delegationTransaction(sandbox(), account, { delegate, nonceAhead: 1 })
  expect(await refusal(raw)).toMatch(/insufficient funds/i)
})

test('an authorization for the zero address clears the delegation', async () => {
  const account = await delegatedAccount(sandbox(), 'trusted')
  const raw = await delegationTransaction(sandbox(), account, { delegate: zeroAddress })
  await submitAndLand(sandbox(), raw)
  expect(await codeOf(account)).toBeUndefined()
})

test('an authorization for unknown code, or with another chain, signer or nonce is refused', async () => {
  const [account, other] = [await newAccount(sandbox()), await newAccount(sandbox())]
  const delegate = contracts().trustedProposer
  const wrong = [
    { delegate: contracts().demoTarget },
    { delegate, chainId: 1 },
    { delegate, signer: other },
    { delegate, nonceAhead: 2 },
    { delegate, nonceAhead: 1, envelopeNonce: 7 },
  ]
  for (const terms of wrong) {
    const raw = await delegationTransaction(sandbox(), account, terms)
    expect(await refusal(raw)).toMatch(/authorization/)
  }
  expect(await codeOf(account)).toBeUndefined()
})

test('an authorization that its own transaction uses up is refused, with the way to delegate', async () => {
  const account = await newAccount(sandbox())
  const delegate = contracts().trustedProposer
  for (const to of [account.address, contracts().demoTarget]) {
    const raw = await delegationTransaction(sandbox(), account, { delegate, to })
    expect(await refusal(raw)).toBe(
      "the sender's authorization has nonce 0, and works with 1 in this transaction: send it to the zero address, and the service delegates the account",
    )
  }
  const foreign = { delegate, chainId: 1, nonceAhead: 1, to: contracts().demoTarget }
  expect(await refusal(await delegationTransaction(sandbox(), account, foreign))).toBe(
    "the sender's authorization is for another chain",
  )
  expect(await nonceOf(sandbox(), account)).toBe(0)
})

test('an authorization needs a deposit like every transaction', async () => {
  const account = await newAccount(sandbox(), { deposit: 0n })
  const raw = await delegationTransaction(sandbox(), account, {
    delegate: contracts().trustedProposer,
  })
  expect(await refusal(raw)).toBe('Account not found')
})
