import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Hex, parseAbi } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { fetchRounds } from '../../../src/backtest/price-files/chain-rounds.ts'
import { csvSeries } from '../../../src/backtest/price-files/csv.ts'
import { openLargeCalls } from '../../../src/chain/node/large-calls.ts'
import { answerAt } from '../../../src/domain/money/price-series.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import { createClock } from '../../../src/system/clock.ts'
import {
  type FakeRpcNode,
  results,
  startFakeRpcNode,
  startPassingNode,
} from '../../support/chain/fake-rpc-node.ts'
import { admin, publicClientOf, sandboxForSuite } from '../../support/sandbox.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const sandbox = sandboxForSuite()
const ABI = parseAbi([
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
])
const NEVER = Number.MAX_SAFE_INTEGER

function feedOf(base: string, quote: string): Hex {
  const feed = sandbox().feeds.find((each) => each.base === base && each.quote === quote)
  return feed?.address ?? expect.unreachable(`the sandbox has no feed ${base}/${quote}`)
}

/** Adds rounds a minute apart to a feed, in one new phase per entry; the first rounds of a phase overlap the previous phase. */
async function giveRounds(feed: Hex, phases: readonly number[]) {
  const address = feed
  const [, answer, , at] = await publicClientOf(sandbox()).readContract({
    ...{ address, abi: ABI, functionName: 'latestRoundData' },
  })
  const rounds: (readonly [number, bigint])[] = [[Number(at), answer]]
  for (const [phase, count] of phases.entries()) {
    if (phase > 0) await admin(sandbox(), 'POST', '/feed/phase', { feed })
    const last = rounds.at(-1)?.[0] ?? 0
    for (let n = phase > 0 ? -2 : 1; n <= count; n += 1) {
      const time = last + n * 60
      const round = { answer: `${time}`, startedAt: time, updatedAt: time }
      expect((await admin(sandbox(), 'PUT', '/feed', { feed, ...round })).status).toBe(200)
      if (n > 0) rounds.push([time, BigInt(time)])
    }
  }
  return rounds
}

/** Fetches all rounds of a feed through these nodes. */
async function fetchThrough(rpcUrls: readonly string[], feed: Hex, signal?: AbortSignal) {
  const clock = createClock()
  const calls = openLargeCalls({ chainId: sandbox().chainId, rpcUrls, clock })
  const file = join(temporaryDirectory(), 'rounds.csv')
  try {
    const fetched = await fetchRounds({
      ...{ call: calls.call, clock, chainId: sandbox().chainId, feed: feed as Address },
      ...{ fromSeconds: 0, toSeconds: NEVER, file, batch: 50 },
      signal: signal ?? new AbortController().signal,
    })
    return { fetched, file }
  } finally {
    await Promise.all([calls.close(), clock.close()])
  }
}

async function aNode(started: Promise<FakeRpcNode>): Promise<FakeRpcNode> {
  const node = await started
  onTestFinished(() => node.close())
  return node
}

test.each([
  ['WETH', 'USDC', 'reverts'],
  ['WETH', 'DAI', 'answers zeros'],
])(
  'all rounds of %s/%s over three phases are read when the feed %s for absent rounds',
  async (base, quote) => {
    const feed = feedOf(base, quote)
    const rounds = await giveRounds(feed, [70, 0, 20])
    const { fetched, file } = await fetchThrough([sandbox().rpcUrl], feed)
    expect(fetched).toMatchObject({ end: { tag: 'whole' }, added: rounds.length, skipped: 0 })
    const read = [...csvSeries({ file, pair: 'A/B' }).rounds()].flatMap((piece) =>
      Array.from(piece.atSeconds, (at, index) => [at, answerAt(piece, index)] as const),
    )
    expect(read).toEqual(rounds)
  },
)

test('nodes that are down, on another chain, or refuse large requests fall back to each other', async () => {
  const feed = feedOf('AERO', 'WETH')
  const rounds = await giveRounds(feed, [40])
  const elsewhere = await aNode(
    startFakeRpcNode(results(({ method }) => (method === 'eth_chainId' ? '0x1' : '0x'))),
  )
  const small = await aNode(startPassingNode(sandbox().rpcUrl))
  const pass = small.answer
  small.answer = (batch, exchange) => {
    const isLarge = JSON.stringify(batch).length > 6_000
    if (!isLarge) return pass(batch, exchange)
    return batch.map(({ id, method }) => ({
      ...{ jsonrpc: '2.0', id },
      ...(method === 'eth_call'
        ? { error: { code: -32000, message: 'out of gas' } }
        : { result: `0x${sandbox().chainId.toString(16)}` }),
    }))
  }
  const urls = ['http://127.0.0.1:9', elsewhere.url, small.url]
  const { fetched, file } = await fetchThrough(urls, feed)
  expect(fetched).toMatchObject({ end: { tag: 'whole' }, added: rounds.length })
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(2)
  expect(lines.map((line) => Number(line.split(',')[0]))).toEqual(rounds.map(([at]) => at))
})

test('an address without a feed, and nodes all on another chain, are reported', async () => {
  const { fetched } = await fetchThrough([sandbox().rpcUrl], sandbox().contracts.multicall3)
  expect(fetched.end).toMatchObject({ tag: 'unread' })
  const elsewhere = await aNode(
    startFakeRpcNode(results(({ method }) => (method === 'eth_chainId' ? '0x1' : '0x'))),
  )
  const other = await fetchThrough([elsewhere.url], feedOf('WETH', 'USDC'))
  expect(other.fetched.end).toEqual({
    tag: 'unread',
    message: expect.stringMatching(/^the chain cannot be read: node 1 of 1: .*chain 1/),
  })
})
