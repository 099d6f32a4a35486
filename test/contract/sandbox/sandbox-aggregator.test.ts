import { encodeFunctionData, type Hex, keccak256, parseEventLogs } from 'viem'
import { describe, expect, test } from 'vitest'
import {
  accountInfoSchema,
  receiptSchema,
  transactionHashSchema,
  transactionStatusSchema,
} from '../../../src/venues/call/client/aggregator-wire.ts'
import {
  accountInfo,
  bodyOf,
  call,
  callsOf,
  credential,
  delegatedAccount,
  landed,
  newAccount,
  nonceOf,
  post,
  QUIET,
  rawTransaction,
  recordData,
  result,
  sepoliaClient,
  submit,
  submitAndLand,
} from '../../support/aggregator/aggregator.ts'
import { DEMO, PROPOSER } from '../../support/aggregator/aggregator-abi.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const demo = (): Hex => sandbox().sepolia.contracts.demoTarget
const unknownHash: Hex = `0x${'ab'.repeat(32)}`

describe('eth_sendRawTransaction', () => {
  test('returns the hash of the raw transaction and executes it as its sender', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data: recordData('01') })
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [raw])
    expect(transactionHashSchema.parse(hash)).toBe(keccak256(raw))
    await landed(sandbox(), hash)
    expect(await callsOf(sandbox(), account)).toBe(1n)
  })

  test('executes a call of the account to its own code', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const args = [demo(), recordData('0b'), 0n] as const
    const data = encodeFunctionData({ abi: PROPOSER, functionName: 'onCall', args })
    const raw = await rawTransaction(sandbox(), account, { to: account.address, data })
    const receipt = await submitAndLand(sandbox(), raw)
    expect(receipt.transactionHash).not.toBe(keccak256(raw))
    expect(await callsOf(sandbox(), account)).toBe(1n)
  })

  test('does not advance the nonce of the account', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const before = await nonceOf(sandbox(), account)
    await submitAndLand(
      sandbox(),
      await rawTransaction(sandbox(), account, { to: demo(), data: recordData('01') }),
    )
    expect(await nonceOf(sandbox(), account)).toBe(before)
  })

  test('treats the same bytes, at once or later, as the same transaction', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data: recordData('02') })
    const hashes = await Promise.all(
      Array.from({ length: 3 }, () => result(sandbox(), 'eth_sendRawTransaction', [raw])),
    )
    await landed(sandbox(), hashes[0])
    hashes.push(await result(sandbox(), 'eth_sendRawTransaction', [raw]))
    expect(new Set(hashes)).toEqual(new Set([keccak256(raw)]))
    expect(await callsOf(sandbox(), account)).toBe(1n)
  })

  test('carries the value from the account to the target', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, {
      ...{ to: demo(), data: recordData('03'), value: 777n },
    })
    const address = demo()
    const before = await sepoliaClient(sandbox()).getBalance({ address })
    await submitAndLand(sandbox(), raw)
    expect((await sepoliaClient(sandbox()).getBalance({ address })) - before).toBe(777n)
  })

  test('refuses invalid transactions and transactions for another chain', async () => {
    const garbage = await call(sandbox(), 'eth_sendRawTransaction', ['0x1234'])
    expect(garbage.body.error.code).toBe(-32602)
    const account = await newAccount(sandbox())
    const foreign = await rawTransaction(sandbox(), account, { to: demo(), chainId: 1 })
    expect((await submit(sandbox(), foreign)).body.error.message).toMatch(/chain id/)
  })

  test('refuses a used nonce', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, { to: demo(), nonce: 0 })
    expect((await submit(sandbox(), raw)).body.error.message).toMatch(/nonce too low/)
  })

  test('refuses a reverting call with the reason, before it reaches the chain', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const failures = [
      [encodeFunctionData({ abi: DEMO, functionName: 'fail' }), 'Refused'],
      [
        encodeFunctionData({ abi: DEMO, functionName: 'failWith', args: ['not today'] }),
        'not today',
      ],
    ] as const
    for (const [data, reason] of failures) {
      const raw = await rawTransaction(sandbox(), account, { to: demo(), data })
      const { body } = await submit(sandbox(), raw)
      expect(body.error.message).toBe(`execution reverted: ${reason}`)
      expect(await result(sandbox(), 'eth_getTransactionReceipt', [keccak256(raw)])).toBe(null)
    }
  })

  test('executes calls of one account in the order of their nonces', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const nonce = await nonceOf(sandbox(), account)
    // Long enough for all three to be queued on a busy machine, since a gap causes no wait.
    sandbox().faults.set({ rules: [{ kind: 'lateInclusion', delayMs: 4_000, count: 3 }] })
    const hashes: Hex[] = []
    for (const ahead of [2, 1, 0]) {
      const raw = await rawTransaction(sandbox(), account, {
        ...{ to: demo(), data: recordData(`0${ahead}`), nonce: nonce + ahead },
      })
      hashes.unshift(await result(sandbox(), 'eth_sendRawTransaction', [raw]))
    }
    const receipts = await Promise.all(hashes.map((hash) => landed(sandbox(), hash)))
    const blocks = receipts.map(({ blockNumber }) => Number(blockNumber))
    expect(blocks).toEqual([...blocks].sort((a, b) => a - b))
    const shown = new Map(receipts.map(({ transactionHash, logs }) => [transactionHash, logs]))
    const events = parseEventLogs({
      abi: DEMO,
      eventName: 'Called',
      logs: [...shown.values()].flat(),
    })
    expect(events.map(({ args }) => args.memo.slice(2, 4))).toEqual(['00', '01', '02'])
  })

  test('submits a transaction that cannot be aggregated unchanged', async () => {
    const account = await newAccount(sandbox())
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data: recordData('04') })
    const receipt = await submitAndLand(sandbox(), raw)
    expect(receipt.transactionHash).toBe(keccak256(raw))
    expect(await nonceOf(sandbox(), account)).toBe(1)
    const status = await result(sandbox(), 'agg_transactionStatus', [keccak256(raw)])
    expect(status).toMatchObject({ status: 'landed', route: 'direct', savings: null })
    const { gasUsed, effectiveGasPrice } = receipt
    expect(status.costs).toEqual({
      execution_gas: BigInt(gasUsed).toString(),
      effective_gas_price: BigInt(effectiveGasPrice).toString(),
      execution_cost: (BigInt(gasUsed) * BigInt(effectiveGasPrice)).toString(),
      blob_cost: '0',
      service_fee: '0',
      charged: '0',
    })
  })

  test('submits a contract creation directly, even from a delegated account', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, { data: '0x600160005260016000f3' })
    expect((await submitAndLand(sandbox(), raw)).contractAddress).toMatch(/^0x/)
  })

  test('returns "Account not found" without a deposit', async () => {
    const account = await newAccount(sandbox(), { deposit: 0n })
    const raw = await rawTransaction(sandbox(), account, { to: demo() })
    expect((await submit(sandbox(), raw)).body.error.message).toBe('Account not found')
  })

  test('returns "Insufficient balance." when the deposit cannot cover the cost', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted', { deposit: 5n * 10n ** 14n })
    const data = encodeFunctionData({ abi: DEMO, functionName: 'burn', args: [3_000_000n] })
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data, gas: 4_000_000n })
    expect((await submit(sandbox(), raw)).body.error.message).toBe('Insufficient balance.')
  })
})

