import { afterEach, describe, expect, test } from 'vitest'
import { openLargeCalls } from '../../../src/chain/node/large-calls.ts'
import { type Node, type Nodes, openNodes } from '../../../src/chain/node/nodes.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { ChainReply } from '../../../src/ports.ts'
import {
  type Answer,
  type BatchItem,
  type FakeRpcNode,
  startFakeRpcNode,
} from '../../support/chain/fake-rpc-node.ts'
import { WORDINGS, type Wording } from '../../support/chain/node-refusals.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Echoes the requested codes and reports chain 1. */
const echoed = (batch: readonly BatchItem[]) =>
  batch.map(({ id, method, params }) => ({
    ...{ jsonrpc: '2.0', id },
    result: method === 'eth_chainId' ? '0x1' : params[0],
  }))

const KEY = 'AbCdEf0123456789'
const DRPC = WORDINGS.find(({ code }) => code === 31) as Wording

/** A node that accepts at most `max` requests per batch and refuses more with this wording. */
function taking(max: number, { code, message, data, status = 200 }: Wording): Answer {
  return (batch, { response }) => {
    if (batch.length <= max) return echoed(batch)
    response.statusCode = status
    return { jsonrpc: '2.0', id: null, error: { code, message, data } }
  }
}

type Rig = {
  readonly node: FakeRpcNode
  readonly nodes: Nodes
  readonly observed: RuntimeEvent[]
  nowMs: number
}

async function rigOf(answer: Answer): Promise<Rig> {
  const node = await startFakeRpcNode(answer)
  const observed: RuntimeEvent[] = []
  const clock = { now: () => rig.nowMs }
  const observe = (event: RuntimeEvent) => observed.push(event)
  const nodes = openNodes({ urls: [`${node.url}/v2/${KEY}`], chainId: 1, observe, clock })
  const rig = { node, nodes, observed, nowMs: 0 }
  cleanups.push(
    () => node.close(),
    () => nodes.close(),
  )
  return rig
}

const codes = (count: number) => Array.from({ length: count }, (_, n) => `0x${n + 10}`)

/** Reads `count` codes, which the node echoes. */
function read({ nodes }: Rig, count: number): Promise<ChainReply<readonly unknown[]>> {
  return nodes.read({ route: 'view', size: count }, async (node: Node) => {
    const results = codes(count).map((code) => node.request('eth_getCode', [code]))
    return { ok: true, value: await Promise.all(results) }
  })
}

const whole = (count: number) => ({ ok: true, value: codes(count) })
const sizes = ({ node }: Rig) => node.batches.map(({ length }) => length)
const notes = ({ observed }: Rig) =>
  observed.flatMap((event) => (event.type === 'service-note' ? [event.note] : []))

function faultOf(reply: ChainReply<unknown>): string {
  if (reply.ok) throw new Error('it was answered')
  return reply.fault.message
}

const CHAIN = 'eth_chainId'

