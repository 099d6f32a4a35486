import { afterEach, expect, test } from 'vitest'
import { createJsonRpc, type JsonRpc } from '../../../../src/adapters/chain/json-rpc.ts'
import { type RpcAnswers, UnusableAnswer } from '../../../../src/adapters/chain/json-rpc-batch.ts'
import type { Observation } from '../../../../src/domain/observation.ts'
import type { ChainReply } from '../../../../src/ports.ts'
import {
  type Answer,
  type BatchItem,
  type FakeRpcNode,
  results,
  startFakeRpcNode,
} from '../../../support/chain/fake-rpc-node.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function startNode(answer: Answer): Promise<FakeRpcNode> {
  const node = await startFakeRpcNode(answer)
  cleanups.push(() => node.close())
  return node
}

function connect(
  urls: readonly string[],
  options: { timeoutMs?: number; bodyBytesMax?: number } = {},
): { rpc: JsonRpc; observed: Observation[] } {
  const observed: Observation[] = []
  const rpc = createJsonRpc({
    urls,
    observe: (event) => observed.push(event),
    clock: { now: () => 0 },
    ...options,
  })
  cleanups.push(() => rpc.close())
  return { rpc, observed }
}

const CALLS = [
  { method: 'first', params: ['a'] },
  { method: 'second', params: [] },
]
const both = (answers: RpcAnswers): ChainReply<readonly unknown[]> => ({
  ok: true,
  value: [answers.result(0), answers.result(1)],
})
const methodNames = results((item) => item.method)
const read = (rpc: JsonRpc) => rpc.read('view', CALLS, both)

async function unavailable(reply: Promise<ChainReply<unknown>>): Promise<string> {
  const settled = await reply
  if (settled.ok || settled.fault.tag !== 'unavailable')
    throw new Error(`expected unavailable, got ${JSON.stringify(settled)}`)
  return settled.fault.message
}

