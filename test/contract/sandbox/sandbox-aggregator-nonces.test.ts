import { type Hex, keccak256, parseEventLogs, zeroAddress } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createRpc } from '../../../src/sandbox/evm/rpc.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  callsOf,
  delegatedAccount,
  delegationTransaction,
  landed,
  newAccount,
  nonceOf,
  QUIET,
  rawTransaction,
  recordData,
  result,
  sepoliaClient,
  submit,
  submitAndLand,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { DEMO } from '../../support/aggregator/aggregator-abi.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const contracts = () => sandbox().sepolia.contracts
/** Nonces as published clients invent them, up to the largest safe integer. */
const FAR_AHEAD = [1_000, Date.now(), Number.MAX_SAFE_INTEGER]

const recordBy = (account: PrivateKeyAccount, byte: string, nonce: number): Promise<Hex> =>
  rawTransaction(sandbox(), account, {
    ...{ to: contracts().demoTarget, data: recordData(byte), nonce },
  })

async function refusal(raw: Hex): Promise<string | undefined> {
  return (await submit(sandbox(), raw)).body.error?.message
}

describe('a nonce far ahead of the account’s', () => {
  test('does not delay calls through the TrustedProposer', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    for (const [index, nonce] of FAR_AHEAD.entries()) {
      const raw = await recordBy(account, `2${index}`, nonce)
      expect((await submitAndLand(sandbox(), raw)).status).toBe('0x1')
    }
    // A nonce below those, but not below the account's.
    const present = await nonceOf(sandbox(), account)
    await submitAndLand(sandbox(), await recordBy(account, '2f', present))
    expect(await callsOf(sandbox(), account)).toBe(4n)
    expect(await nonceOf(sandbox(), account)).toBe(present)
  })

  test('determines the order of waiting calls of an account', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    sandbox().faults.set({ rules: [{ kind: 'lateInclusion', delayMs: 300, count: 2 }] })
    const raws = [await recordBy(account, '31', 9_000), await recordBy(account, '30', 8_000)]
    const hashes: Hex[] = []
    for (const raw of raws) hashes.push(await result(sandbox(), 'eth_sendRawTransaction', [raw]))
    const receipts = await Promise.all(hashes.map((hash) => landed(sandbox(), hash)))
    const [late, early] = receipts.map(({ transactionHash, blockNumber, logs }) => {
      const calls = parseEventLogs({ abi: DEMO, eventName: 'Called', logs })
      return { transactionHash, blockNumber: Number(blockNumber), calls }
    })
    // Both may share a transaction, which then executes them in this order.
    if (early?.transactionHash === late?.transactionHash)
      expect(late?.calls.map(({ args }) => args.memo.slice(2, 4))).toEqual(['30', '31'])
    else expect(early?.blockNumber).toBeLessThan(late?.blockNumber ?? 0)
  })

  test.each(['account', 'proposer'] as const)(
    'does not delay signed calls sent to the %s',
    async (to) => {
      const account = await delegatedAccount(sandbox(), 'trustless')
      for (const [index, nonce] of FAR_AHEAD.entries()) {
        const changes = { nonce: BigInt(index) }
        const raw = await trustlessTransaction(sandbox(), account, changes, { to, nonce })
        expect((await submitAndLand(sandbox(), raw)).status).toBe('0x1')
      }
      expect(await callsOf(sandbox(), account)).toBe(3n)
    },
  )

  test('is refused with both numbers when the transaction would be broadcast unchanged', async () => {
    const plain = await newAccount(sandbox())
    const trustless = await delegatedAccount(sandbox(), 'trustless')
    const trusted = await delegatedAccount(sandbox(), 'trusted')
    const creation = await rawTransaction(sandbox(), trusted, { data: '0x00', nonce: 9 })
    expect(await refusal(await recordBy(plain, '40', 5))).toBe(
      'nonce too high: 5, the account is at 0',
    )
    expect(await refusal(await recordBy(trustless, '41', 2))).toBe(
      'nonce too high: 2, the account is at 1',
    )
    expect(await refusal(creation)).toBe('nonce too high: 9, the account is at 1')
    const pool = await sepoliaClient(sandbox()).request({ method: 'txpool_status' } as never)
    expect(pool).toEqual({ pending: '0x0', queued: '0x0' })
  })

  test('is accepted when only its predecessor still waits for its block', async () => {
    const slow = await startSandbox({
      market: { feedInterval: 0 },
      blockInterval: 0,
      aggregator: QUIET,
    })
    const rpc = createRpc(slow.sepolia.rpcUrl)
    onTestFinished(async () => {
      await rpc.close()
      await slow.stop()
    })
    const account = await newAccount(slow)
    const to = slow.sepolia.contracts.demoTarget
    await rpc.call('evm_setIntervalMining', [3_600])
    const hashes: Hex[] = []
    for (const nonce of [0, 1]) {
      const raw = await rawTransaction(slow, account, { to, nonce })
      hashes.push(await result(slow, 'eth_sendRawTransaction', [raw]))
    }
    expect(await nonceOf(slow, account)).toBe(0)
    await rpc.call('evm_mine')
    for (const hash of hashes) expect((await landed(slow, hash)).transactionHash).toBe(hash)
  })
})

describe('a delegation', () => {
  test.each([
    ['far ahead', 4_711],
    ['already used', 0],
  ])(
    'works for the current nonce in a transaction whose own nonce is %s',
    async (_, envelopeNonce) => {
      const account = await delegatedAccount(sandbox(), 'trusted')
      const delegate = contracts().trustlessProposer
      const raw = await delegationTransaction(sandbox(), account, { delegate, envelopeNonce })
      await submitAndLand(sandbox(), raw)
      const code = await sepoliaClient(sandbox()).getCode({ address: account.address })
      expect(code).toBe(`0xef0100${delegate.slice(2).toLowerCase()}`)
      expect(await nonceOf(sandbox(), account)).toBe(2)
    },
  )

  test("is refused with both numbers for its transaction's nonce unless that nonce is next", async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const delegate = zeroAddress
    const ahead = await delegationTransaction(sandbox(), account, {
      ...{ delegate, envelopeNonce: 5, nonceAhead: 5 },
    })
    expect(await refusal(ahead)).toBe('nonce too high: 5, the account is at 1')
    const other = await delegationTransaction(sandbox(), account, {
      ...{ delegate, envelopeNonce: 5, nonceAhead: 1 },
    })
    expect(await refusal(other)).toBe('authorization nonce 2, the account is at 1')
    const next = await delegationTransaction(sandbox(), account, { delegate, nonceAhead: 1 })
    expect((await submitAndLand(sandbox(), next)).transactionHash).toBe(keccak256(next))
  })

  test('is refused for a used nonce', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const delegate = contracts().trustlessProposer
    const raw = await delegationTransaction(sandbox(), account, {
      ...{ delegate, nonceAhead: -1, envelopeNonce: 30 },
    })
    expect(await refusal(raw)).toBe('authorization nonce 0, the account is at 1')
  })
})
