import { afterEach, expect, test } from 'vitest'
import { UnusableAnswer } from '../../../src/chain/node/batch.ts'
import { type Node, type Nodes, openNodes } from '../../../src/chain/node/nodes.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { ChainReply } from '../../../src/ports.ts'
import { type FakeRpcNode, results, startFakeRpcNode } from '../../support/chain/fake-rpc-node.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function rig(): Promise<{ node: FakeRpcNode; nodes: Nodes; observed: RuntimeEvent[] }> {
  const node = await startFakeRpcNode(results((item) => item.params[0]))
  const observed: RuntimeEvent[] = []
  const observe = (event: RuntimeEvent) => observed.push(event)
  const clock = { now: () => 0 }
  const nodes = openNodes({ urls: [node.url], chainId: undefined, observe, clock })
  cleanups.push(
    () => node.close(),
    () => nodes.close(),
  )
  return { node, nodes, observed }
}

const VIEW = { route: 'view', size: 2 }

/** The node echoes the requested codes, which name the reader. */
async function echoes(node: Node, name: number): Promise<ChainReply<readonly unknown[]>> {
  const value = await Promise.all(codesOf(name).map((code) => node.request('eth_getCode', [code])))
  return { ok: true, value }
}

const codesOf = (name: number) =>
  [0, 1].map((index) => `0x${name.toString(16).padStart(4, '0')}0${index}`)

const echo = (nodes: Nodes, name: number, route = 'view') =>
  nodes.read({ route, size: 2 }, (node) => echoes(node, name))

test('reads of one route in the same turn share a request, and each gets its own answers', async () => {
  const { node, nodes, observed } = await rig()
  const names = [1, 2, 3]
  const replies = await Promise.all(names.map((name) => echo(nodes, name)))
  expect(replies.map((reply) => reply.ok && reply.value)).toEqual(names.map(codesOf))
  expect(node.batches.map((batch) => batch.length)).toEqual([6])
  expect(observed).toEqual([
    { type: 'request', service: 'rpc', route: 'view', status: '200', durationMs: 0 },
  ])
})

test('reads of two routes go out in separate requests', async () => {
  const { node, nodes } = await rig()
  await Promise.all([echo(nodes, 1, 'view'), echo(nodes, 2, 'permit')])
  expect(node.batches.map((batch) => batch.length)).toEqual([2, 2])
})

test('a later read does not wait for an earlier one', async () => {
  const { node, nodes } = await rig()
  await echo(nodes, 1)
  await echo(nodes, 2)
  expect(node.batches.map((batch) => batch.length)).toEqual([2, 2])
})

test('a broadcast never shares a request', async () => {
  const { node, nodes } = await rig()
  const send = (code: string) =>
    nodes.send('view', async (one) => ({
      ok: true,
      value: await one.request('eth_getCode', [code]),
    }))
  const [, first, second] = await Promise.all([echo(nodes, 1), send('0xb0'), send('0xc0')])
  expect([first, second]).toEqual([
    { ok: true, value: '0xb0' },
    { ok: true, value: '0xc0' },
  ])
  expect(node.batches.map((batch) => batch.length).sort()).toEqual([1, 1, 2])
})

test('an unusable answer for one reader leaves the other readers their answers, and is counted', async () => {
  const { nodes, observed } = await rig()
  const picky = nodes.read(VIEW, async (one) => {
    await echoes(one, 1)
    throw new UnusableAnswer('is of no use')
  })
  const [bad, good] = await Promise.all([picky, echo(nodes, 2)])
  expect(bad).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  expect(good).toEqual({ ok: true, value: codesOf(2) })
  expect(observed).toMatchObject([{ type: 'request', status: 'unusable' }])
})

test('a bug in one reader rejects only that reader', async () => {
  const { nodes } = await rig()
  const broken = nodes.read(VIEW, async (one) => {
    await echoes(one, 1)
    throw new TypeError('a bug')
  })
  const outcomes = await Promise.allSettled([broken, echo(nodes, 2)])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
})

test('a shared request holds at most forty calls', async () => {
  const { node, nodes } = await rig()
  const names = Array.from({ length: 45 }, (_, index) => index)
  const replies = await Promise.all(names.map((name) => echo(nodes, name)))
  expect(replies.map((reply) => reply.ok && reply.value)).toEqual(names.map(codesOf))
  expect(node.batches.map((batch) => batch.length)).toEqual([40, 40, 10])
})
