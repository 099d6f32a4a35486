import * as z from 'zod'

/** JSON-RPC 2.0: the envelope of requests and responses, on one request or an array of them. */
export type RpcId = string | number | null
export type RpcErrorObject = { readonly code: number; readonly message: string }
export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcErrorObject }
export type RpcResponse = { readonly jsonrpc: '2.0'; readonly id: RpcId } & (
  | { readonly result: unknown }
  | { readonly error: RpcErrorObject }
)

/** The codes of JSON-RPC 2.0, and behind them this sandbox's own for what the interface leaves without a number. */
export const ERROR_CODES = {
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

/** One request as it came; `undefined` in place of a request that is none. */
export type RpcCall = {
  readonly method: string
  readonly params: readonly unknown[]
  /** Undefined for a notification, which gets no response. */
  readonly id: RpcId | undefined
}

const BATCH_MAX = 100

const requestSchema = z.object({
  jsonrpc: z.literal('2.0'),
  method: z.string().min(1),
  params: z.array(z.unknown()).default([]),
  id: z.union([z.string(), z.number()]).optional(),
})

/** The calls in a body; `isBatch` says whether the responses go into an array. */
export type ReadBody =
  | {
      readonly ok: true
      readonly isBatch: boolean
      readonly calls: readonly (RpcCall | undefined)[]
    }
  | { readonly ok: false; readonly error: RpcErrorObject }

export function readCalls(text: string): ReadBody {
  const parsed = parse(text)
  if (!parsed.ok) return { ok: false, error: errorOf('parse', 'the body is not well-formed JSON') }
  const { value } = parsed
  if (!Array.isArray(value)) return { ok: true, isBatch: false, calls: [readCall(value)] }
  if (value.length === 0) return { ok: false, error: errorOf('invalidRequest', 'an empty batch') }
  if (value.length > BATCH_MAX) {
    return { ok: false, error: errorOf('invalidRequest', `more than ${BATCH_MAX} requests`) }
  }
  return { ok: true, isBatch: true, calls: value.map(readCall) }
}

export function respond(id: RpcId, outcome: Outcome): RpcResponse {
  return outcome.ok
    ? { jsonrpc: '2.0', id, result: outcome.result }
    : { jsonrpc: '2.0', id, error: outcome.error }
}

export function succeed(result: unknown): Outcome {
  return { ok: true, result }
}

export function fail(code: keyof typeof ERROR_CODES, message: string): Outcome {
  return { ok: false, error: errorOf(code, message) }
}

export function errorOf(code: keyof typeof ERROR_CODES, message: string): RpcErrorObject {
  return { code: ERROR_CODES[code], message }
}

function readCall(value: unknown): RpcCall | undefined {
  const parsed = requestSchema.safeParse(value)
  if (!parsed.success) return undefined
  const { method, params, id } = parsed.data
  return { method, params, id }
}

function parse(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return { ok: false }
  }
}
