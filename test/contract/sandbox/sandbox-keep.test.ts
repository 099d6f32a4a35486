import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { createRpc } from '../../../src/sandbox/evm/rpc.ts'
import { openKept } from '../../../src/sandbox/keep/directory.ts'
import { boundTerms, type SandboxOptions } from '../../../src/sandbox/options.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  delegatedAccount,
  funds,
  QUIET,
  rawTransaction,
  recordData,
  result,
  submitAndLand,
} from '../../support/aggregator/aggregator.ts'
import {
  admin,
  balanceOf,
  newTrader,
  quoteFor,
  rest,
  settled,
  submit,
} from '../../support/sandbox.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

/** Starts a sandbox that is persisted in a directory, and continues from its files. */
async function keptIn(dir: string, options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = { market: { feedInterval: 0 }, aggregator: QUIET, ...options }
  const report = (line: string): never => {
    throw new Error(line)
  }
  const keep = await openKept({ dir, terms: boundTerms(settings), isNew: false, report })
  const sandbox = await startSandbox(settings, keep)
  onTestFinished(() => sandbox.stop())
  return sandbox
}

type Block = { readonly hash: Hex; readonly number: Hex; readonly timestamp: Hex }

async function node<Result>(rpcUrl: string, method: string, ...params: unknown[]): Promise<Result> {
  const rpc = createRpc(rpcUrl)
  try {
    return await rpc.call<Result>(method, params)
  } finally {
    await rpc.close()
  }
}

function blockAt(rpcUrl: string, at: string): Promise<Block> {
  return node(rpcUrl, 'eth_getBlockByNumber', at, false)
}

test('both chains keep their genesis, blocks and accounts across starts, and their time never goes back', async () => {
  const dir = temporaryDirectory()
  const first = await keptIn(dir)
  const same = ({ genesisHash, sepolia, contracts, tokens, trader, operator }: Sandbox) => ({
    genesis: [genesisHash, sepolia.genesisHash],
    contracts: [contracts.settlement, contracts.sequencerFeed, sepolia.contracts],
    tokens: tokens.map(({ address }) => address),
    accounts: [trader, operator],
  })
  const before = same(first)
  const balance = await balanceOf(first, 'USDC', first.trader.address)
  expect(balance).toBe(10_000_000_000_000n)
  // Like an operator who advances the chain: its time stays ahead of the machine's clock.
  for (const { rpcUrl } of [first, first.sepolia]) {
    await node(rpcUrl, 'evm_increaseTime', 5_000)
    await node(rpcUrl, 'evm_mine')
  }
  let last = [await blockAt(first.rpcUrl, 'latest'), await blockAt(first.sepolia.rpcUrl, 'latest')]
  await first.stop()
  // A node makes its own genesis before it loads the stored one and keeps both; each load may return either.
  for (let started = 0; started < 4; started += 1) {
    const again = await keptIn(dir)
    expect(same(again)).toEqual(before)
    expect(await balanceOf(again, 'USDC', again.trader.address)).toBe(balance)
    for (const [index, { rpcUrl }] of [again, again.sepolia].entries()) {
      expect((await blockAt(rpcUrl, '0x0')).hash).toBe(before.genesis[index])
      const { hash, number, timestamp } = last[index] as Block
      expect((await blockAt(rpcUrl, number)).hash).toBe(hash)
      await node(rpcUrl, 'evm_mine')
      const next = await blockAt(rpcUrl, 'latest')
      expect(Number(next.timestamp)).toBeGreaterThanOrEqual(Number(timestamp))
      // The lead over the clock does not grow.
      expect(Number(next.timestamp) - Date.now() / 1_000).toBeLessThan(5_002)
    }
    last = [await blockAt(again.rpcUrl, 'latest'), await blockAt(again.sepolia.rpcUrl, 'latest')]
    await again.stop()
  }
})