describe('receipts and status', () => {
  test('show null until the transaction has landed, then the receipt of the batch', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    sandbox().faults.set({ rules: [{ kind: 'lateInclusion', delayMs: 400, count: 1 }] })
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data: recordData('08') })
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [raw])
    expect(await result(sandbox(), 'eth_getTransactionReceipt', [hash])).toBe(null)
    const queued = await result(sandbox(), 'agg_transactionStatus', [hash])
    expect(queued).toMatchObject({ status: 'queued', costs: null })
    const receipt = await landed(sandbox(), hash)
    expect(receiptSchema.parse(receipt)).not.toBe(null)
    expect(receipt.transactionHash).not.toBe(hash)
    expect(receipt.to.toLowerCase()).toBe(sandbox().sepolia.contracts.multicall.toLowerCase())
    const onChain = await sepoliaClient(sandbox()).getTransactionReceipt({
      hash: receipt.transactionHash,
    })
    expect(onChain.status).toBe('success')
    const batched = await result(sandbox(), 'agg_getBatchedTransactionReceipt', [
      receipt.transactionHash,
    ])
    expect(batched).toEqual(receipt)
  })

  test('show a null receipt and no status for unknown hashes', async () => {
    expect(await result(sandbox(), 'eth_getTransactionReceipt', [unknownHash])).toBe(null)
    expect(await result(sandbox(), 'agg_getBatchedTransactionReceipt', [unknownHash])).toBe(null)
    const { body } = await call(sandbox(), 'agg_transactionStatus', [unknownHash])
    expect(body.error.message).toBe('Transaction not found')
  })

  test('show route, batch, costs and savings, with or without a token', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data: recordData('09') })
    const receipt = await submitAndLand(sandbox(), raw)
    const status = await result(sandbox(), 'agg_transactionStatus', [keccak256(raw)])
    expect(transactionStatusSchema.safeParse(status).success).toBe(true)
    expect(status).toMatchObject({
      hash: keccak256(raw),
      account: account.address.toLowerCase(),
      status: 'landed',
      route: 'aggregated',
      tracking: { batched_transaction_hash: receipt.transactionHash, calls_in_batch: 1 },
    })
    const withToken = await result(sandbox(), 'agg_transactionStatus', [keccak256(raw), 'a-token'])
    expect(withToken).toEqual(status)
  })
})