describe('a batch that a node refuses', () => {
  test.each(
    WORDINGS.filter(({ kind }) => kind === 'batch').map(
      (each) => [each.provider, each.message, each] as const,
    ),
  )(
    'is split into smaller batches within the same read (%s): "%s"',
    async (_, message, wording) => {
      const rig = await rigOf(taking(3, wording))
      expect(await read(rig, 4)).toEqual(whole(4))
      expect(sizes(rig)).toEqual([5, 2, 2, 2])
      expect(await read(rig, 4)).toEqual(whole(4))
      expect(sizes(rig).slice(4)).toEqual([2, 2, 2])
      expect(notes(rig)).toEqual([
        expect.stringMatching(
          /^node 1 of 1 refuses a batch of 5 requests, and gets 2 at once from now on: /,
        ),
      ])
      expect(notes(rig)[0]).toContain(message.slice(0, 50))
    },
  )

  test('is recognised if each request fails with an unknown message', async () => {
    const error = { code: -32000, message: '单次请求过多' }
    const rig = await rigOf((batch) =>
      batch.length > 3 ? batch.map(({ id }) => ({ jsonrpc: '2.0', id, error })) : echoed(batch),
    )
    expect(await read(rig, 4)).toEqual(whole(4))
    expect(sizes(rig)).toEqual([5, 1, 2, 2, 1])
    expect(notes(rig)).toEqual([expect.stringContaining(error.message)])
  })

  test('is recognised by a list of one error, as from geth, and by HTTP 413 without an error object', async () => {
    const error = { code: -32600, message: 'batch too large' }
    const geth = await rigOf((batch) =>
      batch.length > 3 ? [{ jsonrpc: '2.0', id: batch[0]?.id, error }] : echoed(batch),
    )
    expect(await read(geth, 4)).toEqual(whole(4))
    const gateway = await rigOf((batch, { response }) => {
      if (batch.length <= 3) return echoed(batch)
      response.writeHead(413).end('Request Entity Too Large')
      return undefined
    })
    expect(await read(gateway, 4)).toEqual(whole(4))
    expect([sizes(geth), sizes(gateway)]).toEqual([
      [5, 2, 2, 2],
      [5, 2, 2, 2],
    ])
  })

  test.each([
    ['Invalid request', -32600, 200],
    ['Parse error', -32700, 400],
    ['Array requests are not supported', -32600, 500],
  ])(
    'is sent as single requests if the node accepts no batches ("%s")',
    async (message, code, status) => {
      const wording = { provider: 'any', kind: 'other', code, message, status } as const
      const rig = await rigOf(taking(1, wording))
      expect(await read(rig, 2)).toEqual(whole(2))
      expect(rig.node.alone.map(([item]) => item?.method)).toEqual([
        ...[CHAIN, 'eth_getCode', 'eth_getCode', CHAIN],
      ])
      await read(rig, 2)
      expect(sizes(rig)).toEqual([3, 1, 1, 1, 1, 1, 1, 1, 1])
    },
  )

  test('is sent part by part, in the order of its requests', async () => {
    let underway = 0
    const rig = await rigOf(async (batch, exchange) => {
      underway += 1
      expect(underway).toBe(1)
      await new Promise((resolve) => setTimeout(resolve, 5))
      underway -= 1
      return taking(2, DRPC)(batch, exchange)
    })
    expect(await read(rig, 7)).toEqual(whole(7))
    const taken = rig.node.batches.filter(({ length }) => length <= 2).flat()
    const requestedCodes = taken.flatMap(({ method, params }) =>
      method === CHAIN ? [] : [params[0]],
    )
    expect(requestedCodes).toEqual(codes(7))
  })

  test('counts only from the expected chain, which is checked before and after its parts', async () => {
    const rig = await rigOf(taking(2, DRPC))
    await read(rig, 4)
    const methods = rig.node.batches.slice(1).flatMap((batch) => batch.map(({ method }) => method))
    expect(methods.filter((method) => method === CHAIN)).toHaveLength(2)
    expect([methods[0], methods.at(-1)]).toEqual([CHAIN, CHAIN])

    let answers = 0
    const moving = await rigOf((batch, exchange) => {
      const list = taking(2, DRPC)(batch, exchange)
      if (!Array.isArray(list)) return list
      answers += 1
      return list.map((item, n) =>
        batch[n]?.method === CHAIN && answers > 1 ? { ...item, result: '0x2' } : item,
      )
    })
    expect(faultOf(await read(moving, 4))).toBe('node 1 of 1: is on chain 2, not 1')

    const other = await rigOf((batch, exchange) => {
      const list = taking(2, DRPC)(batch, exchange)
      return Array.isArray(list) ? list.map((item) => ({ ...item, result: '0x2' })) : list
    })
    expect(faultOf(await read(other, 4))).toBe('node 1 of 1: is on chain 2, not 1')
    expect(sizes(other)).toEqual([5, 2])
  })

  test('shrinks the batches of every route', async () => {
    const rig = await rigOf(taking(3, DRPC))
    await read(rig, 4)
    const other = rig.nodes.read({ route: 'permit', size: 4 }, async (node) => ({
      ok: true,
      value: await Promise.all(codes(4).map((code) => node.request('eth_getCode', [code]))),
    }))
    expect(await other).toEqual(whole(4))
    expect(sizes(rig).slice(4)).toEqual([2, 2, 2])
  })

  test('leads to the largest accepted size step by step, without losing a read', async () => {
    const rig = await rigOf(taking(3, DRPC))
    for (let n = 0; n < 60; n += 1) expect(await read(rig, 7)).toEqual(whole(7))
    expect(sizes(rig).slice(-3)).toEqual([3, 3, 3])
    expect(sizes(rig).filter((size) => size > 3).length).toBeLessThan(4)
    expect(notes(rig)).toHaveLength(1)

    rig.node.answer = taking(40, DRPC)
    rig.nowMs += 11 * 60_000
    for (let n = 0; n < 60; n += 1) expect(await read(rig, 7)).toEqual(whole(7))
    expect(sizes(rig).at(-1)).toBe(8)
  })

  test('changes no size if its parts are refused as well', async () => {
    const rig = await rigOf(taking(0, { ...DRPC, message: 'Internal error', code: -32603 }))
    expect(faultOf(await read(rig, 4))).toBe('node 1 of 1: answered HTTP 500: Internal error')
    expect(sizes(rig)).toEqual([5, 1])
    rig.node.answer = taking(40, DRPC)
    expect(await read(rig, 4)).toEqual(whole(4))
    expect(sizes(rig)).toEqual([5, 1, 5])
    expect(notes(rig)).toEqual([])
  })

  test.each([
    ['unauthorized', 403, 'missing'],
    ['rate limit exceeded', 429, 'pace'],
    ['no healthy backend', 503, 'other'],
  ] as const)(
    'is not retried if a smaller batch cannot help: "%s"',
    async (message, status, kind) => {
      const rig = await rigOf(taking(0, { provider: 'any', code: -32000, message, status, kind }))
      expect(faultOf(await read(rig, 4))).toContain(message)
      expect(sizes(rig)).toEqual([5])
    },
  )

  test.each([400, 422])(
    'is retried as a single request if HTTP %i gives no reason',
    async (status) => {
      const rig = await rigOf((batch, { response }) => {
        if (rig.node.alone.length > 0 && batch.length === 1) return echoed(batch)
        response.writeHead(status).end('bad request')
        return undefined
      })
      expect(await read(rig, 2)).toEqual(whole(2))
      rig.node.answer = (_, { response }) => {
        response.writeHead(status).end('bad request')
        return undefined
      }
      expect(faultOf(await read(rig, 2))).toBe(`node 1 of 1: answered HTTP ${status}`)
    },
  )

  test('is counted together with its retry', async () => {
    const rig = await rigOf(taking(3, DRPC))
    await read(rig, 4)
    const counted = rig.observed.flatMap((event) =>
      event.type === 'request' || event.type === 'retry' ? [event] : [],
    )
    expect(counted).toMatchObject([
      { type: 'retry', service: 'rpc', route: 'view', cause: '500' },
      { type: 'request', route: 'view', status: '500' },
      ...[0, 1, 2].map(() => ({ type: 'request', route: 'view', status: '200' })),
    ])
  })
})

