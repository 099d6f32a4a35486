import { afterEach, expect, test } from 'vitest'
import { createJsonRpc, type JsonRpc } from '../../../../src/adapters/chain/json-rpc.ts'
import { type RpcCall, UnusableAnswer } from '../../../../src/adapters/chain/json-rpc-batch.ts'
import type { Observation } from '../../../../src/domain/observation.ts'
import type { ChainReply } from '../../../../src/ports.ts'
import {
  type FakeRpcNode,
  results,
  startFakeRpcNode,
} from '../../../support/chain/fake-rpc-node.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function rig(): Promise<{ node: FakeRpcNode; rpc: JsonRpc; observed: Observation[] }> {
  const node = await startFakeRpcNode(results((item) => item.params[0]))
  const observed: Observation[] = []
  const observe = (event: Observation) => observed.push(event)
  const rpc = createJsonRpc({ urls: [node.url], observe, clock: { now: () => 0 } })
  cleanups.push(
    () => node.close(),
    () => rpc.close(),
  )
  return { node, rpc, observed }
}

const callsOf = (name: string, count = 2): RpcCall[] =>
  Array.from({ length: count }, (_, index) => ({ method: 'echo', params: [`${name}${index}`] }))

function echo(rpc: JsonRpc, name: string, route = 'view'): Promise<ChainReply<unknown>> {
  return rpc.read(route, callsOf(name), (answers) => ({
    ok: true,
    value: [answers.result(0), answers.result(1)],
  }))
}

test('reads of one route that are asked for in one turn share a request, and each gets its own answers', async () => {
  const { node, rpc, observed } = await rig()
  const replies = await Promise.all(['a', 'b', 'c'].map((name) => echo(rpc, name)))
  expect(replies.map((reply) => reply.ok && reply.value)).toEqual([
    ['a0', 'a1'],
    ['b0', 'b1'],
    ['c0', 'c1'],
  ])
  expect(node.batches.map((batch) => batch.length)).toEqual([6])
  expect(observed).toEqual([
    { type: 'request', service: 'rpc', route: 'view', status: '200', durationMs: 0 },
  ])
})

test('reads of two routes go out apart', async () => {
  const { node, rpc } = await rig()
  await Promise.all([echo(rpc, 'a', 'view'), echo(rpc, 'b', 'permit')])
  expect(node.batches.map((batch) => batch.length)).toEqual([2, 2])
})

test('a read that is asked for later does not wait for the one before it', async () => {
  const { node, rpc } = await rig()
  await echo(rpc, 'a')
  await echo(rpc, 'b')
  expect(node.batches.map((batch) => batch.length)).toEqual([2, 2])
})

test('a broadcast never shares a request', async () => {
  const { node, rpc } = await rig()
  const send = (name: string) =>
    rpc.send('view', callsOf(name, 1), (answers) => ({ ok: true, value: answers.result(0) }))
  const [, first, second] = await Promise.all([echo(rpc, 'a'), send('b'), send('c')])
  expect([first, second]).toEqual([
    { ok: true, value: 'b0' },
    { ok: true, value: 'c0' },
  ])
  expect(node.batches.map((batch) => batch.length).sort()).toEqual([1, 1, 2])
})

test('an answer that one reader cannot use leaves the others theirs, and is counted', async () => {
  const { rpc, observed } = await rig()
  const picky = rpc.read('view', callsOf('a'), () => {
    throw new UnusableAnswer('is of no use')
  })
  const [bad, good] = await Promise.all([picky, echo(rpc, 'b')])
  expect(bad).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  expect(good).toEqual({ ok: true, value: ['b0', 'b1'] })
  expect(observed).toMatchObject([{ type: 'request', status: 'unusable' }])
})

test('a bug in one reader rejects that reader alone', async () => {
  const { rpc } = await rig()
  const broken = rpc.read('view', callsOf('a'), () => {
    throw new TypeError('a bug')
  })
  const outcomes = await Promise.allSettled([broken, echo(rpc, 'b')])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
})

test('no shared request is longer than forty calls', async () => {
  const { node, rpc } = await rig()
  const names = Array.from({ length: 45 }, (_, index) => `n${index}-`)
  const replies = await Promise.all(names.map((name) => echo(rpc, name)))
  expect(replies.map((reply) => reply.ok && reply.value)).toEqual(
    names.map((name) => [`${name}0`, `${name}1`]),
  )
  expect(node.batches.map((batch) => batch.length)).toEqual([40, 40, 10])
})
