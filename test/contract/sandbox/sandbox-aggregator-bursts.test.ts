import { type Hex, parseEventLogs } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import {
  callsOf,
  delegatedAccount,
  ETHER,
  landed,
  newAccount,
  QUIET,
  rawTransaction,
  recordData,
  recordWhen,
  result,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { DEMO } from '../../support/aggregator/aggregator-abi.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

// Long enough for eight calls to be accepted on a busy machine.
const sandbox = sandboxForSuite({ aggregator: { ...QUIET, window: 1_500 } })
const EIGHT = Array.from({ length: 8 }, (_, index) => index)

const submitAll = (raws: readonly Hex[]): Promise<Hex[]> =>
  Promise.all(raws.map((raw) => result(sandbox(), 'eth_sendRawTransaction', [raw])))

/** Memos in the one transaction that contains all calls, in the order of execution. */
async function memosOfShared(hashes: readonly Hex[]): Promise<string[]> {
  const receipts = await Promise.all(hashes.map((hash) => landed(sandbox(), hash)))
  expect(new Set(receipts.map(({ transactionHash }) => transactionHash)).size).toBe(1)
  const events = parseEventLogs({ abi: DEMO, eventName: 'Called', logs: receipts[0].logs })
  return events.map(({ args }) => args.memo.slice(2, 4))
}

const recordBy = (account: PrivateKeyAccount, byte: string, nonce: number): Promise<Hex> =>
  rawTransaction(sandbox(), account, {
    ...{ to: sandbox().sepolia.contracts.demoTarget, data: recordData(byte), nonce },
  })

test('eight calls of one account share a transaction, in the order of their nonces', async () => {
  const account = await delegatedAccount(sandbox(), 'trusted')
  const raws = await Promise.all(
    EIGHT.map((index) => recordBy(account, `${index}${index}`, 100 - index)),
  )
  const memos = await memosOfShared(await submitAll(raws))
  expect(memos).toEqual(['77', '66', '55', '44', '33', '22', '11', '00'])
  expect(await callsOf(sandbox(), account)).toBe(8n)
})

test('eight signed calls with consecutive nonces share a transaction', async () => {
  const account = await delegatedAccount(sandbox(), 'trustless')
  const raws = await Promise.all(
    EIGHT.map((index) =>
      trustlessTransaction(sandbox(), account, {
        ...{ nonce: BigInt(index), calldata: recordData(`${index}${index}`) },
      }),
    ),
  )
  const memos = await memosOfShared(await submitAll(raws.reverse()))
  expect(memos).toEqual(['00', '11', '22', '33', '44', '55', '66', '77'])
})

test('eight accounts share a transaction', async () => {
  const accounts: PrivateKeyAccount[] = []
  for (const _ of EIGHT) accounts.push(await delegatedAccount(sandbox(), 'trustless'))
  const raws = await Promise.all(accounts.map((owner) => trustlessTransaction(sandbox(), owner)))
  expect(await memosOfShared(await submitAll(raws))).toHaveLength(8)
})

test('a call that fails after its predecessors costs them nothing and does not delay its successors', async () => {
  const account = await delegatedAccount(sandbox(), 'trusted')
  const to = (await newAccount(sandbox(), { coin: 0n, deposit: 0n })).address
  const raws = await Promise.all(
    [6n, 6n, 1n].map((tenths, index) =>
      rawTransaction(sandbox(), account, {
        ...{ to, value: (tenths * ETHER) / 10n, nonce: 50 + index },
      }),
    ),
  )
  // In this order, so that the second is not simulated alone at its acceptance.
  const hashes: Hex[] = []
  for (const raw of raws) hashes.push(...(await submitAll([raw])))
  const records = await Promise.all(
    hashes.map((hash) => recordWhen(sandbox(), hash, ({ state }) => state !== 'queued')),
  )
  expect(records.map(({ state }) => state)).toEqual(['landed', 'dropped', 'landed'])
  expect(records.flatMap(({ revertedBatches }) => revertedBatches)).toEqual([])
})

test('calls with more gas than a block holds land in several transactions', async () => {
  const account = await delegatedAccount(sandbox(), 'trusted', { deposit: ETHER })
  const { demoTarget: to } = sandbox().sepolia.contracts
  const raws = await Promise.all(
    EIGHT.map((index) =>
      rawTransaction(sandbox(), account, {
        ...{ to, data: recordData(`4${index}`), nonce: 20 + index, gas: 10_000_000n },
      }),
    ),
  )
  const receipts = await Promise.all((await submitAll(raws)).map((hash) => landed(sandbox(), hash)))
  const shared = new Set(receipts.map(({ transactionHash }) => transactionHash))
  expect(shared.size).toBeGreaterThan(1)
  expect(shared.size).toBeLessThan(8)
})
