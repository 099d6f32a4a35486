import { encodeFunctionData, type Hex, keccak256, parseEventLogs } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createRpc } from '../../../src/sandbox/evm/rpc.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  accountInfo,
  callsOf,
  delegatedAccount,
  ETHER,
  funds,
  newAccount,
  QUIET,
  rawTransaction,
  recordData,
  recordWhen,
  result,
  sepoliaClient,
  submit,
  submitAndLand,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { DEMO } from '../../support/aggregator/aggregator-abi.ts'
import { admin, sandboxForSuite } from '../../support/sandbox.ts'
import { waitFor } from '../../support/wait-for.ts'

// A window long enough for several submissions on a busy machine.
const sandbox = sandboxForSuite({ aggregator: { ...QUIET, window: 800 } })
const FEE_BPS = 1_000n

/** A request to the node itself. */
async function node(method: string, params: readonly unknown[]): Promise<void> {
  const rpc = createRpc(sandbox().sepolia.rpcUrl)
  await rpc.call(method, params)
  await rpc.close()
}

/** A call equal to the others except for unique bytes, since the same bytes are the same transaction. */
let calls = 0x10
async function recordBy(account: PrivateKeyAccount): Promise<Hex> {
  calls += 1
  const to = sandbox().sepolia.contracts.demoTarget
  return rawTransaction(sandbox(), account, { to, data: recordData(calls.toString(16)) })
}

/** Submits one call of each account at once and returns their statuses with the batch's receipt once landed. */
async function batchOf(accounts: readonly PrivateKeyAccount[]) {
  const raws = await Promise.all(accounts.map(recordBy))
  const receipts = await Promise.all(raws.map((raw) => submitAndLand(sandbox(), raw)))
  const batches = new Set<Hex>(receipts.map(({ transactionHash }) => transactionHash))
  expect(batches.size).toBe(1)
  const [hash] = batches
  if (hash === undefined) throw new Error('nothing was submitted')
  const receipt = await sepoliaClient(sandbox()).getTransactionReceipt({ hash })
  const events = parseEventLogs({ abi: DEMO, eventName: 'Called', logs: receipt.logs })
  const statuses = await Promise.all(
    raws.map((raw) => result(sandbox(), 'agg_transactionStatus', [keccak256(raw)])),
  )
  return { receipt, statuses, events }
}

describe('batches', () => {
  test('execute calls of several accounts in one transaction, each as its own sender', async () => {
    const accounts = await Promise.all([
      delegatedAccount(sandbox(), 'trusted'),
      delegatedAccount(sandbox(), 'trusted'),
      delegatedAccount(sandbox(), 'trusted'),
    ])
    const { events, statuses } = await batchOf(accounts)
    expect(events.map(({ args }) => args.caller.toLowerCase()).sort()).toEqual(
      accounts.map(({ address }) => address.toLowerCase()).sort(),
    )
    for (const account of accounts) expect(await callsOf(sandbox(), account)).toBe(1n)
    for (const { tracking } of statuses) expect(tracking.calls_in_batch).toBe(3)
  })

  test('mix both kinds of proposer', async () => {
    const [trusted, trustless] = await Promise.all([
      delegatedAccount(sandbox(), 'trusted'),
      delegatedAccount(sandbox(), 'trustless'),
    ])
    const raws = [await recordBy(trusted), await trustlessTransaction(sandbox(), trustless)]
    const receipts = await Promise.all(raws.map((raw) => submitAndLand(sandbox(), raw)))
    expect(receipts[0]?.transactionHash).toBe(receipts[1]?.transactionHash)
  })

  test('leave out a call that became invalid, and execute the others', async () => {
    const [poor, other] = await Promise.all([
      delegatedAccount(sandbox(), 'trusted'),
      delegatedAccount(sandbox(), 'trusted'),
    ])
    const before = await funds(sandbox(), poor)
    const to = sandbox().sepolia.contracts.demoTarget
    const fields = { to, data: recordData('0f'), value: ETHER / 2n }
    const raw = await rawTransaction(sandbox(), poor, fields)
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [raw])
    await node('anvil_setBalance', [poor.address, '0x0'])
    const { statuses } = await batchOf([other])
    expect(statuses[0].tracking.calls_in_batch).toBe(1)
    const record = await recordWhen(sandbox(), hash, ({ state }) => state === 'dropped')
    expect(record.revertedBatches).toEqual([])
    expect(await funds(sandbox(), poor)).toEqual(before)
  })

  test('are paid by the service when they fail only as a whole, and each call is tried alone', async () => {
    const accounts = await Promise.all([
      delegatedAccount(sandbox(), 'trusted'),
      delegatedAccount(sandbox(), 'trusted'),
    ])
    const before = await Promise.all(accounts.map((account) => funds(sandbox(), account)))
    // Code that succeeds once and then always reverts.
    const once: Hex = `0x${'0e'.repeat(20)}`
    await node('anvil_setCode', [once, '0x5f54600a5760015f55005b5f5ffd'])
    const hashes = await Promise.all(
      accounts.map(async (account) => {
        const raw = await rawTransaction(sandbox(), account, { to: once })
        return result(sandbox(), 'eth_sendRawTransaction', [raw])
      }),
    )
    const records = await Promise.all(
      hashes.map((hash) => recordWhen(sandbox(), hash, ({ state }) => state !== 'queued')),
    )
    expect(records.map(({ state }) => state).sort()).toEqual(['dropped', 'landed'])
    expect(records[0]?.revertedBatches).toHaveLength(1)
    expect(records[1]?.revertedBatches).toEqual(records[0]?.revertedBatches)
    for (const [index, account] of accounts.entries()) {
      const charged = BigInt(records[index]?.charged ?? 0)
      const { outstanding } = await funds(sandbox(), account)
      expect(outstanding - (before[index]?.outstanding ?? 0n)).toBe(charged)
    }
  })
})

