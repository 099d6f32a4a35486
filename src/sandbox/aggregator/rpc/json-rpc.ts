import * as z from 'zod'
import { ERROR_MESSAGES, rpcRequestSchema } from '../../../venues/call/client/aggregator-wire.ts'

export type RpcErrorObject = {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}
export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcErrorObject }

/** Codes of JSON-RPC 2.0, then the sandbox's own, because the interface defines no error codes. */
const ERROR_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  refused: -32000,
  accountNotFound: -32001,
  insufficientBalance: -32002,
  transactionNotFound: -32003,
  authentication: -32004,
  rateLimited: -32005,
} as const

const BATCH_MAX = 100
const WRONG_PARAMS = errorOf('invalidParams', 'params: a list, or an object with the names')

/** A request without an id is a notification and gets no response. The id null gets one. */
const requestSchema = rpcRequestSchema.extend({
  params: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).default([]),
  id: rpcRequestSchema.shape.id.nullish(),
})
const identified = rpcRequestSchema.pick({ id: true })
const withAnyParams = requestSchema.extend({ params: z.unknown() })

export type RpcCall = z.output<typeof requestSchema>

/** Requests in a body; for an item that is no request an error and its id, or null. `isBatch`: the responses belong in an array. */
export function readCalls(text: string) {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, error: SERVICE_ERRORS.parse } as const
  }
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  const refused = (why: string) => ({ ok: false, error: errorOf('invalidRequest', why) }) as const
  if (items.length === 0) return refused('an empty batch')
  if (items.length > BATCH_MAX) return refused(`more than ${BATCH_MAX} requests`)
  const calls = items.map((item) => {
    const { data: call } = requestSchema.safeParse(item)
    const error = withAnyParams.safeParse(item).success
      ? WRONG_PARAMS
      : SERVICE_ERRORS.invalidRequest
    return { call, id: call?.id ?? identified.safeParse(item).data?.id ?? null, error }
  })
  return { ok: true, isBatch: Array.isArray(value), calls } as const
}

export type RpcResponse = ReturnType<typeof respond>

export function respond(id: string | number | null, outcome: Outcome) {
  return outcome.ok
    ? ({ jsonrpc: '2.0', id, result: outcome.result } as const)
    : ({ jsonrpc: '2.0', id, error: outcome.error } as const)
}

export function succeed(result: unknown): Outcome {
  return { ok: true, result }
}

export function fail(code: keyof typeof ERROR_CODES, message: string): Outcome {
  return { ok: false, error: errorOf(code, message) }
}

/** An error with the interface's own message. */
export function failKnown(code: keyof typeof ERROR_MESSAGES): Outcome {
  return fail(code, ERROR_MESSAGES[code])
}

export function errorOf(code: keyof typeof ERROR_CODES, message: string): RpcErrorObject {
  return { code: ERROR_CODES[code], message }
}

/** Errors that any request may get. */
export const SERVICE_ERRORS = {
  parse: errorOf('parse', 'the body is not well-formed JSON'),
  invalidRequest: errorOf('invalidRequest', 'not a JSON-RPC 2.0 request'),
  methodNotFound: errorOf(
    'methodNotFound',
    'no such method here: standard methods go to a standard provider',
  ),
  internal: errorOf('internal', 'internal failure'),
  rateLimited: errorOf('rateLimited', 'too many requests'),
} as const
