import { afterEach, describe, expect, test } from 'vitest'
import { foundLogs, newestLogs } from '../../../src/chain/logs.ts'
import { type Nodes, openNodes } from '../../../src/chain/node/nodes.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import {
  type BatchItem,
  type FakeRpcNode,
  startFakeRpcNode,
} from '../../support/chain/fake-rpc-node.ts'
import { WORDINGS, type Wording } from '../../support/chain/node-refusals.ts'

const HEAD = 5_000_000n
const CHAIN_ID = 8453
const CONTRACT = `0x${'11'.repeat(20)}` as const

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Span = { readonly from: number; readonly to: number }
const widthOf = ({ from, to }: Span): number => to - from + 1

type Rules = {
  /** Message of a refusal; `NN` becomes the maximum number of blocks. */
  readonly wording: Wording
  /** Maximum number of blocks per eth_getLogs. Default: unlimited. */
  blocksMax?: number
  /** Maximum number of logs per answer; each block has one log. Default: unlimited. */
  logsMax?: number
  /** Refuses every range that reaches this block or a later one. */
  readonly sealedFrom?: number
}

type Rig = {
  readonly node: FakeRpcNode
  readonly nodes: Nodes
  readonly rules: Rules
  readonly refused: Span[]
  readonly answered: Span[]
  readonly notes: string[]
  nowMs: number
}

/** A node that refuses by rules: with HTTP 200 each request separately, otherwise the whole body with one error, as gateways do. */
async function rigOf(rules: Rules): Promise<Rig> {
  const [refused, answered, notes]: [Span[], Span[], string[]] = [[], [], []]
  const { code, message, data, status = 200 } = rules.wording
  const isRefused = (span: Span): boolean =>
    widthOf(span) > Math.min(rules.blocksMax ?? Infinity, rules.logsMax ?? Infinity) ||
    span.to >= (rules.sealedFrom ?? Infinity)
  const node = await startFakeRpcNode((batch, { response }) => {
    const refusal = message.replace('NN', `${rules.blocksMax ?? rules.logsMax}`)
    const error = { code, message: refusal, data }
    const answers = batch.map((item) => {
      const { id, method } = item
      if (method !== 'eth_getLogs')
        return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x2105' : hexOf(HEAD) }
      const span = spanOf(item)
      if (isRefused(span)) refused.push(span)
      else answered.push(span)
      return isRefused(span) ? { jsonrpc: '2.0', id, error } : { jsonrpc: '2.0', id, result: [] }
    })
    if (status === 200 || answers.every((answer) => 'result' in answer)) return answers
    response.statusCode = status
    return { jsonrpc: '2.0', id: null, error }
  })
  const rig = { node, rules, refused, answered, notes, nowMs: 0 }
  const nodes = openNodes({
    ...{ urls: [node.url], chainId: CHAIN_ID, clock: { now: () => rig.nowMs } },
    observe: (event: RuntimeEvent) => event.type === 'service-note' && notes.push(event.note),
  })
  cleanups.push(
    () => node.close(),
    () => nodes.close(),
  )
  return Object.assign(rig, { nodes })
}

const hexOf = (n: bigint | number): string => `0x${n.toString(16)}`

function spanOf({ params: [filter] }: BatchItem): Span {
  const { fromBlock, toBlock } = filter as Readonly<Record<'fromBlock' | 'toBlock', string>>
  return { from: Number(fromBlock), to: Number(toBlock) }
}

/** Runs a search over the newest blocks and returns its last reply. */
async function search({ nodes }: Rig, blocks: number, filters = 1) {
  const filter = { contract: CONTRACT, topics: [] }
  let last: { readonly ok: boolean; readonly fault?: { readonly message: string } } | undefined
  for await (const found of foundLogs(nodes, {
    ...{ route: 'outgoing', filters: new Array(filters).fill(filter), atLeastBlock: 0n },
    ...{ fromBlock: HEAD - BigInt(blocks) + 1n, untilSeconds: 4e9 },
  }))
    last = found
  return last?.ok === true ? 'searched' : last?.fault?.message
}

