import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import * as z from 'zod'
import {
  bodyOf,
  credential,
  delegatedAccount,
  landed,
  newAccount,
  post,
  QUIET,
  type RpcReply,
  rawTransaction,
  recordData,
  sepoliaClient,
} from '../../support/aggregator/aggregator.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const unknownHash: Hex = `0x${'ab'.repeat(32)}`
const EXAMPLE = privateKeyToAccount(`0x${'11'.repeat(32)}`)

const jsonSchema = z.record(z.string(), z.json())
const descriptor = z.strictObject({ name: z.string(), required: z.boolean(), schema: jsonSchema })
const errorObject = z.strictObject({ code: z.int(), message: z.string().min(1) })
const named = z.strictObject({ name: z.string(), value: z.json() })
/** The parts of OpenRPC 1.2.6 that the document uses; nothing else may stand in it. */
const openRpc = z.strictObject({
  openrpc: z.literal('1.2.6'),
  info: z.strictObject({ title: z.string(), version: z.string(), description: z.string() }),
  servers: z.array(z.strictObject({ name: z.string(), url: z.url() })).length(1),
  methods: z.array(
    z.strictObject({
      name: z.string(),
      summary: z.string(),
      paramStructure: z.literal('either'),
      params: z.array(descriptor),
      'x-in-one-object': z.array(descriptor).optional(),
      result: z.strictObject({ name: z.string(), schema: jsonSchema }),
      errors: z.array(errorObject),
      examples: z
        .array(z.strictObject({ name: z.string(), params: z.array(named), result: named }))
        .length(1)
        .optional(),
    }),
  ),
  components: z.strictObject({ errors: z.record(z.string(), errorObject) }),
})
type Described = z.output<typeof openRpc>['methods'][number]

async function documentOf() {
  const response = await fetch(`${sandbox().aggregatorUrl}/docs`)
  expect(response.headers.get('content-type')).toBe('application/json')
  return openRpc.parse(await response.json())
}

async function methodOf(name: string): Promise<Described> {
  const found = (await documentOf()).methods.find((method) => method.name === name)
  if (found === undefined) throw new Error(`${name} is not described`)
  return found
}

function schemaOf(schema: z.output<typeof jsonSchema>): z.ZodType {
  return z.fromJSONSchema(schema as never, { defaultTarget: 'draft-7' })
}

/** Calls a method, with a signature if there is a signer, and holds the answer against the description. */
async function ask(
  method: Described,
  params: readonly unknown[] | object,
  signer?: PrivateKeyAccount,
): Promise<RpcReply['body']> {
  const text = bodyOf(method.name, params as unknown[], 'id')
  const headers = signer && { 'x-relay-signature': await credential(signer, text) }
  const { body } = await post(sandbox(), text, headers)
  expect(body.id).toBe('id')
  if (body.error === undefined) schemaOf(method.result.schema).parse(body.result)
  else expect(method.errors.map(({ code }) => code)).toContain(body.error.code)
  return body
}

/** The example's parameters; they are valid, and belong to an account without a deposit until a test deposits. */
function exampleOf({ examples }: Described): unknown[] {
  return examples?.[0]?.params.map(({ value }) => value) ?? []
}

test('the document at /docs describes the six methods and rpc.discover, which answers it', async () => {
  const document = await documentOf()
  expect(document.methods.map(({ name }) => name)).toEqual([
    'eth_sendRawTransaction',
    'eth_getTransactionReceipt',
    'eth_sendBundle',
    'agg_accountInfo',
    'agg_transactionStatus',
    'agg_getBatchedTransactionReceipt',
    'rpc.discover',
  ])
  const [server] = document.servers
  expect(server?.url).toBe(`${sandbox().aggregatorUrl}/`)
  const { result } = await ask(await methodOf('rpc.discover'), [])
  expect(result).toEqual(document)
})

test('required parameters are refused if they are missing, optional ones are not, in a list and by name', async () => {
  const { methods } = await documentOf()
  const optional: string[] = []
  for (const method of methods) {
    const { params } = method
    const names = params.map(({ name }) => name)
    const values = exampleOf(method)
    const full = [...values, ...params.slice(values.length).map(() => 'token')]
    const isRefused = async (given: readonly unknown[] | object): Promise<boolean> =>
      (await ask(method, given)).error?.code === -32602
    expect(await isRefused(full)).toBe(false)
    expect(await isRefused([...full, 'more'])).toBe(true)
    expect(await isRefused({ ...pairs(names, full), more: 1 })).toBe(true)
    for (const [index, { name, required, schema }] of params.entries()) {
      if (!required) optional.push(`${method.name} ${name}`)
      const without = pairs(names, full)
      delete without[name]
      expect([name, await isRefused(without)]).toEqual([name, required])
      // A list can only end early.
      expect([name, await isRefused(full.slice(0, index))]).toEqual([
        name,
        params.slice(index).some((each) => each.required),
      ])
      schemaOf(schema).parse(full[index])
      for (const wrong of [true, null, '', 'latest', [], ['0x']].filter(
        (value) => !schemaOf(schema).safeParse(value).success,
      ))
        expect(await isRefused({ ...pairs(names, full), [name]: wrong })).toBe(true)
    }
  }
  expect(optional).toEqual(['agg_transactionStatus token'])
})