describe('a request with effects', () => {
  const send = ({ nodes }: Rig) =>
    nodes.send('broadcast', async (node) => ({
      ok: true,
      value: await node.request('eth_sendRawTransaction', [`0x${'ab'.repeat(32)}`]),
    }))

  test('is sent once, outside a batch, however the node refuses it', async () => {
    for (const wording of WORDINGS) {
      const rig = await rigOf(taking(0, wording))
      expect((await send(rig)).ok).toBe(false)
      expect([sizes(rig), rig.node.alone.length]).toEqual([[1], 1])
    }
  })

  test('is accepted by a node without support for batches', async () => {
    const rig = await rigOf((batch, exchange) =>
      rig.node.alone.length === 0 ? taking(0, DRPC)(batch, exchange) : echoed(batch),
    )
    expect((await send(rig)).ok).toBe(true)
  })
})

describe('a large call', () => {
  const call = async (answer: Answer) => {
    const { node } = await rigOf(answer)
    const calls = openLargeCalls({ chainId: 1, rpcUrls: [node.url], clock: Date })
    cleanups.push(() => calls.close())
    const reply = await calls.call(`0x${'ab'.repeat(500)}`)
    return reply.ok ? reply.value : reply.fault.tag
  }
  const unless =
    (status: number): Answer =>
    (batch, { response }) => {
      if (!JSON.stringify(batch).includes('abab')) return echoed(batch)
      response.writeHead(status).end('no')
      return undefined
    }

  test.each([
    [400, 'tooMuch'],
    [413, 'tooMuch'],
    [401, 'unavailable'],
    [500, 'unavailable'],
  ])('refused with HTTP %i is %s, whatever was sent with it', async (status, tag) => {
    expect(await call(unless(status))).toBe(tag)
  })

  test('refused for the key or plan is not called too large', async () => {
    const error = { code: -32000, message: 'token is invalid' }
    expect(await call(() => ({ jsonrpc: '2.0', id: null, error }))).toBe('unavailable')
  })
})

