type Scrub = (text: string) => string

export type RpcCall = { readonly method: string; readonly params: readonly unknown[] }

/** A JSON-RPC error object. The message is fit for a log: bounded, without addresses of nodes or long hex. */
export type RpcError = { readonly code: number; readonly message: string; readonly data: unknown }

/** Answers of one batch, in the order of its calls. */
export type RpcAnswers = {
  /** Throws UnusableAnswer when the call was answered with an error. */
  result(index: number): unknown
  error(index: number): RpcError | undefined
}

/** An answer that says nothing about the chain. Thrown by parsers, caught by the client: it becomes `unavailable`. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer'
}

/** "Limit exceeded" of EIP-1474, and what nodes behind gateways use for the same. */
export const LIMIT_CODES: readonly number[] = [-32005, 429]

/** How a request ended for the metrics: an HTTP status, or a word. */
export type RpcTrouble = { readonly status: string; readonly message: string }
export type RpcExchange =
  | { readonly ok: true; readonly answers: RpcAnswers }
  | ({ readonly ok: false } & RpcTrouble)

export function encodeBatch(calls: readonly RpcCall[], firstId: number): string {
  return JSON.stringify(
    calls.map(({ method, params }, index) => ({
      jsonrpc: '2.0',
      id: firstId + index,
      method,
      params,
    })),
  )
}

/**
 * Reads the body of a reply to the batch whose ids begin at `firstId`: every call answered exactly once, by exactly
 * one of result and error. A node's complaint about our pace is trouble with the node, not an answer.
 */
export function parseBatch(
  text: string,
  expected: { firstId: number; count: number },
  scrub: Scrub,
): RpcExchange {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return malformed('sent no JSON')
  }
  if (!Array.isArray(body)) return malformed(refusedBatch(body, scrub))
  if (body.length !== expected.count) return malformed('left calls of the batch unanswered')
  const results: unknown[] = new Array(expected.count)
  const errors: (RpcError | undefined)[] = new Array(expected.count)
  const seen = new Set<number>()
  for (const item of body) {
    const index = indexOf(item, expected)
    if (index === undefined || seen.has(index)) return malformed('answered what was not asked')
    seen.add(index)
    const answer = item as { result?: unknown; error?: unknown }
    if ('result' in answer === 'error' in answer)
      return malformed('sent an answer that is not exactly one of result and error')
    results[index] = answer.result
    if (!('error' in answer)) continue
    const error = parseError(answer.error, scrub)
    if (error === undefined) return malformed('sent an error without code and message')
    if (LIMIT_CODES.includes(error.code))
      return { ok: false, status: 'limited', message: `is limiting us: ${error.message}` }
    errors[index] = error
  }
  return {
    ok: true,
    answers: {
      error: (index) => errors[index],
      result(index) {
        const error = errors[index]
        if (error !== undefined) throw new UnusableAnswer(`error ${error.code}: ${error.message}`)
        return results[index]
      },
    },
  }
}

function malformed(message: string): RpcExchange {
  return { ok: false, status: 'malformed', message }
}

/** A batch may be refused as a whole, with one error object in place of the list. */
function refusedBatch(body: unknown, scrub: Scrub): string {
  const refusal = typeof body === 'object' && body !== null && 'error' in body ? body.error : null
  const error = parseError(refusal, scrub)
  return error === undefined ? 'sent no list of answers' : `refused the batch: ${error.message}`
}

function indexOf(item: unknown, expected: { firstId: number; count: number }): number | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  if (!('jsonrpc' in item) || item.jsonrpc !== '2.0' || !('id' in item)) return undefined
  if (typeof item.id !== 'number' || !Number.isInteger(item.id)) return undefined
  const index = item.id - expected.firstId
  return index >= 0 && index < expected.count ? index : undefined
}

function parseError(error: unknown, scrub: Scrub): RpcError | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if (!('code' in error) || typeof error.code !== 'number') return undefined
  if (!('message' in error) || typeof error.message !== 'string') return undefined
  return {
    code: error.code,
    message: scrub(error.message),
    data: 'data' in error ? error.data : undefined,
  }
}
