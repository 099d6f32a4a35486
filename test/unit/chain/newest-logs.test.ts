import { describe, expect, test } from 'vitest'
import { newestLogs, type Readers } from '../../../src/chain/logs.ts'
import { RpcRefusal } from '../../../src/chain/node/batch.ts'
import type { Node } from '../../../src/chain/node/nodes.ts'

const HEAD = 1_000_000n

type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** A node that answers for at most `blocksMax` blocks per request and records the requested ranges. */
function nodeFor(blocksMax: bigint) {
  const ranges: Range[] = []
  let requests = 0
  const node = {
    async request(method: string, [filter]: readonly Record<'fromBlock' | 'toBlock', string>[]) {
      if (method === 'eth_blockNumber') return `0x${HEAD.toString(16)}`
      const range = {
        fromBlock: BigInt(filter?.fromBlock ?? 0),
        toBlock: BigInt(filter?.toBlock ?? 0),
      }
      if (range.toBlock - range.fromBlock >= blocksMax)
        throw new RpcRefusal({ code: -32_600, message: 'range too wide', data: undefined })
      ranges.push(range)
      return []
    },
  }
  const nodes = {
    read: (_reading: unknown, task: (node: Node) => unknown) => {
      requests += 1
      return task(node as unknown as Node)
    },
  } as unknown as Readers
  return { nodes, ranges, requests: () => requests }
}

function queryFor(tokens: number) {
  const filters = Array.from({ length: tokens }, (_, n) => ({
    contract: `0x${String(n).padStart(40, '0')}` as const,
    topics: [],
  }))
  return { route: 'payments', filters }
}

describe('the newest logs', () => {
  test.each([
    ['a full day on Base', 2, 2_000n, 43_200n],
    ['a week on a node limited to 1,000 blocks', 2, 1_000n, 140_000n],
    ['a month of seven tokens', 7, 2_000n, 290_000n],
    ['no tokens', 0, 2_000n, 10_000n],
  ])('are searched for %s', async (_, tokens, blocksMax, blocks) => {
    const { nodes, ranges } = nodeFor(blocksMax)
    const range = { fromBlock: HEAD - blocks + 1n, toBlock: HEAD }
    const reply = await newestLogs(nodes, queryFor(tokens), range)
    expect(reply).toEqual({ ok: true, value: { logs: [], fromBlock: range.fromBlock } })
    const searched = ranges.reduce(
      (sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1n,
      0n,
    )
    expect(searched).toBeGreaterThanOrEqual(blocks * BigInt(tokens))
  })

  test('stop at the limit of requests and return the first block covered', async () => {
    const { nodes, ranges, requests } = nodeFor(10n)
    const reply = await newestLogs(nodes, queryFor(1), { fromBlock: 1n, toBlock: HEAD })
    if (!reply.ok) throw new Error(reply.fault.message)
    const oldest = ranges.map(({ fromBlock }) => fromBlock).toSorted((a, b) => Number(a - b))[0]
    expect(reply.value.fromBlock).toBe(oldest)
    expect(reply.value.fromBlock).toBeLessThan(HEAD - 500n)
    expect(requests()).toBeLessThanOrEqual(250)
  })
})
