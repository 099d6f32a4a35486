import type * as z from 'zod'
import type { AggregatorRoute } from '../../faults.ts'
import { fail, type Outcome, type RpcCall, type RpcErrorObject } from './json-rpc.ts'

/** The HTTP request around a call. */
export type Envelope = {
  readonly signatureHeader: string | undefined
  /** The text that the signature covers. */
  readonly bodyText: string
  /** Address of the service as the client wrote it, without a path. */
  readonly origin: string
}

/** A method of the service: its calls, its errors and its description all come from here. */
export type Method = {
  readonly name: string
  readonly summary: string
  /** The faults that apply; none if there is no route. */
  readonly route?: AggregatorRoute
  readonly form: Form
  /** Another form of the parameters: one object in the list. */
  readonly inOneObject?: Form
  readonly result: { readonly name: string; readonly schema: z.ZodType }
  /** Errors besides those of every method. */
  readonly errors: readonly RpcErrorObject[]
  readonly example?: { readonly params: readonly unknown[]; readonly result: unknown }
}

/** Parameters, and what a call with them does. */
type Form = ReturnType<typeof form>

/** `names`: of the parameters in the schema, in their order. */
export function form<Schema extends z.ZodTuple>(
  names: readonly string[],
  schema: Schema,
  run: (params: z.output<Schema>, envelope: Envelope) => Promise<Outcome>,
) {
  const params = names.map((name, index) => {
    const item = schema.def.items[index] as z.ZodType
    return { name, schema: item, isRequired: !item.safeParse(undefined).success }
  })
  return {
    params,
    async call(listed: readonly unknown[], envelope: Envelope): Promise<Outcome> {
      const missing = params.find(
        ({ isRequired }, index) => isRequired && listed[index] === undefined,
      )
      if (missing !== undefined) return invalid(`${missing.name} is missing`)
      if (listed.length > params.length)
        return invalid(`${listed.length} parameters: expected ${names.join(', ') || 'none'}`)
      const parsed = schema.safeParse(listed)
      if (parsed.success) return run(parsed.data, envelope)
      const [{ path, message } = { path: [], message: 'invalid' }] = parsed.error.issues
      const [index, ...inside] = path
      return invalid(`${[names[Number(index)], ...inside].join('.')}: ${message}`)
    },
  }
}

/** Calls a method with its parameters as a list or by name. */
export function callMethod(method: Method, { params }: RpcCall, envelope: Envelope) {
  if (!Array.isArray(params)) return callByName(method.form, params, envelope)
  const [first] = params
  const isObject = typeof first === 'object' && first !== null && !Array.isArray(first)
  return ((isObject && method.inOneObject) || method.form).call(params, envelope)
}

async function callByName(
  { params, call }: Form,
  given: Readonly<Record<string, unknown>>,
  envelope: Envelope,
): Promise<Outcome> {
  const names = params.map(({ name }) => name)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined)
    return invalid(`no parameter is named ${unknown}: expected ${names.join(', ') || 'none'}`)
  const listed = names.map((name) => given[name])
  // A list ends with its last given parameter.
  return call(listed.slice(0, listed.findLastIndex((value) => value !== undefined) + 1), envelope)
}

function invalid(what: string): Outcome {
  return fail('invalidParams', `params: ${what}`)
}