/** Number of answered blocks, each counted once. */
function covered({ answered }: Rig): number {
  const spans = answered.toSorted((a, b) => a.from - b.from)
  for (const [n, { from }] of spans.entries())
    expect(from).toBe(n === 0 ? from : (spans[n - 1]?.to ?? 0) + 1)
  return spans.reduce((sum, span) => sum + widthOf(span), 0)
}

const of = (...kinds: readonly Wording['kind'][]) =>
  WORDINGS.filter(({ kind }) => kinds.some((each) => each === kind)).map(
    (each) => [each.provider, each.message, each] as const,
  )
const PLAIN = { provider: 'any', kind: 'range', code: -32600, message: 'range' } as const

describe('a search', () => {
  test.each(of('range', 'results', 'limit'))(
    'finishes in smaller steps on a node that refuses (%s) "%s"',
    async (_, message, wording) => {
      const rig = await rigOf({ wording, blocksMax: 100 })
      expect(await search(rig, 1_800)).toBe('searched')
      expect(covered(rig)).toBe(1_800)
      expect(rig.refused.length).toBeLessThan(12)
      const quoted = message.slice(0, 40)
      expect(rig.notes[0]).toMatch(
        /^node 1 of 1 refuses eth_getLogs for \d+ blocks, and is asked for \d+ at once/,
      )
      expect(rig.notes[0]).toContain(quoted)
    },
  )

  test.each(of('missing'))(
    'ends with the first refusal if smaller steps cannot help (%s): "%s"',
    async (_, message, wording) => {
      const rig = await rigOf({ wording, blocksMax: 0 })
      expect(await search(rig, 1_800)).toContain(message.slice(0, 40))
      expect(rig.refused).toHaveLength(1)
    },
  )

  test.each(of('pace'))(
    'keeps its step size after a rate limit (%s): "%s"',
    async (_, message, wording) => {
      const rig = await rigOf({ wording, blocksMax: 0 })
      expect(await search(rig, 1_800)).toContain(
        `node 1 of 1: is limiting us: ${message.slice(0, 40)}`,
      )
      expect(rig.refused).toHaveLength(1)
    },
  )

  test('of an hour of Base takes 180 requests at ten blocks each, and 360 at five', async () => {
    for (const [blocksMax, requests] of [
      [10, 180],
      [5, 360],
    ] as const) {
      const wording = { ...PLAIN, message: 'requests with up to a NN block range' }
      const rig = await rigOf({ wording, blocksMax })
      expect(await search(rig, 1_800)).toBe('searched')
      expect(covered(rig)).toBe(1_800)
      expect(rig.answered.length - requests).toBeLessThan(5)
      expect(rig.refused.length).toBeLessThan(5)
      // A dozen requests share a batch.
      expect(rig.node.batches.length).toBeLessThan(requests / 12 + 15)
    }
  })

  test.each([10, 7, 3, 1])(
    'finishes on a node that answers for %i blocks and states no limit',
    async (blocksMax) => {
      const rig = await rigOf({ wording: PLAIN, blocksMax })
      expect(await search(rig, 2_500, 2)).toBe('searched')
      expect(rig.answered.reduce((sum, span) => sum + widthOf(span), 0)).toBe(2 * 2_500)
    },
  )

  test('of a day finishes within five hundred requests', async () => {
    const rig = await rigOf({ wording: PLAIN, blocksMax: 50 })
    expect(await search(rig, 43_200)).toBe('searched')
    expect(covered(rig)).toBe(43_200)
  })

  test('remembers the accepted range on every route, and grows it again after ten minutes', async () => {
    const rig = await rigOf({ wording: PLAIN, blocksMax: 100 })
    await search(rig, 1_800)
    const { length } = rig.refused
    await search(rig, 1_800)
    const route = { route: 'payments', filters: [{ contract: CONTRACT, topics: [] }] }
    await newestLogs(rig.nodes, route, { fromBlock: HEAD - 999n, toBlock: HEAD })
    expect(rig.refused.length - length).toBeLessThan(3)
    expect(rig.notes).toHaveLength(1)
    rig.rules.blocksMax = 5_000
    rig.nowMs += 11 * 60_000
    for (let n = 0; n < 4; n += 1) await search(rig, 99_000)
    expect(Math.max(...rig.answered.map(widthOf))).toBe(2_000)
    expect(rig.refused.length - length).toBeLessThan(3)
  })

  test('shrinks its steps around an overfull block, and ends at a block that is refused alone', async () => {
    const wording = { ...PLAIN, message: 'query returned more than 10000 results' }
    const sealedFrom = Number(HEAD) - 700
    const rig = await rigOf({ wording, sealedFrom })
    expect(await search(rig, 1_800)).toBe(
      `node 1 of 1: does not answer eth_getLogs for block ${sealedFrom} alone: query returned more than 10000 results`,
    )
    expect(Math.max(...rig.answered.map(({ to }) => to))).toBe(sealedFrom - 1)
    expect(rig.node.batches.length).toBeLessThan(40)
  })

  test('of one block that hits an unexplained limit counts as rate limited', async () => {
    const wording = { ...PLAIN, code: -32005, message: 'limit exceeded' }
    const rig = await rigOf({ wording, blocksMax: 0 })
    expect(await search(rig, 1_800)).toBe('node 1 of 1: is limiting us: limit exceeded')
    expect(rig.refused.length).toBeLessThan(13)
    expect(rig.notes).toEqual([])
  })

  test('probes with one block whether an unknown refusal depends on the range', async () => {
    const wording = { ...PLAIN, code: -32000, message: 'no' }
    const never = await rigOf({ wording, blocksMax: 0 })
    expect(await search(never, 1_800)).toBe('node 1 of 1: error -32000: no')
    expect(never.refused.map(widthOf)).toEqual([1_800, 1])
    const few = await rigOf({ wording, blocksMax: 300 })
    expect(await search(few, 1_800)).toBe('searched')
    expect(covered(few)).toBe(1_800)
  })

  test.each([
    'up to a 1 block range',
    'up to a 999999999999999999999999 block range',
    'up to a 0 block range',
    'this should work: [0xffffffffffffff, 0x1] range',
    'retry with the range 999999999999999-0',
    'range, at most -5 blocks',
    'range, max NaN blocks',
  ])('finishes whatever limit the node states: %s', async (message) => {
    const rig = await rigOf({ wording: { ...PLAIN, message }, blocksMax: 64 })
    expect(await search(rig, 1_800)).toBe('searched')
    expect(covered(rig)).toBe(1_800)
  })

  test('waits for a rate limit and continues with fewer requests per batch', async () => {
    const wording = { ...PLAIN, code: -32016, message: 'over rate limit' }
    const rig = await rigOf({ wording })
    const { node } = rig
    const answer = node.answer
    let limited = 0
    node.answer = (batch, exchange) => {
      const logs = batch.filter(({ method }) => method === 'eth_getLogs')
      if (logs.length <= 6 || rig.answered.length < 6 || limited > 3) return answer(batch, exchange)
      limited += 1
      return batch.map(({ id }) => ({ jsonrpc: '2.0', id, error: wording }))
    }
    expect(await search(rig, 90_000)).toBe('searched')
    expect(limited).toBe(1)
    expect(covered(rig)).toBe(90_000)
  })

  test('that waits for a node ends when the nodes are closed', async () => {
    const rig = await rigOf({ wording: { ...PLAIN, code: 429, message: 'slow down' } })
    const { node, nodes } = rig
    const answer = node.answer
    node.answer = (batch, exchange) =>
      rig.answered.length === 0 || batch.length === 2
        ? answer(batch, exchange)
        : batch.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: 429, message: 'slow' } }))
    const searching = search(rig, 90_000)
    setTimeout(() => void nodes.close(), 300)
    expect(await searching).toBe('node 1 of 1: is limiting us: slow')
  })
})