describe('charges', () => {
  test('are exact to the wei: a share of the batch plus a tenth of the savings, at most the direct cost', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 4 }, () => delegatedAccount(sandbox(), 'trusted')),
    )
    // A second round, so that the target's slots for the accounts exist and calls cost the same.
    await batchOf(accounts)
    const before = await Promise.all(accounts.map((account) => funds(sandbox(), account)))
    const { receipt, statuses } = await batchOf(accounts)
    const allDirectGas = statuses.reduce((sum, own) => sum + BigInt(own.savings.direct_gas), 0n)
    const price = receipt.effectiveGasPrice
    for (const [index, account] of accounts.entries()) {
      const { costs, savings } = statuses[index]
      const directGas = BigInt(savings.direct_gas)
      const execution = (receipt.gasUsed * price * directGas) / allDirectGas
      const direct = directGas * price
      expect(BigInt(costs.execution_cost)).toBe(execution)
      expect(BigInt(savings.direct_cost)).toBe(direct)
      expect(direct).toBeGreaterThan(execution)
      const fee = ((direct - execution) * FEE_BPS) / 10_000n
      expect(BigInt(costs.service_fee)).toBe(fee)
      expect(BigInt(costs.charged)).toBe(execution + fee)
      expect(BigInt(savings.saved)).toBe(direct - execution - fee)
      const { balance, outstanding } = await funds(sandbox(), account)
      expect(outstanding - (before[index]?.outstanding ?? 0n)).toBe(execution + fee)
      expect(balance).toBe(before[index]?.balance)
    }
  })

  test('compare with the cost of the same transaction sent directly', async () => {
    const [account, twin] = await Promise.all([
      delegatedAccount(sandbox(), 'trusted'),
      newAccount(sandbox()),
    ])
    await batchOf([account])
    await submitAndLand(sandbox(), await recordBy(twin))
    const { statuses } = await batchOf([account])
    const direct = await submitAndLand(sandbox(), await recordBy(twin))
    expect(BigInt(statuses[0].savings.direct_gas)).toBe(BigInt(direct.gasUsed))
  })

  test('have no fee without savings and equal the cost of direct submission', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const { statuses, receipt } = await batchOf([account])
    const { costs, savings } = statuses[0]
    expect(receipt.gasUsed).toBeGreaterThan(BigInt(savings.direct_gas))
    expect(costs.execution_gas).toBe(savings.direct_gas)
    expect(costs.execution_cost).toBe(savings.direct_cost)
    expect(costs.service_fee).toBe('0')
    expect(costs.charged).toBe(savings.direct_cost)
    expect(savings.saved).toBe('0')
  })

  test('include blob gas when the service reports it', async () => {
    const blobCost = ETHER / 100n + 7n
    const blobs = await startSandbox({
      market: { feedInterval: 0 },
      aggregator: { ...QUIET, blobCost },
    })
    onTestFinished(() => blobs.stop())
    const account = await delegatedAccount(blobs, 'trustless')
    const before = await funds(blobs, account)
    const raw = await trustlessTransaction(blobs, account)
    await submitAndLand(blobs, raw)
    const { costs, savings } = await result(blobs, 'agg_transactionStatus', [keccak256(raw)])
    expect(costs.blob_cost).toBe(blobCost.toString())
    const parts = [costs.execution_cost, costs.service_fee, costs.blob_cost].map(BigInt)
    expect(BigInt(costs.charged)).toBe(parts.reduce((sum, part) => sum + part, 0n))
    const directExecution = BigInt(savings.direct_gas) * BigInt(costs.effective_gas_price)
    expect(BigInt(savings.direct_cost)).toBe(directExecution + blobCost)
    const { outstanding } = await funds(blobs, account)
    expect(outstanding - before.outstanding).toBe(BigInt(costs.charged))
    // A deposit for the gas alone does not suffice.
    const poor = await delegatedAccount(blobs, 'trustless', { deposit: blobCost / 2n })
    const refused = await submit(blobs, await trustlessTransaction(blobs, poor))
    expect(refused.body.error.message).toBe('Insufficient balance.')
  })

  test('cannot exceed the deposit, since amounts reserved for pending calls are unavailable', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted', { deposit: ETHER / 10n })
    sandbox().faults.set({ rules: [{ kind: 'neverIncluded' }] })
    onTestFinished(() => sandbox().faults.set({}))
    const to = sandbox().sepolia.contracts.demoTarget
    const answers: (string | undefined)[] = []
    // Each call burns much gas, and the deposit covers only a few calls.
    while (answers.length < 100 && answers.at(-1) === undefined) {
      const args = [9_000_000n + BigInt(answers.length)] as const
      const data = encodeFunctionData({ abi: DEMO, functionName: 'burn', args })
      const raw = await rawTransaction(sandbox(), account, { to, data, gas: 9_900_000n })
      answers.push((await submit(sandbox(), raw)).body.error?.message)
    }
    expect(answers.length).toBeGreaterThan(1)
    expect(answers.at(-1)).toBe('Insufficient balance.')
    const { balance, outstanding } = await funds(sandbox(), account)
    expect(balance - outstanding).toBeGreaterThan(0n)
  })
})

