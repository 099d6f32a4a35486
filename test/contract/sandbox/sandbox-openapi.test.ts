import { request as httpRequest } from 'node:http'
import { json } from 'node:stream/consumers'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, expect, test } from 'vitest'
import * as z from 'zod'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import {
  newTrader,
  quoteBody,
  quoteFor,
  type Response,
  rest,
  sandboxForSuite,
  signBlindly,
  submit,
  traderOf,
} from '../../support/sandbox.ts'

const ONE = { limit: 1, windowMs: 60_000 }
const sandbox = sandboxForSuite()
const small = sandboxForSuite({
  gasless: {
    rateLimits: { tokens: ONE, quote: ONE, orders: ONE, order: ONE },
    rateLimitReset: 'duration',
  },
})
const EXAMPLE = privateKeyToAccount(`0x${'11'.repeat(32)}`)

afterEach(() => sandbox().faults.set({}))

const jsonSchema = z.record(z.string(), z.json())
const ref = z.strictObject({ $ref: z.string() })
const content = z.strictObject({
  'application/json': z.strictObject({ schema: ref, example: z.json().optional() }),
})
const reply = z.strictObject({
  description: z.string(),
  headers: z.record(z.string(), ref).optional(),
  content,
  links: jsonSchema.optional(),
})
const operation = z.strictObject({
  operationId: z.string(),
  summary: z.string(),
  parameters: z
    .array(
      z.strictObject({
        name: z.string(),
        in: z.enum(['path', 'query']),
        required: z.literal(true),
        description: z.string(),
        schema: jsonSchema,
      }),
    )
    .optional(),
  requestBody: z.strictObject({ required: z.literal(true), content }).optional(),
  responses: z.record(z.string().regex(/^\d{3}$/), z.union([reply, ref])),
})
/** The parts of OpenAPI 3.1 that the document uses; nothing else may stand in it. */
const openApi = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({ title: z.string(), version: z.string(), description: z.string() }),
  servers: z.array(z.strictObject({ url: z.url() })).length(1),
  paths: z.record(z.string().startsWith('/'), z.partialRecord(z.enum(['get', 'post']), operation)),
  components: z.strictObject({
    schemas: z.record(z.string(), jsonSchema),
    responses: z.record(z.string(), reply),
    headers: z.record(
      z.string(),
      z.strictObject({ description: z.string(), required: z.boolean(), schema: jsonSchema }),
    ),
  }),
})
type Document = z.output<typeof openApi>
type Content = z.output<typeof content>

async function documentOf(of: Sandbox = sandbox()): Promise<Document> {
  const { status, headers, body } = await rest(of, 'GET', '/openapi.json')
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
  return openApi.parse(body)
}

function operationsOf({ paths }: Document) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({
      ...each,
      path,
      method: method.toUpperCase(),
    })),
  )
}

function operationOf(document: Document, id: string) {
  const found = operationsOf(document).find(({ operationId }) => operationId === id)
  if (found === undefined) throw new Error(`${id} is not described`)
  return found
}

function componentOf(document: Document, { $ref }: z.output<typeof ref>) {
  const [, kind, name] = /^#\/components\/(\w+)\/([\w-]+)$/.exec($ref) ?? []
  const found = document.components[kind as keyof Document['components']]?.[name ?? '']
  if (found === undefined) throw new Error(`${$ref} leads nowhere`)
  return found
}

function validatorOf(document: Document, schema: object): z.ZodType {
  const whole = { ...schema, $defs: document.components.schemas }
  const moved = JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema(JSON.parse(moved))
}

function bodyOf(document: Document, of: Content | undefined) {
  if (of === undefined) throw new Error('no body is described')
  const { schema, example } = of['application/json']
  return { schema: validatorOf(document, schema), example: example as Record<string, unknown> }
}

