import { getBalance, getCode } from 'viem/actions'
import { afterEach, expect, test } from 'vitest'
import { RpcRefusal, UnusableAnswer } from '../../../src/chain/node/batch.ts'
import { type Node, type Nodes, openNodes } from '../../../src/chain/node/nodes.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { ChainReply } from '../../../src/ports.ts'
import {
  type Answer,
  type BatchItem,
  type FakeRpcNode,
  results,
  startFakeRpcNode,
} from '../../support/chain/fake-rpc-node.ts'

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
  options: { timeoutMs?: number; bodyBytesMax?: number; chainId?: number } = {},
): { nodes: Nodes; observed: RuntimeEvent[] } {
  const observed: RuntimeEvent[] = []
  const nodes = openNodes({
    urls,
    chainId: undefined,
    observe: (event) => observed.push(event),
    clock: { now: () => 0 },
    ...options,
  })
  cleanups.push(() => nodes.close())
  return { nodes, observed }
}

const VIEW = { route: 'view', size: 2 }
const CODE = '0x6001'
const BLOCK = '0x11'
const BOTH = { ok: true, value: [CODE, BLOCK] }
async function both(node: Node): Promise<ChainReply<readonly unknown[]>> {
  const value = await Promise.all([
    node.request('eth_getCode', ['a', 'latest']),
    node.request('eth_blockNumber', []),
  ])
  return { ok: true, value }
}
const honest = results((item) => ANSWERS[item.method])
const ANSWERS: Readonly<Record<string, unknown>> = {
  eth_chainId: '0x1',
  eth_getCode: CODE,
  eth_blockNumber: BLOCK,
  eth_getBalance: '0x',
}
const read = (nodes: Nodes) => nodes.read(VIEW, both)

async function unavailable(reply: Promise<ChainReply<unknown>>): Promise<string> {
  const settled = await reply
  if (settled.ok || settled.fault.tag !== 'unavailable')
    throw new Error(`expected unavailable, got ${JSON.stringify(settled)}`)
  return settled.fault.message
}

/** Answers with this status and an unreadable body. */
const status =
  (code: number): Answer =>
  (_, { response }) => {
    response.writeHead(code).end('<html>')
    return undefined
  }

test('calls go out as one batch, and the answers return in the order of the calls', async () => {
  const node = await startNode((batch, exchange) => {
    const answers = honest(batch, exchange) as unknown[]
    return answers.reverse()
  })
  const { nodes } = connect([node.url])
  expect(await read(nodes)).toEqual(BOTH)
  expect(node.batches).toHaveLength(1)
  expect(node.batches[0]).toMatchObject([
    { jsonrpc: '2.0', method: 'eth_getCode', params: ['a', 'latest'] },
    { jsonrpc: '2.0', method: 'eth_blockNumber', params: [] },
  ])
})

test('calls of a client never share an ID', async () => {
  const node = await startNode(honest)
  const { nodes } = connect([node.url])
  await Promise.all([read(nodes), read(nodes), read(nodes)])
  const ids = node.batches.flatMap((batch) => batch.map((item) => item.id))
  expect(new Set(ids).size).toBe(6)
})

test('one call may fail while the others succeed', async () => {
  const node = await startNode((batch) => [
    { jsonrpc: '2.0', id: batch[0]?.id, error: { code: 3, message: 'no such luck', data: '0x01' } },
    { jsonrpc: '2.0', id: batch[1]?.id, result: null },
  ])
  const { nodes } = connect([node.url])
  const reply = await nodes.read(VIEW, async (one) => {
    const refused = one.request('eth_call', []).catch((error) => error)
    const empty = await one.request('eth_getTransactionReceipt', [])
    return { ok: true, value: [await refused, empty] }
  })
  const [refusal, empty] = reply.ok ? reply.value : []
  expect(refusal).toBeInstanceOf(RpcRefusal)
  expect(refusal).toMatchObject({ code: 3, message: 'no such luck', data: '0x01' })
  expect(empty).toBeNull()
})