/** Silent over HTTP 200 unless told otherwise. */
const status =
  (code: number): Answer =>
  (_, { response }) => {
    response.statusCode = code
    return { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no' } }
  }

test('calls go out as one batch and their answers come back in the order of the calls', async () => {
  const node = await startNode((batch, exchange) => {
    const answers = methodNames(batch, exchange) as unknown[]
    return answers.reverse()
  })
  const { rpc } = connect([node.url])
  expect(await read(rpc)).toEqual({ ok: true, value: ['first', 'second'] })
  expect(node.batches).toHaveLength(1)
  expect(node.batches[0]).toMatchObject([
    { jsonrpc: '2.0', method: 'first', params: ['a'] },
    { jsonrpc: '2.0', method: 'second', params: [] },
  ])
})

test('no two calls of a client share an id', async () => {
  const node = await startNode(methodNames)
  const { rpc } = connect([node.url])
  await Promise.all([read(rpc), read(rpc), read(rpc)])
  const ids = node.batches.flatMap((batch) => batch.map((item) => item.id))
  expect(new Set(ids).size).toBe(6)
})

test('one call may fail while the others succeed', async () => {
  const node = await startNode((batch) => [
    { jsonrpc: '2.0', id: batch[0]?.id, error: { code: 3, message: 'no such luck', data: '0x01' } },
    { jsonrpc: '2.0', id: batch[1]?.id, result: null },
  ])
  const { rpc } = connect([node.url])
  const reply = await rpc.read('view', CALLS, (answers) => ({
    ok: true,
    value: [answers.error(0), answers.error(1), answers.result(1)],
  }))
  expect(reply).toEqual({
    ok: true,
    value: [{ code: 3, message: 'no such luck', data: '0x01' }, undefined, null],
  })
})

const valid = (item: BatchItem | undefined) => ({ jsonrpc: '2.0', id: item?.id, result: '0x1' })
const malformed: readonly (readonly [string, (batch: readonly BatchItem[]) => unknown])[] = [
  ['a single object', () => ({ jsonrpc: '2.0', id: 1, result: '0x1' })],
  ['too few answers', ([first]) => [valid(first)]],
  ['too many answers', ([first, second]) => [valid(first), valid(second), valid(second)]],
  ['one id twice', ([first]) => [valid(first), valid(first)]],
  ['an id that was not asked', ([first]) => [valid(first), { ...valid(first), id: 999 }]],
  ['an id as text', ([first, second]) => [valid(first), { ...valid(second), id: `${second?.id}` }]],
  ['no version', ([first, second]) => [valid(first), { ...valid(second), jsonrpc: undefined }]],
  ['another version', ([first, second]) => [valid(first), { ...valid(second), jsonrpc: '1.0' }]],
  [
    'result and error at once',
    ([first, second]) => [valid(first), { ...valid(second), error: { code: 1, message: 'x' } }],
  ],
  [
    'neither result nor error',
    ([first, second]) => [valid(first), { jsonrpc: '2.0', id: second?.id }],
  ],
  [
    'an error without a code',
    ([first, second]) => [
      valid(first),
      { jsonrpc: '2.0', id: second?.id, error: { message: 'x' } },
    ],
  ],
  ['null in the list', ([first]) => [valid(first), null]],
]
test.each(malformed)('a reply with %s is not believed', async (_, body) => {
  const node = await startNode(body)
  const { rpc, observed } = connect([node.url])
  expect(await unavailable(read(rpc))).toMatch(/^node 1 of 1: /)
  expect(observed).toMatchObject([{ type: 'request', status: 'malformed' }])
})

test('text that is no JSON is not believed', async () => {
  const node = await startNode((_, { response }) => {
    response.end('<html>')
    return undefined
  })
  const { rpc } = connect([node.url])
  expect(await unavailable(read(rpc))).toBe('node 1 of 1: sent no JSON')
})

test.each([400, 403, 404, 429, 500, 502, 503, 301])(
  'HTTP %i is an unavailable node',
  async (code) => {
    const node = await startNode(status(code))
    const { rpc, observed } = connect([node.url])
    expect(await unavailable(read(rpc))).toBe(`node 1 of 1: answered HTTP ${code}`)
    expect(node.batches).toHaveLength(1)
    expect(observed).toEqual([
      { type: 'request', service: 'rpc', route: 'view', status: String(code), durationMs: 0 },
    ])
  },
)

test('a limit error inside the batch makes the node unavailable', async () => {
  const node = await startNode((batch) => [
    valid(batch[0]),
    { jsonrpc: '2.0', id: batch[1]?.id, error: { code: -32005, message: 'slow down' } },
  ])
  const { rpc } = connect([node.url])
  expect(await unavailable(read(rpc))).toBe('node 1 of 1: is limiting us: slow down')
})

test('a node that does not answer in time is unavailable', async () => {
  const node = await startNode(() => undefined)
  const { rpc, observed } = connect([node.url], { timeoutMs: 50 })
  expect(await unavailable(read(rpc))).toBe('node 1 of 1: did not answer within 50 ms')
  expect(observed).toMatchObject([{ status: 'timeout' }])
})

test('a body that trickles is cut off by the same deadline', async () => {
  const node = await startNode((_, { response }) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(timer))
    return undefined
  })
  const { rpc } = connect([node.url], { timeoutMs: 100 })
  expect(await unavailable(read(rpc))).toBe('node 1 of 1: did not answer within 100 ms')
})

test('a dropped connection is an unavailable node', async () => {
  const node = await startNode((_, { response }) => {
    response.destroy()
    return undefined
  })
  const { rpc, observed } = connect([node.url])
  expect(await unavailable(read(rpc))).toMatch(/could not be reached \(\w+\)$/)
  expect(node.batches).toHaveLength(1)
  expect(observed).toMatchObject([{ status: 'unreachable' }])
})

test.each(['announced', 'unannounced'])('a body above the bound is not read, %s', async (how) => {
  const text = JSON.stringify('x'.repeat(5_000))
  const node = await startNode((_, { response }) => {
    if (how === 'announced') response.setHeader('content-length', text.length)
    response.write(text.slice(0, 3_000))
    response.end(text.slice(3_000))
    return undefined
  })
  const { rpc } = connect([node.url], { bodyBytesMax: 1_000 })
  expect(await unavailable(read(rpc))).toBe('node 1 of 1: sent too long a body')
})

test('an unannounced body within the bound is read', async () => {
  const node = await startNode((batch, exchange) => {
    const text = JSON.stringify(methodNames(batch, exchange))
    exchange.response.write(text.slice(0, 10))
    exchange.response.end(text.slice(10))
    return undefined
  })
  const { rpc } = connect([node.url])
  expect(await read(rpc)).toEqual({ ok: true, value: ['first', 'second'] })
})