/** Holds an answer against the description of its status. */
function checked(document: Document, id: string, answer: Response): number {
  const described = operationOf(document, id).responses[answer.status]
  if (described === undefined) throw new Error(`${id} does not describe ${answer.status}`)
  const { content: own, headers = {} } = reply.parse(
    '$ref' in described ? componentOf(document, described as z.output<typeof ref>) : described,
  )
  bodyOf(document, own).schema.parse(answer.body)
  for (const [name, header] of Object.entries(headers)) {
    const { schema, required } = componentOf(
      document,
      header,
    ) as Document['components']['headers'][string]
    expect([name, required]).toEqual([name, true])
    validatorOf(document, schema).parse(Number(answer.headers.get(name) ?? 'missing'))
  }
  return answer.status
}

test('the document describes the four operations at the address that the client used', async () => {
  const document = await documentOf()
  const operations = operationsOf(document)
  expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /tokens',
    'POST /quote',
    'POST /orders',
    'GET /orders/{orderId}',
  ])
  expect(document.servers).toEqual([{ url: `${sandbox().gaslessUrl}/api/v1` }])
  const headers = { host: 'swap.localhost:8080' }
  const request = httpRequest(`${sandbox().gaslessUrl}/api/v1/openapi.json`, { headers }).end()
  const body = await new Promise((resolve, reject) =>
    request.on('error', reject).on('response', (response) => resolve(json(response))),
  )
  expect(body).toMatchObject({ servers: [{ url: 'http://swap.localhost:8080/api/v1' }] })
})

test('every reference leads to a part of the document, and every part is used', async () => {
  const document = await documentOf()
  const used = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to)
  for (const $ref of used) componentOf(document, { $ref: $ref ?? '' })
  const parts = Object.entries(document.components).flatMap(([kind, of]) =>
    Object.keys(of).map((name) => `#/components/${kind}/${name}`),
  )
  expect([...new Set(used)].sort()).toEqual(parts.sort())
})

test('every described status is reached with its headers and its body, and no other', async () => {
  const document = await documentOf()
  const trader = await newTrader(sandbox(), { USDC: '1000000000' })
  const quote = await quoteFor(sandbox(), trader)
  const first = await submit(sandbox(), trader, quote, 'status')
  const order = `/orders/${first.body.orderId}`
  const wanted = quoteBody(sandbox(), trader.address)
  const attempts: Record<string, [method: string, path: string, body?: unknown][]> = {
    listTokens: [
      ['GET', '/tokens?chainId=8453'],
      ['GET', '/tokens?chainId=1'],
    ],
    requestQuote: [
      ['POST', '/quote', wanted],
      ['POST', '/quote', {}],
    ],
    submitOrder: [
      ['POST', '/orders', {}],
      ['POST', '/orders', await orderOf(sandbox(), trader, 'status')],
      ['POST', '/orders', await orderOf(sandbox(), trader, 'other')],
    ],
    getOrder: [
      ['GET', order],
      ['GET', '/orders/nothing'],
      ['GET', `/orders/${'x'.repeat(129)}`],
    ],
  }
  for (const { operationId, responses } of operationsOf(document)) {
    const tries = attempts[operationId] ?? []
    const reached = new Set<number>()
    for (const each of tries)
      reached.add(checked(document, operationId, await rest(sandbox(), ...each)))
    const [again = ['GET', '/']] = tries
    sandbox().faults.set({ rules: [{ kind: 'errorBefore', count: 1 }] })
    reached.add(checked(document, operationId, await rest(sandbox(), ...again)))
    await rest(small(), ...again)
    const limited = await rest(small(), ...again)
    reached.add(checked(await documentOf(small()), operationId, limited))
    expect([operationId, [...reached].sort()]).toEqual([
      operationId,
      Object.keys(responses).map(Number).sort(),
    ])
  }
})

async function orderOf(of: Sandbox, trader: ReturnType<typeof traderOf>, clientOrderId: string) {
  const quote = await quoteFor(of, trader)
  return { quoteId: quote.id, signature: await signBlindly(trader, quote), clientOrderId }
}

