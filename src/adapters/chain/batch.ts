type Scrub = (text: string) => string

export type RpcRequest = { readonly method: string; readonly params: readonly unknown[] }

/** An error in the place of a result. The message is fit for a log: bounded, without addresses of nodes or long hex. */
export class RpcRefusal extends Error {
  override readonly name = 'RpcRefusal'
  readonly code: number
  readonly data: unknown
  constructor(refusal: {
    readonly code: number
    readonly message: string
    readonly data: unknown
  }) {
    super(refusal.message)
    this.code = refusal.code
    this.data = refusal.data
  }
}

/** There is no answer to believe: it says nothing about the chain. `status` is its word in the metrics. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer'
  readonly status: string
  constructor(message: string, status = 'unusable') {
    super(message)
    this.status = status
  }
}

/** "Limit exceeded" of EIP-1474, and what nodes behind gateways use for the same. */
export const LIMIT_CODES: readonly number[] = [-32005, 429]

export function encodeBatch(requests: readonly RpcRequest[], firstId: number): string {
  return JSON.stringify(
    requests.map(({ method, params }, index) => ({
      jsonrpc: '2.0',
      id: firstId + index,
      method,
      params,
    })),
  )
}

/**
 * Answers to the batch whose ids begin at `firstId`, in the order of its requests: every one answered exactly once, by
 * exactly one of result and error. Throws UnusableAnswer for any other body, and for a complaint about our pace, which is
 * trouble with the node and no answer.
 */
export function parseBatch(
  text: string,
  expected: { readonly firstId: number; readonly count: number },
  scrub: Scrub,
): readonly unknown[] {
  const body = parseList(text, scrub)
  if (body.length !== expected.count) throw malformed('left calls of the batch unanswered')
  const answers: unknown[] = new Array(expected.count)
  const seen = new Set<number>()
  for (const item of body) {
    const index = indexOf(item, expected)
    if (index === undefined || seen.has(index)) throw malformed('answered what was not asked')
    seen.add(index)
    answers[index] = answerOf(item as object, scrub)
  }
  return answers
}

function parseList(text: string, scrub: Scrub): readonly unknown[] {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw malformed('sent no JSON')
  }
  if (Array.isArray(body)) return body
  // A batch may be refused as a whole, with one error object in place of the list.
  const refusal = refusalOf(body, scrub)
  if (refusal === undefined) throw malformed('sent no list of answers')
  throw malformed(`refused the batch: ${refusal.message}`)
}

/** A result, or an RpcRefusal in its place. */
function answerOf(item: object, scrub: Scrub): unknown {
  if ('result' in item === 'error' in item)
    throw malformed('sent an answer that is not exactly one of result and error')
  if ('result' in item) return item.result
  const refusal = refusalOf(item, scrub)
  if (refusal === undefined) throw malformed('sent an error without code and message')
  if (LIMIT_CODES.includes(refusal.code))
    throw new UnusableAnswer(`is limiting us: ${refusal.message}`, 'limited')
  return refusal
}

function malformed(message: string): UnusableAnswer {
  return new UnusableAnswer(message, 'malformed')
}

function indexOf(item: unknown, expected: { firstId: number; count: number }): number | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  if (!('jsonrpc' in item) || item.jsonrpc !== '2.0' || !('id' in item)) return undefined
  if (typeof item.id !== 'number' || !Number.isInteger(item.id)) return undefined
  const index = item.id - expected.firstId
  return index >= 0 && index < expected.count ? index : undefined
}

function refusalOf(item: unknown, scrub: Scrub): RpcRefusal | undefined {
  const error = typeof item === 'object' && item !== null && 'error' in item ? item.error : null
  if (typeof error !== 'object' || error === null) return undefined
  if (!('code' in error) || typeof error.code !== 'number') return undefined
  if (!('message' in error) || typeof error.message !== 'string') return undefined
  const data = 'data' in error ? error.data : undefined
  return new RpcRefusal({ code: error.code, message: scrub(error.message), data })
}