test('the other form of a bundle is described as it is accepted', async () => {
  const method = await methodOf('eth_sendBundle')
  const [bundle] = method['x-in-one-object'] ?? []
  const [[raw], blockNumber] = exampleOf(method) as [Hex[], string]
  const shape = schemaOf(bundle?.schema ?? {})
  const given = [
    { txs: [raw], blockNumber },
    { txs: [raw] },
    { txs: [raw], blockNumber: null },
    { txs: [] },
    { blockNumber },
    { txs: [raw], blockNumber: 'latest' },
  ]
  for (const value of given) {
    const isRefused = (await ask(method, [value])).error?.code === -32602
    expect(isRefused).toBe(!shape.safeParse(value).success)
  }
})

test('every error of a method occurs, and no other', async () => {
  const { methods } = await documentOf()
  const stranger = privateKeyToAccount(generatePrivateKey())
  const poor = await delegatedAccount(sandbox(), 'trusted')
  const empty = await newAccount(sandbox(), { deposit: 1n })
  const to = sandbox().sepolia.contracts.demoTarget
  const data = recordData('01')
  const unfunded = await rawTransaction(sandbox(), stranger, { to, data })
  const used = await rawTransaction(sandbox(), poor, { to, data, nonce: 0 })
  const raws = [unfunded, used, await unpayableCall()]
  const attempts: Record<string, [params: unknown[], signer?: PrivateKeyAccount][]> = {
    eth_sendRawTransaction: raws.map((raw) => [[raw]]),
    eth_sendBundle: raws.map((raw) => [[[raw], '0x1']]),
    eth_getTransactionReceipt: [[[unknownHash]]],
    agg_accountInfo: [
      [[empty.address]],
      [[empty.address], stranger],
      [[stranger.address], stranger],
      [[empty.address], empty],
    ],
    agg_transactionStatus: [[[unknownHash]], [[unknownHash, 'token']]],
    agg_getBatchedTransactionReceipt: [[[unknownHash]]],
    'rpc.discover': [[[]]],
  }
  for (const method of methods) {
    const bodies = [await ask(method, [true, true, true])]
    for (const [params, signer] of attempts[method.name] ?? [])
      bodies.push(await ask(method, params, signer))
    const reached = new Set(bodies.flatMap(({ error }) => (error ? [error.code] : [])))
    expect([method.name, [...reached].sort()]).toEqual([
      method.name,
      method.errors.map(({ code }) => code).sort(),
    ])
    // Known messages are those of the description.
    for (const { error } of bodies)
      if ([-32001, -32002, -32003, -32004].includes(error?.code))
        expect(method.errors).toContainEqual(error)
  }
})

/** A call of a delegated account whose deposit cannot pay for it. */
async function unpayableCall(): Promise<Hex> {
  const account = await newAccount(sandbox(), { deposit: 1n })
  const { trustedProposer, demoTarget } = sandbox().sepolia.contracts
  await sepoliaClient(sandbox()).request({
    method: 'anvil_setCode',
    params: [account.address, `0xef0100${trustedProposer.slice(2)}`],
  } as never)
  return rawTransaction(sandbox(), account, { to: demoTarget, data: recordData('02') })
}

test('every error of the service occurs as described', async () => {
  const { components } = await documentOf()
  const text = bodyOf('eth_getTransactionReceipt', [unknownHash])
  const answers = [
    await post(sandbox(), '{'),
    await post(sandbox(), '{}'),
    await post(sandbox(), bodyOf('eth_call', [])),
  ]
  for (const kind of ['errorBefore', 'rateLimit'] as const) {
    sandbox().faults.set({ rules: [{ kind, route: 'transactionReceipt', count: 1 }] })
    answers.push(await post(sandbox(), text))
  }
  expect(answers.map(({ body }) => body.error)).toEqual(Object.values(components.errors))
})

test('the examples run and answer as shown', async () => {
  const { methods } = await documentOf()
  const deposit = 5n * 10n ** 16n
  await newAccount(sandbox(), { key: `0x${'11'.repeat(32)}`, deposit })
  for (const method of methods) {
    const { name, examples, params, result } = method
    if (name === 'rpc.discover') continue
    const [example] = examples ?? []
    expect(example?.params.map((each) => each.name)).toEqual(
      params.slice(0, example?.params.length).map((each) => each.name),
    )
    const shown = example?.result.value as never
    schemaOf(result.schema).parse(shown)
    const answer = await ask(method, exampleOf(method), EXAMPLE)
    if (name === 'eth_getTransactionReceipt') {
      const { transactionHash } = await landed(sandbox(), exampleOf(method)[0] as Hex)
      expect(shown).toMatchObject({ transactionHash })
    } else if (name === 'agg_transactionStatus') {
      expect(Object.keys(answer.result)).toEqual(Object.keys(shown))
      const { hash, account, route } = shown as Record<string, unknown>
      expect(answer.result).toMatchObject({ hash, account, route })
    } else expect([name, answer.result]).toEqual([name, shown])
  }
})

function pairs(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name, index) => [name, values[index]]))
}