describe('deposits', () => {
  test('show only after the indexing delay', async () => {
    const slow = await startSandbox({
      market: { feedInterval: 0 },
      aggregator: { ...QUIET, indexingDelay: 6_000 },
    })
    onTestFinished(() => slow.stop())
    const account = await newAccount(slow, { deposit: 0n })
    const deposit = (amount: string) =>
      admin(slow, 'POST', '/aggregator/deposit', { address: account.address, amount })
    const shown = async (): Promise<string> => {
      const { body } = await accountInfo(slow, account)
      return body.error?.message ?? body.result.balance
    }
    await deposit('1000')
    expect(await shown()).toBe('Account not found')
    await waitFor('the first deposit', shown, (value) => value === '1000')
    await deposit('500')
    expect(await shown()).toBe('1000')
    await waitFor('the second deposit', shown, (value) => value === '1500')
  })
})

describe('strangers', () => {
  test('use the service as well, so that a single call shares a batch and saves', async () => {
    const busy = await startSandbox({
      market: { feedInterval: 0 },
      aggregator: {
        ...QUIET,
        window: 100,
        settleEvery: 200,
        traffic: { participants: 3, every: 20, patience: 5_000 },
      },
    })
    onTestFinished(() => busy.stop())
    const account = await delegatedAccount(busy, 'trusted')
    const to = busy.sepolia.contracts.demoTarget
    const raw = () => rawTransaction(busy, account, { to, data: recordData('0c') })
    await submitAndLand(busy, await raw())
    const second = await rawTransaction(busy, account, { to, data: recordData('0d') })
    await submitAndLand(busy, second)
    const status = await result(busy, 'agg_transactionStatus', [keccak256(second)])
    expect(status.tracking.calls_in_batch).toBeGreaterThanOrEqual(2)
    expect(BigInt(status.savings.saved)).toBeGreaterThan(0n)
    // Charges are settled automatically.
    const outstanding = async () => (await funds(busy, account)).outstanding
    await waitFor('charges to be settled', outstanding, (wei) => wei === 0n)
  })
})