describe('agg_accountInfo', () => {
  test('shows balance and charges as decimal wei', async () => {
    const account = await newAccount(sandbox(), { deposit: 12_345n })
    const { body } = await accountInfo(sandbox(), account)
    expect(accountInfoSchema.safeParse(body.result).success).toBe(true)
    expect(body.result).toEqual({
      ...{ balance: '12345', outstanding_charge: '0' },
      // Absent from the description, but present in the answers of deployed services.
      ...{ whitelisted: false, gas_unit_discount: 0 },
    })
  })

  test('returns "Account not found" without a deposit', async () => {
    const { body } = await accountInfo(sandbox(), await newAccount(sandbox(), { deposit: 0n }))
    expect(body.error.message).toBe('Account not found')
  })

  test('accepts either spelling of the address, and refuses a header for a foreign body, signer, address or account', async () => {
    const [account, other] = [await newAccount(sandbox()), await newAccount(sandbox())]
    const text = bodyOf('agg_accountInfo', [account.address])
    const own = await credential(account, text)
    const wrong = [
      undefined,
      'nonsense',
      await credential(account, `${text} `),
      await credential(other, text),
      `${account.address}:${(await credential(other, text)).split(':')[1]}`,
      own.replace(':', ' '),
    ]
    for (const header of wrong) {
      const headers = header === undefined ? {} : { 'x-relay-signature': header }
      const { body } = await post(sandbox(), text, headers)
      expect(body.error.message).toBe('authentication failure')
    }
    const [address = '', signature] = own.split(':')
    expect(address).not.toBe(address.toLowerCase())
    for (const spelling of [address, address.toLowerCase()]) {
      const headers = { 'X-Relay-Signature': `${spelling}:${signature}` }
      const { body } = await post(sandbox(), text, headers)
      expect(body.result.balance).toBeDefined()
    }
  })

  test('accepts one signature for a whole array, since it covers the body', async () => {
    const account = await newAccount(sandbox(), { deposit: 5n })
    const text = `[ ${bodyOf('agg_accountInfo', [account.address])} ]`
    const headers = { 'x-relay-signature': await credential(account, text) }
    expect((await post(sandbox(), text, headers)).body[0].result.balance).toBe('5')
  })
})
