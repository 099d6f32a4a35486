import { type Hex, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import * as z from 'zod'
import { lower } from '../account/accounts.ts'
import { errorOf, SERVICE_ERRORS } from './json-rpc.ts'
import type { Method } from './method.ts'

/** OpenRPC 1.2.6 description of the methods. `origin`: address of the service. */
export function openRpcDocument(
  methods: Iterable<Method>,
  { origin, passthrough }: { readonly origin: string; readonly passthrough: boolean },
) {
  const others = passthrough
    ? 'Standard methods that are not listed go to the node.'
    : 'Standard methods that are not listed go to a standard provider.'
  return {
    openrpc: '1.2.6',
    info: {
      title: 'Transaction aggregation service (sandbox)',
      version: '1.0.0',
      description: `${others} Every method may also answer the errors in components.errors.`,
    },
    servers: [{ name: 'sandbox', url: `${origin}/` }],
    methods: Array.from(methods, described),
    components: { errors: SERVICE_ERRORS },
  }
}

function described({ name, summary, form, inOneObject, result, errors, example }: Method) {
  const { params } = form
  return {
    name,
    summary,
    paramStructure: 'either',
    params: params.map(descriptor),
    ...(inOneObject && { 'x-in-one-object': inOneObject.params.map(descriptor) }),
    result: { name: result.name, schema: shapeOf(result.schema) },
    errors: [
      ...errors,
      errorOf('invalidParams', 'params: the name of the parameter, and what is expected'),
    ],
    ...(example && {
      examples: [
        {
          name: `${name} example`,
          params: example.params.map((value, index) => ({ name: params[index]?.name, value })),
          result: { name: result.name, value: example.result },
        },
      ],
    }),
  }
}

function descriptor({ name, schema, isRequired }: Method['form']['params'][number]) {
  return { name, required: isRequired, schema: shapeOf(schema) }
}

/** JSON schema in the version that OpenRPC uses. */
function shapeOf(schema: z.ZodType) {
  const { $schema: _, ...shape } = z.toJSONSchema(schema, { target: 'draft-7', io: 'input' })
  return shape
}

export type ExampleTransaction = Awaited<ReturnType<typeof exampleTransaction>>

/** The transaction of the examples: its account sends itself nothing. The key is public, so that examples can be repeated. */
export async function exampleTransaction(chainId: number) {
  const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
  const raw: Hex = await account.signTransaction({
    type: 'eip1559',
    chainId,
    nonce: 0,
    to: account.address,
    gas: 21_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
  })
  return { raw, hash: keccak256(raw), account: lower(account.address) }
}
