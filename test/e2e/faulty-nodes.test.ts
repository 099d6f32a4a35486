import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { type Refusals, startRefusingNode } from '../support/chain/refusing-node.ts'
import { ROOT } from '../support/process/cli.ts'
import { startHidingNode } from '../support/process/hiding-node.ts'
import { waitFor } from '../support/wait-for.ts'
import { all, audit } from './audit.ts'
import {
  everySecond,
  nodeCall,
  ordersOf,
  type Rehearsal,
  redirect,
  startRehearsal,
  startRehearsalInside,
} from './rehearsal.ts'

async function behindNode(rehearsal: Rehearsal) {
  const { report, config } = rehearsal
  const node = await startHidingNode(report.rpcUrl)
  redirect(config, { gaslessUrl: report.gaslessUrl, rpcUrl: node.url })
  return node
}

function tokenOf({ config }: Rehearsal, symbol: string): Address {
  return parse(readFileSync(config, 'utf8')).tokens[symbol].address.toLowerCase()
}

test('an approval that the node calls underpriced gets a higher fee, and its order goes on', async () => {
  const rehearsal = await startRehearsal(
    everySecond('buy-weth', {
      schedule: { cron: '* * * * * *', missed: 'skip', maxLateness: '5m' },
      limits: { perDay: '100000', maxOpenIntents: 1 },
    }),
  )
  const node = await behindNode(rehearsal)
  node.isDear = true
  const daemon = rehearsal.daemon()
  await waitFor('three refusals', () => node.refused > 2)
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  const fees = all(audited.events, 'transaction-recorded').map(
    ({ transaction }) => transaction.maxFeePerGas,
  )
  expect(fees.length).toBe(2)
  expect(fees[1]).toBeGreaterThan(fees[0] ?? 0n)
})

test('an unreadable balance within a batch skips a balanced portfolio and sells nothing of it', async () => {
  const text = readFileSync(join(ROOT, 'strategies/sandbox/rebalance.yaml'), 'utf8')
  // Ten million of each, at prices of 1.25 and 1.
  const balanced = text
    .replace('AERO: 50%, DAI: 50%', 'AERO: 55.5%, DAI: 44.5%')
    .replace('*/10', '*/2')
    .replace('band: 0.2%', 'band: 5%')
  const rehearsal = await startRehearsal({ rebalance: balanced })
  const node = await behindNode(rehearsal)
  node.unread = [tokenOf(rehearsal, 'DAI')]
  const daemon = rehearsal.daemon()
  await daemon.sees(/skipped rebalance[^\n]*the balance of DAI could not be read/)
  node.unread = []
  await daemon.sees(/skipped rebalance[^\n]*inside-band/)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  const closed = all(audited.events, 'slot-closed').map(({ reason }) => reason)
  expect([...new Set(closed)]).toEqual(['balance-unreadable', 'inside-band'])
})

/** Zero-value transfers out of a wallet, which anyone can make. */
async function spam({ report }: Rehearsal, token: Address, count: number): Promise<void> {
  const from = `0x${'5a'.repeat(20)}`
  await nodeCall(report, 'anvil_impersonateAccount', [from]).catch(() => undefined)
  await nodeCall(report, 'anvil_setBalance', [from, `0x${(10n ** 18n).toString(16)}`]).catch(
    () => undefined,
  )
  const data = encodeFunctionData({
    abi: parseAbi(['function transferFrom(address from, address to, uint256 amount)']),
    args: [report.trader as Address, from as Address, 0n],
  })
  for (let n = 0; n < count; n += 1)
    await nodeCall(report, 'eth_sendTransaction', [{ from, to: token, data, gas: '0x186a0' }])
}

test('a one-shot take-profit does not repeat while the node hides its fill, nor behind zero-value transfers', async () => {
  const text = readFileSync(join(ROOT, 'strategies/sandbox/threshold.yaml'), 'utf8')
  const once = text
    .replace('"3001"', '"101"')
    .replace('stopLoss: "2999"', 'once: true')
    .replace('rearm: 0.05%\n', '')
  const rehearsal = await startRehearsalInside(
    { threshold: once },
    { gasless: { quoteLifetime: 14 } },
  )
  const node = await behindNode(rehearsal)
  await rehearsal.fault([
    { kind: 'notFoundYet', forMs: 3_600_000 },
    { kind: 'lateFill', delayMs: 4_000 },
  ])
  const daemon = rehearsal.daemon()
  await daemon.sees(/placed threshold/)
  node.isHiding = true
  await spam(rehearsal, tokenOf(rehearsal, 'WETH'), 120)
  const order = await waitFor('a fill', async () =>
    (await ordersOf(rehearsal.report)).find(({ status }) => status === 'filled'),
  )
  // Past the permit's deadline, and past any wait that could follow it.
  await waitFor('the permit to be over', async () => {
    const { timestamp } = await nodeCall<{ timestamp: string }>(
      rehearsal.report,
      'eth_getBlockByNumber',
      ['latest', false],
    )
    return Number(timestamp) > order.deadline + 10
  })
  const hidden = node.hidden
  await waitFor('more searches in vain', () => node.hidden > hidden + 5)
  expect(daemon.output()).not.toMatch(/permit-cancelled|filled threshold/)
  node.isHiding = false
  await daemon.sees(/filled threshold/)
  await daemon.sees(/skipped threshold[^\n]*finished/)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  expect([audited.orders.length, audited.fills]).toEqual([1, 1])
})