test('a read moves on to the next node, and stays with the one that answers', async () => {
  const dead = await startNode(status(503))
  const live = await startNode(methodNames)
  const { rpc, observed } = connect([dead.url, live.url])
  expect((await read(rpc)).ok).toBe(true)
  expect((await read(rpc)).ok).toBe(true)
  expect([dead.batches.length, live.batches.length]).toEqual([1, 2])
  expect(observed.map((event) => event.type)).toEqual(['request', 'retry', 'request', 'request'])
  expect(observed[1]).toEqual({ type: 'retry', service: 'rpc', route: 'view', cause: '503' })
})

test('an answer that the caller cannot use moves a read on as well', async () => {
  const odd = await startNode(results(() => 'odd'))
  const good = await startNode(methodNames)
  const { rpc } = connect([odd.url, good.url])
  const reply = await rpc.read('view', CALLS, (answers) => {
    if (answers.result(0) === 'odd') throw new UnusableAnswer('is odd')
    return both(answers)
  })
  expect(reply.ok).toBe(true)
  expect(good.batches).toHaveLength(1)
})

test('a fault that is the answer is not asked of another node', async () => {
  const nodes = [await startNode(methodNames), await startNode(methodNames)] as const
  const { rpc } = connect(nodes.map((node) => node.url))
  const refusal = { ok: false, fault: { tag: 'refused', message: 'reverts' } } as const
  expect(await rpc.read('draft', CALLS, () => refusal)).toEqual(refusal)
  expect(nodes[1].batches).toHaveLength(0)
})

test('a read asks each node once and no more', async () => {
  const nodes = [await startNode(status(500)), await startNode(status(429))] as const
  const { rpc } = connect(nodes.map((node) => node.url))
  expect(await unavailable(read(rpc))).toBe('node 2 of 2: answered HTTP 429')
  expect(nodes.map((node) => node.batches.length)).toEqual([1, 1])
})

test('a call with effects goes to the node in use only, and says which that is', async () => {
  const dead = await startNode(status(503))
  const live = await startNode(methodNames)
  const { rpc } = connect([dead.url, live.url])
  expect(await unavailable(rpc.send('broadcast', CALLS, both))).toMatch(/^node 1 of 2: /)
  expect(live.batches).toHaveLength(0)
  await read(rpc)
  expect((await rpc.send('broadcast', CALLS, both)).ok).toBe(true)
  expect(dead.batches).toHaveLength(2)
})

test('a bug in a parser is not mistaken for a node that is down', async () => {
  const node = await startNode(methodNames)
  const { rpc } = connect([node.url])
  const broken = rpc.read('view', CALLS, () => {
    throw new TypeError('a bug')
  })
  await expect(broken).rejects.toThrow('a bug')
})

test('credentials in the URL are sent as a header', async () => {
  let seen: string | undefined
  const node = await startNode((batch, exchange) => {
    seen = exchange.request.headers.authorization
    return methodNames(batch, exchange)
  })
  const { rpc } = connect([node.url.replace('http://', 'http://user:p%40ss@')])
  await read(rpc)
  expect(seen).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`)
})

test('no message repeats the address of a node, its key, or raw bytes', async () => {
  const key = 'AbCdEf0123456789'
  const raw = `0x02f8${'ab'.repeat(100)}`
  const node = await startNode((batch, { request }) =>
    batch.map((item) => ({
      jsonrpc: '2.0',
      id: item.id,
      error: {
        code: -32000,
        message: `bad ${raw}\u001b[31m at\nhttp://${request.headers.host}${request.url} key ${key} ${'x'.repeat(5_000)}`,
      },
    })),
  )
  const secretUrl = `${node.url}/v2/${key}?token=${key}zz`
  const { rpc, observed } = connect([secretUrl], { timeoutMs: 500 })
  const messages = [await unavailable(rpc.send('broadcast', CALLS, both))]
  node.answer = (_, { response }) => {
    response.destroy()
    return undefined
  }
  messages.push(await unavailable(read(rpc)))
  await node.close()
  messages.push(await unavailable(read(rpc)))
  for (const message of [...messages, JSON.stringify(observed)]) {
    expect(message).not.toMatch(/AbCdEf|abababab|127\.0\.0\.1|http:|\p{Cc}/iu)
    expect(message.length).toBeLessThan(1_000)
  }
  expect(messages[0]).toContain('bad')
})

test('text that is no URL is refused without being repeated', () => {
  const make = () => connect(['https//mainnet.example/v2/AbCdEf0123456789'])
  expect(make).toThrow('the RPC URL of node 1 of 1 is no URL')
  expect(make).not.toThrow(/AbCdEf/)
})