describe('the message of a node', () => {
  test.each([400, 403, 404, 413, 422, 429, 500, 502, 503])(
    "is quoted from HTTP %i, on one bounded line without the node's address",
    async (status) => {
      const rig = await rigOf((_, { response, request }) => {
        response.statusCode = status
        const address = `http://${request.headers.host}/v2/${KEY}`
        const message = `no luck\n at ${address} ${'x'.repeat(2_000)}`
        return { jsonrpc: '2.0', id: null, error: { code: -32000, message } }
      })
      const fault = faultOf(await read(rig, 1))
      expect(fault).toMatch(/^node 1 of 1: (?:answered HTTP \d+|is limiting us): no luck at \*\*\*/)
      expect(fault).not.toMatch(/AbCdEf|127\.0\.0\.1|http:|\n/)
      expect(fault.length).toBeLessThan(300)
    },
  )

  test("is quoted from an error without an envelope, and from the error's data", async () => {
    const bare = await rigOf((_, { response }) => {
      response.statusCode = 429
      return { code: -32007, message: '50/second request limit reached' }
    })
    expect(faultOf(await read(bare, 1))).toBe(
      'node 1 of 1: is limiting us: 50/second request limit reached',
    )
    const hidden = await rigOf((batch) =>
      batch.map(({ id }) => ({
        ...{ jsonrpc: '2.0', id },
        error: { code: -32602, message: 'invalid params', data: { payload: 'it is too much' } },
      })),
    )
    expect(faultOf(await read(hidden, 1))).toBe(
      'node 1 of 1: error -32602: invalid params: it is too much',
    )
  })

  test.each([400, 401, 413, 429, 500, 503])(
    'is only the status if the body of HTTP %i has none',
    async (status) => {
      const rig = await rigOf((_, { response }) => {
        response.writeHead(status).end('<html>')
        return undefined
      })
      expect(faultOf(await read(rig, 1))).toBe(`node 1 of 1: answered HTTP ${status}`)
    },
  )

  test('is quoted for each failed request of a batch with HTTP 400, and the other answers count', async () => {
    const rig = await rigOf((batch, { response }) => {
      response.statusCode = 400
      return echoed(batch).map(({ id, ...item }, n) =>
        n === 1
          ? { jsonrpc: '2.0', id, error: { code: -32000, message: 'not this one' } }
          : { ...item, id },
      )
    })
    const reply = await rig.nodes.read({ route: 'view', size: 2 }, async (node) => {
      const refused = node.request('eth_getCode', ['0x01']).catch(({ message }: Error) => message)
      const taken = node.request('eth_getCode', ['0x02'])
      return { ok: true, value: await Promise.all([refused, taken]) }
    })
    expect(reply).toEqual({ ok: true, value: ['not this one', '0x02'] })
  })
})
