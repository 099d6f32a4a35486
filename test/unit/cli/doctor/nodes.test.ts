import { describe, expect, test } from 'vitest'
import type { MetNode, NodeHistory, NodeSight } from '../../../../src/adapters/chain/inspection.ts'
import { judgeChain } from '../../../../src/cli/commands/doctor/judge/nodes.ts'
import { NOON_SECONDS } from '../../../support/builders.ts'
import { troubles, verdicts } from './verdicts.ts'

const CHAIN = { name: 'base', chainId: 8453, agree: 1 }
const MET: MetNode = {
  chainId: 8453,
  genesisHash: '0x01',
  headNumber: 500_000n,
  headSeconds: NOON_SECONDS - 2,
  latencyMs: 12,
}
const HISTORY: NodeHistory = {
  finalNumber: 499_968n,
  finalState: true,
  firstState: true,
  oldLogs: true,
  oldLogsFrom: 400_000n,
}

function aNode(
  n: number,
  met: Partial<MetNode> = {},
  history: Partial<NodeHistory> = {},
  hash: `0x${string}` = '0xaa',
): NodeSight {
  return {
    label: `node ${n} of 2`,
    met: { ok: true, value: { ...MET, ...met } },
    history: { ok: true, value: { ...HISTORY, ...history } },
    common: { number: HISTORY.finalNumber, hash },
  }
}

function silent(n: number): NodeSight {
  const message = `node ${n} of 2: could not be reached (ECONNREFUSED)`
  return {
    label: `node ${n} of 2`,
    met: { ok: false, fault: { tag: 'unavailable', message } },
    history: undefined,
    common: undefined,
  }
}

function judge(nodes: readonly NodeSight[], agree = 1) {
  return judgeChain({ chain: { ...CHAIN, agree }, nodes, nowMs: NOON_SECONDS * 1_000 })
}

describe('nodes of a chain', () => {
  test('that answer alike are fine, and the archive is named', () => {
    const checks = judge([aNode(1), aNode(2, {}, { firstState: 'missing trie node' })])
    expect(verdicts(checks)).toEqual([
      ...['fine node', 'fine node-history', 'fine node', 'fine node-history', 'fine nodes-agree'],
    ])
    expect(checks.map(({ says }) => says).join('\n')).toMatch(/archive.*\n.*\n.*recent state/)
  })

  test('one that does not answer is a warning while another does, and a fault without', () => {
    expect(troubles(judge([silent(1), aNode(2)]))).toEqual([
      'warning node: base, node 1 of 2: could not be reached (ECONNREFUSED) -> look whether it runs, or name another in `chains.base.rpcUrls`',
    ])
    expect(verdicts(judge([silent(1), silent(2)]))).toEqual(['fault node', 'fault node'])
  })

  test('fewer than have to agree are a fault', () => {
    expect(verdicts(judge([silent(1), aNode(2)], 2))).toContain('fault nodes-agree')
  })

  test('one of another chain is named with both ids', () => {
    const node = { ...aNode(1, { chainId: 1 }), history: undefined, common: undefined }
    expect(troubles(judge([node]))).toEqual([
      'fault node-chain: base, node 1 of 2 serves chain 1, the config says 8453 -> correct `chains.base.chainId`, or its `rpcUrls`',
    ])
  })

  test.each([
    ['behind', -600, /the newest block is 600 s old.*it is behind/],
    ['ahead', 30, /clock differs from this machine's by 30000 ms.*one of the clocks is wrong/],
  ] as const)('one that is %s is told by its newest block', (_, seconds, words) => {
    const [trouble, ...more] = troubles(judge([aNode(1, { headSeconds: NOON_SECONDS + seconds })]))
    expect([trouble, more]).toEqual([expect.stringMatching(words), []])
  })

  test('one that is slow is a warning', () => {
    expect(verdicts(judge([aNode(1, { latencyMs: 1_500 })]))).toContain('warning node-latency')
  })

  test.each([
    [
      'no state where blocks are final',
      { finalState: 'node 1 of 2: error -32000: pruned' },
      'fault',
    ],
    ['no logs so far back as a search goes', { oldLogs: 'does not have block 4' }, 'warning'],
  ] as const)('%s', (_, history, verdict) => {
    const found = troubles(judge([aNode(1, {}, history)]))
    expect(found).toEqual([
      expect.stringMatching(new RegExp(`^${verdict} node-history: base, node`)),
    ])
    expect(found[0]).not.toMatch(/node 1 of 2: error/)
  })

  test('one that knows no final block is a fault that names the setting', () => {
    const fault = { tag: 'unavailable', message: 'node 1 of 2: knows no safe block' } as const
    const node: NodeSight = { ...aNode(1), history: { ok: false, fault }, common: undefined }
    expect(troubles(judge([node]))).toEqual([
      expect.stringMatching(
        /^fault node-history: .*knows no safe block -> .*chains\.base\.finality/,
      ),
    ])
  })

  test('that have different blocks at a final height are a fault', () => {
    expect(troubles(judge([aNode(1), aNode(2, {}, {}, '0xbb')]))).toEqual([
      expect.stringMatching(
        /^fault nodes-agree: base: the nodes have different blocks at height 499968/,
      ),
    ])
  })
})