test('a chain with an unchanged clock follows the wall clock again after a pause', async () => {
  const dir = temporaryDirectory()
  await (await keptIn(dir)).stop()
  await sleep(2_500)
  const { rpcUrl } = await keptIn(dir)
  const beforeSeconds = Math.floor(Date.now() / 1_000)
  await node(rpcUrl, 'evm_mine')
  const { timestamp } = await blockAt(rpcUrl, 'latest')
  expect(Number(timestamp)).toBeGreaterThanOrEqual(beforeSeconds - 1)
  expect(Number(timestamp)).toBeLessThan(Date.now() / 1_000 + 1)
})

test('orders survive a restart: a filled order is shown, a pending order settles under its key, and a quote stays usable', async () => {
  const dir = temporaryDirectory()
  const first = await keptIn(dir)
  const trader = await newTrader(first, { USDC: '1000000000' })
  const filled = (await submit(first, trader, await quoteFor(first, trader), 'first')).body
  const shown = await settled(first, filled.orderId)
  await admin(first, 'PUT', '/faults', { rules: [{ kind: 'lateFill', delayMs: 1_500 }] })
  const lateQuote = await quoteFor(first, trader)
  const late = (await submit(first, trader, lateQuote, 'second')).body
  const unused = await quoteFor(first, trader)
  await first.stop()

  const again = await keptIn(dir)
  expect((await rest(again, 'GET', `/orders/${filled.orderId}`)).body).toEqual(shown)
  expect((await submit(again, trader, lateQuote, 'second')).body.orderId).toBe(late.orderId)
  expect(await settled(again, late.orderId)).toMatchObject({
    status: 'filled',
    executedSellAmount: '25000000',
  })
  const last = (await submit(again, trader, unused)).body
  expect(await settled(again, last.orderId)).toMatchObject({ status: 'filled' })
  expect(await balanceOf(again, 'USDC', trader.address)).toBe(925_000_000n)
})

test('the GasTank survives a restart with its deposits and charges, and a repeated call is the landed call', async () => {
  const dir = temporaryDirectory()
  const first = await keptIn(dir)
  const account = await delegatedAccount(first, 'trusted')
  const to = first.sepolia.contracts.demoTarget
  const raw = await rawTransaction(first, account, { to, data: recordData('11') })
  const receipt = await submitAndLand(first, raw)
  const owed = await funds(first, account)
  expect(owed.outstanding).toBeGreaterThan(0n)
  await first.stop()

  const again = await keptIn(dir)
  expect(await funds(again, account)).toEqual(owed)
  expect(await submitAndLand(again, raw)).toEqual(receipt)
  const batch = await result(again, 'agg_getBatchedTransactionReceipt', [receipt.transactionHash])
  expect(batch.transactionHash).toBe(receipt.transactionHash)
  await admin(again, 'POST', '/aggregator/settle', {})
  const { balance, outstanding } = await funds(again, account)
  expect([balance, outstanding]).toEqual([owed.balance - owed.outstanding, 0n])
  const next = await rawTransaction(again, account, { to, data: recordData('22') })
  expect((await submitAndLand(again, next)).status).toBe('0x1')
})

test('a waiting call executes once after the next start', async () => {
  const dir = temporaryDirectory()
  const first = await keptIn(dir, { aggregator: { ...QUIET, window: 60_000 } })
  const account = await delegatedAccount(first, 'trusted')
  const to = first.sepolia.contracts.demoTarget
  const raw = await rawTransaction(first, account, { to, data: recordData('33') })
  const hash = await result(first, 'eth_sendRawTransaction', [raw])
  expect((await result(first, 'agg_transactionStatus', [hash])).status).toBe('queued')
  await first.stop()
  const again = await keptIn(dir)
  expect((await submitAndLand(again, raw)).status).toBe('0x1')
  const calls = (await admin(again, 'GET', '/aggregator/calls')).body
  expect(calls.filter((call: { hash: Hex }) => call.hash === hash)).toHaveLength(1)
})

test('prices survive a restart', async () => {
  const dir = temporaryDirectory()
  const first = await keptIn(dir)
  await admin(first, 'POST', '/market/step', { steps: 50 })
  const price = first.market.usdPrice('WETH')
  await first.stop()
  const again = await keptIn(dir)
  expect(again.market.usdPrice('WETH')).toBe(price)
  await admin(again, 'POST', '/market/step', {})
  expect(again.market.usdPrice('WETH')).not.toBe(price)
})
