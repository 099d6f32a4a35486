import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runFetch } from '../../../../src/cli/commands/backtest/fetch.ts'
import type { FetchData } from '../../../../src/cli/json/backtest-outputs.ts'
import type { Io } from '../../../../src/cli/process/io.ts'
import type { Hex } from '../../../../src/domain/money/units.ts'
import { type FakeRpcNode, startFakeRpcNode } from '../../../support/chain/fake-rpc-node.ts'
import { failureOf, outputOf } from '../../../support/output-of.ts'
import { FakeFeed } from '../../backtest/price-files/fake-feed.ts'
import { printed } from '../reading-fixture.ts'
import { aFolder, FROM_SECONDS, HOUR, hour } from './backtest-fixture.ts'

const WETH = '0x71041dddad3595f9ced3dccfbe3d1f4b0a16bb70'
const DAI = `0x${'00'.repeat(19)}bb`

type Calls = readonly [{ readonly data: Hex }]

/** A Base node that answers for these feeds. */
async function aNode(feeds: Readonly<Record<string, FakeFeed>>): Promise<FakeRpcNode> {
  const node = await startFakeRpcNode(async (batch) =>
    Promise.all(
      batch.map(async ({ id, method, params }) => {
        if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: '0x2105' }
        const [{ data }] = params as Calls
        const [, feed] = Object.entries(feeds).find(([at]) => data.includes(at.slice(2))) ?? []
        const reply = await feed?.call(data)
        if (reply?.ok) return { jsonrpc: '2.0', id, result: reply.value }
        return { jsonrpc: '2.0', id, error: { code: -32000, message: 'execution reverted' } }
      }),
    ),
  )
  onTestFinished(() => node.close())
  return node
}

async function aScene() {
  const [weth, dai] = [new FakeFeed(), new FakeFeed()]
  weth.add(1n, 48, FROM_SECONDS, HOUR)
  dai.add(1n, 3, hour(20), HOUR)
  const node = await aNode({ [WETH]: weth, [DAI]: dai })
  const folder = aFolder({}, 10)
  const config = join(folder.dir, 'config.yaml')
  writeFileSync(config, readFileSync(config, 'utf8').replace('https://rpc.example', node.url))
  let interrupt = (): void => undefined
  const onSignal: Io['onSignal'] = (listener) => {
    interrupt = () => listener('SIGINT')
    return () => undefined
  }
  const { prices } = folder
  const type = (
    pairs: readonly string[] = [],
    more: { json?: boolean; [name: string]: unknown } = {},
  ) =>
    printed(
      (io) =>
        runFetch(
          pairs,
          { config, prices, from: FROM_SECONDS * 1000, to: hour(40) * 1000, ...more },
          { ...io, onSignal },
          hour(50) * 1000,
        ),
      { json: more.json === true },
    )
  const file = join(prices, 'WETH-USDC.csv')
  return { ...folder, ...{ weth, dai, node, type, file }, interrupt: () => interrupt() }
}

test('prices of all feeds are fetched, and a backtest plays them', async () => {
  const { type, report, file, prices } = await aScene()
  const { code, stdout } = await type()
  expect(code).toBe(0)
  expect(stdout.split('\n')).toEqual([
    `WETH/USDC  ${file}  2025-01-01 00:00 to 2025-01-02 16:00; 41 rounds written`,
    `DAI/USDC  ${prices}/DAI-USDC.csv  2025-01-01 20:00 to 2025-01-01 22:00; 3 rounds written`,
    'prices of 2 feeds are complete',
    '',
  ])
  const data = await report()
  expect(data.prices).toEqual([{ pair: 'WETH/USDC', source: file, rounds: 11 }])
  expect(data.strategies[0]?.filled).toBe(11)
  const again = outputOf<FetchData>('backtest fetch', (await type([], { json: true })).stdout)
  expect(again.feeds.map(({ added, end }) => [added, end])).toEqual([
    [0, 'whole'],
    [0, 'whole'],
  ])
})

test('a named pair is fetched alone, and a pair missing from the config is rejected', async () => {
  const { type, prices } = await aScene()
  expect((await type(['DAI/USDC'])).stdout).toMatch(
    /^DAI\/USDC .*\nprices of 1 feed are complete\n$/,
  )
  expect(existsSync(join(prices, 'WETH-USDC.csv'))).toBe(false)
  const { code, stderr } = await type(['WETH/USDT'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/^backtest fetch: --pair: .*WETH\/USDT.*WETH\/USDC/)
})

test('a period that ends before it begins, or has no beginning, is rejected', async () => {
  const { type } = await aScene()
  for (const more of [{ from: hour(60) * 1000, to: undefined }, { to: hour(-1) * 1000 }]) {
    const { code, stderr } = await type([], more)
    expect([code, stderr]).toEqual([2, expect.stringMatching(/ends before it begins/)])
  }
  const { stdout } = await type([], { from: undefined, json: true })
  expect(failureOf(stdout).message).toMatch(/--from: no start of the period is given/)
})

test('an unreadable feed gives exit code 1 and leaves the other feeds intact', async () => {
  const { type, weth, file } = await aScene()
  weth.past = 'newest'
  const { code, stdout } = await type([], { json: true })
  const { feeds, message, ok } = outputOf<FetchData>('backtest fetch', stdout)
  expect([code, ok]).toEqual([1, false])
  expect(feeds.map(({ end, added }) => [end, added])).toEqual([
    ['unread', 0],
    ['whole', 3],
  ])
  expect(feeds[0]).toMatchObject({ fromAt: null, detail: expect.stringMatching(/no past rounds/) })
  expect(message).toMatch(/^WETH\/USDC could not be read to the end/)
  expect(existsSync(file)).toBe(false)
})

test('a signal stops the fetch after whole lines, and the same command continues there', async () => {
  const { type, weth, file, interrupt } = await aScene()
  weth.most = 9
  weth.onCall = () => {
    if (existsSync(file) && readFileSync(file, 'utf8').split('\n').length > 10) interrupt()
  }
  const stopped = await type([], { json: true })
  const data = outputOf<FetchData>('backtest fetch', stopped.stdout)
  expect([stopped.code, data.ok, data.message]).toEqual([
    ...[1, false],
    'stopped; the same command continues from there',
  ])
  expect(data.feeds).toEqual([expect.objectContaining({ pair: 'WETH/USDC', end: 'stopped' })])
  const text = readFileSync(file, 'utf8')
  expect(text.endsWith('\n')).toBe(true)
  weth.onCall = () => undefined
  const { stdout } = await type()
  expect(stdout).toMatch(/2025-01-01 00:00 to 2025-01-02 16:00; \d\d rounds written/)
  expect(readFileSync(file, 'utf8').startsWith(text)).toBe(true)
})

test('a foreign file is reported with its location and left unchanged', async () => {
  const { type, file } = await aScene()
  writeFileSync(file, 'time,price\n1735689600,2000\n')
  const { code, stdout } = await type([], { json: true })
  expect(code).toBe(78)
  expect(failureOf(stdout).problems).toEqual([
    expect.objectContaining({
      ...{ file, line: 1 },
      message: 'the file is not one that `tranched backtest fetch` has written',
      expected: expect.stringMatching(/^rounds of 0x.* move the file away, or name another/),
    }),
  ])
})