const valid = (item: BatchItem | undefined) => ({ jsonrpc: '2.0', id: item?.id, result: '0x1' })
const malformed: readonly (readonly [string, (batch: readonly BatchItem[]) => unknown])[] = [
  ['a single object', () => ({ jsonrpc: '2.0', id: 1, result: '0x1' })],
  ['too few answers', ([first]) => [valid(first)]],
  ['too many answers', ([first, second]) => [valid(first), valid(second), valid(second)]],
  ['one id twice', ([first]) => [valid(first), valid(first)]],
  ['an unknown id', ([first]) => [valid(first), { ...valid(first), id: 999 }]],
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
test.each(malformed)('rejects a reply with %s', async (_, body) => {
  const node = await startNode(body)
  const { nodes, observed } = connect([node.url])
  expect(await unavailable(read(nodes))).toMatch(/^node 1 of 1: /)
  expect(observed).toMatchObject([{ type: 'request', status: 'malformed' }])
})

test('rejects text that is not JSON', async () => {
  const node = await startNode((_, { response }) => {
    response.end('<html>')
    return undefined
  })
  const { nodes } = connect([node.url])
  expect(await unavailable(read(nodes))).toBe('node 1 of 1: sent no JSON')
})

test.each([403, 404, 429, 500, 502, 503, 301])(
  'HTTP %i makes the node unavailable',
  async (code) => {
    const node = await startNode(status(code))
    const { nodes, observed } = connect([node.url])
    expect(await unavailable(read(nodes))).toBe(`node 1 of 1: answered HTTP ${code}`)
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
  const { nodes } = connect([node.url])
  expect(await unavailable(read(nodes))).toBe('node 1 of 1: is limiting us: slow down')
})

test('a node that does not answer in time is unavailable', async () => {
  const node = await startNode(() => undefined)
  const { nodes, observed } = connect([node.url], { timeoutMs: 50 })
  expect(await unavailable(read(nodes))).toBe('node 1 of 1: did not answer within 50 ms')
  expect(observed).toMatchObject([{ status: 'timeout' }])
})

test('a trickling body is cut off at the same deadline', async () => {
  const node = await startNode((_, { response }) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write(' '), 10)
    response.on('close', () => clearInterval(timer))
    return undefined
  })
  const { nodes } = connect([node.url], { timeoutMs: 100 })
  expect(await unavailable(read(nodes))).toBe('node 1 of 1: did not answer within 100 ms')
})

test('a dropped connection makes the node unavailable', async () => {
  const node = await startNode((_, { response }) => {
    response.destroy()
    return undefined
  })
  const { nodes, observed } = connect([node.url])
  expect(await unavailable(read(nodes))).toMatch(/could not be reached \(\w+\)$/)
  expect(node.batches).toHaveLength(1)
  expect(observed).toMatchObject([{ status: 'unreachable' }])
})

test.each(['announced', 'unannounced'])('rejects a body above the bound, %s', async (how) => {
  const text = JSON.stringify('x'.repeat(5_000))
  const node = await startNode((_, { response }) => {
    if (how === 'announced') response.setHeader('content-length', text.length)
    response.write(text.slice(0, 3_000))
    response.end(text.slice(3_000))
    return undefined
  })
  const { nodes } = connect([node.url], { bodyBytesMax: 1_000 })
  expect(await unavailable(read(nodes))).toBe('node 1 of 1: sent too long a body')
})

test('reads an unannounced body within the bound', async () => {
  const node = await startNode((batch, exchange) => {
    const text = JSON.stringify(honest(batch, exchange))
    exchange.response.write(text.slice(0, 10))
    exchange.response.end(text.slice(10))
    return undefined
  })
  const { nodes } = connect([node.url])
  expect(await read(nodes)).toEqual(BOTH)
})

test('a read moves on to the next node and stays with the node that answers', async () => {
  const dead = await startNode(status(503))
  const live = await startNode(honest)
  const { nodes, observed } = connect([dead.url, live.url])
  expect((await read(nodes)).ok).toBe(true)
  expect((await read(nodes)).ok).toBe(true)
  expect([dead.batches.length, live.batches.length]).toEqual([1, 2])
  expect(observed.map((event) => event.type)).toEqual(['request', 'retry', 'request', 'request'])
  expect(observed[1]).toEqual({ type: 'retry', service: 'rpc', route: 'view', cause: '503' })
})

test('a read moves on after an answer that the caller cannot use', async () => {
  const odd = await startNode(results((item) => (item.method === 'eth_getCode' ? '0xef' : BLOCK)))
  const good = await startNode(honest)
  const { nodes } = connect([odd.url, good.url])
  const reply = await nodes.read(VIEW, async (node) => {
    const read = await both(node)
    if (read.ok && read.value[0] === '0xef') throw new UnusableAnswer('is odd')
    return read
  })
  expect(reply).toEqual(BOTH)
  expect(good.batches).toHaveLength(1)
})

test('a read moves on after a result of the wrong shape', async () => {
  for (const nonsense of ['', '0x', 'odd', '-0x1', 7, true, null, [], {}]) {
    const odd = await startNode(
      results((item) => (item.method === 'eth_getCode' ? CODE : nonsense)),
    )
    const good = await startNode(honest)
    const { nodes, observed } = connect([odd.url, good.url])
    expect(await read(nodes)).toEqual(BOTH)
    expect(observed[0]).toMatchObject({ type: 'request', status: 'unusable' })
    const alone = connect([odd.url])
    expect(await unavailable(read(alone.nodes))).toBe(
      'node 1 of 1: gave no usable answer to eth_blockNumber',
    )
  }
})

