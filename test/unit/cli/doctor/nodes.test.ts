import { describe, expect, test } from 'vitest'
import type { MetNode, NodeHistory, NodeInspection } from '../../../../src/chain/inspection.ts'
import type { NodeLimits } from '../../../../src/chain/node/nodes.ts'
import { checkChain } from '../../../../src/cli/commands/doctor/check-chains.ts'
import { NOON_SECONDS } from '../../../support/builders.ts'
import { findings, verdicts } from './verdicts.ts'

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
  newLogs: true,
  oldLogs: true,
  oldLogsFrom: 400_000n,
}
const UNLIMITED = { batch: undefined, logBlocks: undefined }

function aNode(
  n: number,
  met: Partial<MetNode> = {},
  history: Partial<NodeHistory> = {},
  hash: `0x${string}` = '0xaa',
  limits: Partial<NodeLimits> = {},
): NodeInspection {
  return {
    label: `node ${n} of 2`,
    met: { ok: true, value: { ...MET, ...met } },
    history: { ok: true, value: { ...HISTORY, ...history } },
    limits: { ...UNLIMITED, ...limits },
    common: { number: HISTORY.finalNumber, hash },
  }
}

function silent(n: number): NodeInspection {
  const message = `node ${n} of 2: could not be reached (ECONNREFUSED)`
  return {
    label: `node ${n} of 2`,
    met: { ok: false, fault: { tag: 'unavailable', message } },
    history: undefined,
    limits: UNLIMITED,
    common: undefined,
  }
}

function check(nodes: readonly NodeInspection[], agree = 1) {
  return checkChain({ chain: { ...CHAIN, agree }, nodes, nowMs: NOON_SECONDS * 1_000 })
}

describe('nodes of a chain', () => {
  test('nodes that agree pass, and the archive node is named', () => {
    const checks = check([aNode(1), aNode(2, {}, { firstState: 'missing trie node' })])
    expect(verdicts(checks)).toEqual([
      ...['fine node', 'fine node-history', 'fine node', 'fine node-history', 'fine nodes-agree'],
    ])
    expect(checks.map(({ says }) => says).join('\n')).toMatch(/archive.*\n.*\n.*recent state/)
  })

  test('a silent node is a warning while another node answers, and a fault otherwise', () => {
    expect(findings(check([silent(1), aNode(2)]))).toEqual([
      'warning node: base, node 1 of 2: could not be reached (ECONNREFUSED) -> check that it runs, or name another in `chains.base.rpcUrls`',
    ])
    expect(verdicts(check([silent(1), silent(2)]))).toEqual(['fault node', 'fault node'])
  })

  test('fewer nodes than the quorum are a fault', () => {
    expect(verdicts(check([silent(1), aNode(2)], 2))).toContain('fault nodes-agree')
  })

  test('a node of another chain is named with both chain ids', () => {
    const node = { ...aNode(1, { chainId: 1 }), history: undefined, common: undefined }
    expect(findings(check([node]))).toEqual([
      'fault node-chain: base, node 1 of 2 serves chain 1, but the config says 8453 -> correct `chains.base.chainId`, or its `rpcUrls`',
    ])
  })

  test.each([
    ['behind', -600, /the newest block is 600 s old.*the node is behind/],
    ['ahead', 30, /clock differs from this machine's by 30000 ms.*one of the clocks is wrong/],
  ] as const)('a node that is %s is detected by its newest block', (_, seconds, message) => {
    const [finding, ...more] = findings(check([aNode(1, { headSeconds: NOON_SECONDS + seconds })]))
    expect([finding, more]).toEqual([expect.stringMatching(message), []])
  })

  test('a slow node is a warning', () => {
    expect(verdicts(check([aNode(1, { latencyMs: 1_500 })]))).toContain('warning node-latency')
  })

  test.each([
    [
      'a node without state at final blocks',
      { finalState: 'node 1 of 2: error -32000: pruned' },
      'fault',
    ],
    [
      'a node without logs as old as a search needs',
      { oldLogs: 'does not have block 4' },
      'warning',
    ],
  ] as const)('%s', (_, history, verdict) => {
    const found = findings(check([aNode(1, {}, history)]))
    expect(found).toEqual([
      expect.stringMatching(new RegExp(`^${verdict} node-history: base, node`)),
    ])
    expect(found[0]).not.toMatch(/node 1 of 2: error/)
  })

  test('a node that refuses batches is reported with its own message and passes otherwise', () => {
    const refused = { kind: 'batch', size: 6, message: 'Batch of more than 3' } as const
    const node = aNode(1, {}, {}, '0xaa', { batch: { size: 3, refused } })
    expect(findings(check([node]))).toEqual([
      'warning node-batch: base, node 1 of 2 refuses a batch of 6 requests and accepts 3: Batch of more than 3 -> reads work but take longer: name a node or plan with larger batches in `chains.base.rpcUrls`',
    ])
  })

  test('a node that limits the block range is reported with the number of requests, and a generous limit passes', () => {
    const refused = { kind: 'range', size: 2_000, message: 'a 10 block range' } as const
    const node = (size: number) => aNode(1, {}, {}, '0xaa', { logBlocks: { size, refused } })
    expect(findings(check([node(10)]))).toEqual([
      'warning node-logs: base, node 1 of 2 answers eth_getLogs for 10 blocks at once, but refuses 2000: a 10 block range -> a search of 1800 blocks takes 180 requests: name a node or plan in `chains.base.rpcUrls` that allows more',
    ])
    expect(findings(check([node(100)]))).toEqual([])
  })

  test('a node without eth_getLogs is a fault, and a warning while enough others have it', () => {
    const message = 'node 1 of 2: error -32601: does not exist'
    const mute = aNode(1, {}, { newLogs: message, oldLogs: message })
    expect(findings(check([mute]))).toEqual([
      expect.stringMatching(
        /^fault node-logs: base, node 1 of 2 does not answer eth_getLogs: error -32601: does not exist -> fills cannot be searched there/,
      ),
    ])
    expect(verdicts(check([mute, aNode(2)]))).toContain('warning node-logs')
    expect(verdicts(check([mute, aNode(2)], 2))).toContain('fault node-logs')
  })

  test('a node without a final block is a fault that names the setting', () => {
    const fault = { tag: 'unavailable', message: 'node 1 of 2: knows no safe block' } as const
    const node: NodeInspection = { ...aNode(1), history: { ok: false, fault }, common: undefined }
    expect(findings(check([node]))).toEqual([
      expect.stringMatching(
        /^fault node-history: .*knows no safe block -> .*chains\.base\.finality/,
      ),
    ])
  })

  test('nodes with different blocks at a final height are a fault', () => {
    expect(findings(check([aNode(1), aNode(2, {}, {}, '0xbb')]))).toEqual([
      expect.stringMatching(
        /^fault nodes-agree: base: the nodes have different blocks at the final height 499968/,
      ),
    ])
  })
})