test('required fields and parameters are refused if they are missing or wrong, optional ones are not', async () => {
  const document = await documentOf()
  const trader = traderOf(sandbox())
  const sale = quoteBody(sandbox(), trader.address)
  const { sellAmountBeforeFee: amount, ...others } = sale
  const purchase = { ...others, kind: 'buy', buyAmountAfterFee: amount }
  const options = { receiver: trader.address, slippageBps: 7, routingPreference: 'auto' }
  const optional = new Set<string>()
  const hold = async (id: string, path: string, full: () => Promise<Record<string, unknown>>) => {
    const { schema } = bodyOf(document, operationOf(document, id).requestBody?.content)
    const agree = async (what: string, body: unknown): Promise<boolean> => {
      const isValid = schema.safeParse(body).success
      const { status } = await rest(sandbox(), 'POST', path, body)
      expect([what, status < 300]).toEqual([what, isValid])
      return isValid
    }
    const whole = await full()
    expect(await agree('all', whole)).toBe(true)
    for (const name of Object.keys(whole)) {
      const { [name]: _, ...without } = await full()
      if (await agree(`without ${name}`, without)) optional.add(name)
      for (const wrong of [true, null, '', [], 0, -1, 2_001, 'no', '0x', '0'])
        if (!schema.safeParse({ ...whole, [name]: wrong }).success)
          await agree(`${name} ${JSON.stringify(wrong)}`, { ...(await full()), [name]: wrong })
    }
    await agree('unknown', { ...(await full()), more: 1 })
  }
  await hold('requestQuote', '/quote', async () => ({ ...sale, ...options }))
  await hold('requestQuote', '/quote', async () => ({ ...purchase, ...options }))
  let count = 0
  await hold('submitOrder', '/orders', () => {
    count += 1
    return orderOf(sandbox(), trader, `required:${count}`)
  })
  expect([...optional].sort()).toEqual([
    ...['clientOrderId', 'receiver', 'routingPreference', 'slippageBps'],
  ])
  const [chainId] = operationOf(document, 'listTokens').parameters ?? []
  for (const value of ['8453', '1', '', '8453.0', ' 8453']) {
    const isValid = validatorOf(document, chainId?.schema ?? {}).safeParse(value).success
    const { status } = await rest(sandbox(), 'GET', `/tokens?chainId=${encodeURIComponent(value)}`)
    expect([value, status]).toEqual([value, isValid ? 200 : 400])
  }
  expect((await rest(sandbox(), 'GET', '/tokens')).status).toBe(400)
})

test('the examples run one after another and answer as shown', async () => {
  for (const document of [await documentOf(), await documentOf()]) {
    const shown = (id: string, status: number) => {
      const of = operationOf(document, id).responses[status] as z.output<typeof reply>
      const { schema, example } = bodyOf(document, of.content)
      schema.parse(example)
      return example
    }
    const asked = (id: string) => bodyOf(document, operationOf(document, id).requestBody?.content)
    expect(shown('listTokens', 200)).toEqual(
      (await rest(sandbox(), 'GET', '/tokens?chainId=8453')).body,
    )
    const quoted = await rest(sandbox(), 'POST', '/quote', asked('requestQuote').example)
    expect(quoted.status).toBe(200)
    expect(Object.keys(quoted.body)).toEqual(Object.keys(shown('requestQuote', 200)))
    expect(quoted.body.from).toBe(EXAMPLE.address)
    const submitted = asked('submitOrder').example
    expect(submitted['quoteId']).toBe(shown('requestQuote', 200)['id'])
    const created = await rest(sandbox(), 'POST', '/orders', submitted)
    expect(created.status).toBe(201)
    const { orderId: _, ...order } = shown('submitOrder', 201)
    expect(created.body).toMatchObject(order)
    const polled = await rest(sandbox(), 'GET', `/orders/${created.body.orderId}`)
    const { sellToken, buyToken, sellAmount, quoteId } = shown('getOrder', 200)
    expect(polled.body).toMatchObject({ sellToken, buyToken, sellAmount, quoteId })
  }
})

test('a market without a price for the examples leaves those out', async () => {
  sandbox().market.setUsdPrice('USDC', 10n ** 10n)
  sandbox().market.setUsdPrice('WETH', 10n ** 40n)
  const text = JSON.stringify(await documentOf())
  sandbox().market.setUsdPrice('USDC', 10n ** 18n)
  sandbox().market.setUsdPrice('WETH', 3_000n * 10n ** 18n)
  expect(text).not.toContain('quoteId":"')
})