test("a viem action reports the node's own refusal, silence or unusable answer", async () => {
  const node = await startNode((batch) =>
    batch.map(({ id, method }) =>
      method === 'eth_getCode'
        ? { jsonrpc: '2.0', id, error: { code: -32000, message: 'busy' } }
        : { jsonrpc: '2.0', id, result: ANSWERS[method] },
    ),
  )
  const { nodes } = connect([node.url])
  const address = `0x${'11'.repeat(20)}` as const
  const ask = (what: 'code' | 'balance') =>
    nodes.read({ route: what, size: 1 }, async (one) => ({
      ok: true,
      value:
        what === 'code'
          ? await one.ask('code', (client) => getCode(client, { address }))
          : await one.ask('balance', (client) => getBalance(client, { address })),
    }))
  expect(await unavailable(ask('code'))).toBe('node 1 of 1: error -32000: busy')
  expect(await unavailable(ask('balance'))).toBe(
    'node 1 of 1: gave no usable answer to eth_getBalance',
  )
  node.answer = status(503)
  expect(await unavailable(ask('balance'))).toBe('node 1 of 1: answered HTTP 503')
  expect(node.batches).toHaveLength(3)
})

test('answers count only from the expected chain, which is checked once per batch', async () => {
  const other = await startNode(results(() => '0x2'))
  const right = await startNode(honest)
  const { nodes } = connect([other.url, right.url], { chainId: 1 })
  expect(await Promise.all([read(nodes), read(nodes)])).toEqual([BOTH, BOTH])
  for (const { batches } of [other, right])
    expect(batches.map((batch) => batch.map(({ method }) => method))).toEqual([
      ['eth_chainId', 'eth_getCode', 'eth_blockNumber', 'eth_getCode', 'eth_blockNumber'],
    ])
  const alone = connect([other.url], { chainId: 1 })
  expect(await unavailable(read(alone.nodes))).toBe('node 1 of 1: is on chain 2, not 1')
  expect(await alone.nodes.read({ ...VIEW, anyChain: true }, both)).toMatchObject({ ok: false })
})

test('a fault that is the answer is not retried on another node', async () => {
  const [first, second] = [await startNode(honest), await startNode(honest)]
  const { nodes } = connect([first.url, second.url])
  const refusal = { ok: false, fault: { tag: 'refused', message: 'reverts' } } as const
  const refused = nodes.read({ route: 'draft', size: 2 }, async (node) => {
    await both(node)
    return refusal
  })
  expect(await refused).toEqual(refusal)
  expect([first.batches.length, second.batches.length]).toEqual([1, 0])
})

test('a read tries each node once', async () => {
  const [first, second] = [await startNode(status(500)), await startNode(status(429))]
  const { nodes } = connect([first.url, second.url])
  expect(await unavailable(read(nodes))).toBe('node 2 of 2: answered HTTP 429')
  expect([first.batches.length, second.batches.length]).toEqual([1, 1])
})

test('a call with effects goes only to the current node, and names that node', async () => {
  const dead = await startNode(status(503))
  const live = await startNode(honest)
  const { nodes } = connect([dead.url, live.url])
  expect(await unavailable(nodes.send('broadcast', both))).toMatch(/^node 1 of 2: /)
  expect(live.batches).toHaveLength(0)
  await read(nodes)
  expect((await nodes.send('broadcast', both)).ok).toBe(true)
  expect(dead.batches).toHaveLength(2)
})

test('a bug in a reader is not mistaken for an unavailable node', async () => {
  const node = await startNode(honest)
  const { nodes } = connect([node.url])
  const broken = nodes.read(VIEW, async (one) => {
    await both(one)
    throw new TypeError('a bug')
  })
  await expect(broken).rejects.toThrow('a bug')
})

test('credentials in the URL are sent as a header', async () => {
  let seen: string | undefined
  const node = await startNode((batch, exchange) => {
    seen = exchange.request.headers.authorization
    return honest(batch, exchange)
  })
  const { nodes } = connect([node.url.replace('http://', 'http://user:p%40ss@')])
  await read(nodes)
  expect(seen).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`)
})

test('messages never repeat the address of a node, its key, or raw bytes', async () => {
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
  const { nodes, observed } = connect([secretUrl], { timeoutMs: 60_000 })
  const messages = [await unavailable(nodes.send('broadcast', both))]
  node.answer = (_, { response }) => {
    response.destroy()
    return undefined
  }
  messages.push(await unavailable(read(nodes)))
  await node.close()
  messages.push(await unavailable(read(nodes)))
  for (const message of [...messages, JSON.stringify(observed)]) {
    expect(message).not.toMatch(/AbCdEf|abababab|127\.0\.0\.1|http:|\p{Cc}/iu)
    expect(message.length).toBeLessThan(1_000)
  }
  expect(messages[0]).toContain('bad')
})

test('rejects text that is not a URL without repeating it', () => {
  const make = () => connect(['https//mainnet.example/v2/AbCdEf0123456789'])
  expect(make).toThrow('the RPC URL of node 1 of 1 is no URL')
  expect(make).not.toThrow(/AbCdEf/)
})

test.each(['0x1', '0x01', '0x0001'])('reads chain ID %s as 1', async (id) => {
  const node = await startNode(results((item) => ({ ...ANSWERS, eth_chainId: id })[item.method]))
  const { nodes } = connect([node.url], { chainId: 1 })
  expect(await read(nodes)).toEqual(BOTH)
})