async function behindRefusingNode(rehearsal: Rehearsal, refusals: Refusals) {
  const { report, config } = rehearsal
  const node = await startRefusingNode(report.rpcUrl, refusals)
  onTestFinished(() => node.close())
  redirect(config, { gaslessUrl: report.gaslessUrl, rpcUrl: node.url })
  return node
}

test.each([
  [
    'three, by HTTP 500',
    { batchMax: 3, batchStatus: 500 },
    /a batch of \d+ requests, and gets [23] at once from now on: answered HTTP 500: Batch of more/,
  ],
  ['three, by HTTP 200', { batchMax: 3 }, /Batch of more than 3 requests are not allowed/],
  [
    'none',
    { batchMax: 0 },
    /a batch of \d+ requests, and gets 1 at once from now on: refused the batch: Invalid/,
  ],
] as const)(
  'orders fill on a node that takes batches of %s, and the limit is logged once',
  async (_, refusals, pattern) => {
    const rehearsal = await startRehearsal(everySecond('buy-weth'))
    const node = await behindRefusingNode(rehearsal, refusals)
    const daemon = rehearsal.daemon()
    await daemon.sees(/filled buy-weth/, 7)
    expect((await daemon.stop()).code).toBe(0)
    expect(daemon.output()).toMatch(pattern)
    expect(daemon.counts(/refuses a batch of/)).toBe(1)
    expect(daemon.output()).not.toMatch(/chain failure/)
    const refused = node.batches.filter(({ length }) => length > Math.max(1, refusals.batchMax))
    expect(refused.length).toBeLessThan(node.batches.length / 10)
    const audited = await audit(rehearsal)
    expect(audited.discrepancies).toEqual([])
  },
)

/** The service accepts orders but never reports a result, so fills are searched in the wallet's logs. */
const SILENT_SERVICE = [
  { kind: 'dropAfter', route: 'orders' },
  { kind: 'errorBefore', route: 'order' },
] as const

test('log searches find fills in steps of three blocks on a node that refuses larger ranges with HTTP 400', async () => {
  const rehearsal = await startRehearsal(everySecond('buy-weth'))
  const node = await behindRefusingNode(rehearsal, { logBlocksMax: 3, logStatus: 400 })
  await rehearsal.fault(SILENT_SERVICE)
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/, 4)
  expect((await daemon.stop()).code).toBe(0)
  expect(daemon.output()).toMatch(
    /refuses eth_getLogs for \d+ blocks, and is asked for 3 at once from now on: [^\n]*up to a 3 block range/,
  )
  expect(node.counted.answeredLogs).toBeGreaterThan(node.counted.refusedLogs)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
})

test('a node without eth_getLogs is queried once per search and named with its own error text', async () => {
  const rehearsal = await startRehearsal(everySecond('buy-weth'))
  const node = await behindRefusingNode(rehearsal, { logBlocksMax: 0 })
  await rehearsal.fault(SILENT_SERVICE)
  const daemon = rehearsal.daemon()
  await daemon.sees(/chain failure while searching a fill: [^\n]*eth_getLogs does not exist/)
  const searches = await waitFor(
    'more than ten searches',
    () => node.batches.flat().filter(({ method }) => method === 'eth_getLogs'),
    ({ length }) => length > 10,
  )
  expect(daemon.counts(/chain failure while searching a fill/)).toBe(1)
  const ends = new Map<string, number>()
  for (const { params } of searches) {
    const { fromBlock = '', toBlock } = params[0] as { fromBlock?: string; toBlock?: string }
    // A later search of the same order reaches further; a smaller step would not.
    expect(Number(toBlock)).toBeGreaterThanOrEqual(ends.get(fromBlock) ?? 0)
    ends.set(fromBlock, Number(toBlock))
  }
  node.refusals = {}
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
})
