import type { TextAnswer } from '../../system/exchange.ts'
import { LIMIT_CODES, type RefusalKind, refusalKind } from './refusals.ts'

type Scrub = (text: string) => string

export type RpcRequest = { readonly method: string; readonly params: readonly unknown[] }

/** A JSON-RPC error in place of a result. The message is safe to log: bounded, without node URLs or long hex. */
export class RpcRefusal extends Error {
  override readonly name = 'RpcRefusal'
  readonly code: number
  readonly data: unknown
  readonly statusCode: number
  readonly kind: RefusalKind
  constructor(refusal: {
    readonly code: number
    readonly message: string
    readonly data: unknown
    /** Default 200. */
    readonly statusCode?: number
    readonly kind?: RefusalKind
  }) {
    super(refusal.message)
    this.code = refusal.code
    this.data = refusal.data
    this.statusCode = refusal.statusCode ?? 200
    this.kind = refusal.kind ?? refusalKind(refusal)
  }
}

/** The answer cannot be used and proves nothing about the chain. `status` is its metrics label. */
export class UnusableAnswer extends Error {
  override readonly name: string = 'UnusableAnswer'
  readonly status: string
  readonly kind: RefusalKind
  constructor(message: string, status = 'unusable', kind: RefusalKind = 'other') {
    super(message)
    this.status = status
    this.kind = kind
  }
}

export class BatchRefused extends UnusableAnswer {
  override readonly name = 'BatchRefused'
}

/** A single request is sent as an object, because some nodes accept no arrays. */
export function encodeBatch(requests: readonly RpcRequest[], firstId: number): string {
  const items = requests.map(({ method, params }, index) => ({
    jsonrpc: '2.0',
    id: firstId + index,
    method,
    params,
  }))
  return JSON.stringify(items.length === 1 ? items[0] : items)
}

type Reply = Pick<TextAnswer, 'statusCode' | 'text'>
type SentBatch = { readonly firstId: number; readonly requests: readonly RpcRequest[] }

/**
 * Parses answers to the requests whose ids begin at `firstId`, in request order. Each id must occur exactly once, with
 * either a result or an error. Gateways return errors with any HTTP status, so the status counts only if the body holds no
 * answers. Throws BatchRefused for one error in place of all answers, and UnusableAnswer for any other body or for a rate
 * limit, which is a failure of the node and not an answer.
 */
export function parseBatch(reply: Reply, sent: SentBatch, scrub: Scrub): readonly unknown[] {
  const { statusCode } = reply
  const { requests } = sent
  const count = requests.length
  const body = jsonOf(reply.text)
  const list: readonly unknown[] = Array.isArray(body) ? body : [body]
  const items = list.slice(0, count)
  const refusals = items.map((item) => refusalOf(item, { statusCode, count, scrub }))
  const places = items.map((item) => indexOf(item, sent))
  const isWhole = list.length === count && new Set(places).size === count
  const first = requests[0]?.method === 'eth_chainId' ? refusals[places.indexOf(0)] : undefined
  // No node refuses eth_chainId alone, so an unknown refusal of it refers to the whole batch.
  const ofBatch =
    refusals.find((each) => each?.kind === 'batch') ?? (first?.kind === 'other' ? first : undefined)
  const tooLong = count > 1 ? ofBatch : undefined
  if (!isWhole || places.includes(undefined) || tooLong !== undefined) {
    const refusal = tooLong ?? refusals.find((each) => each !== undefined)
    throw refusal === undefined
      ? unworded(flawOf(body, isWhole), { statusCode, count })
      : refusedWhole(refusal, count)
  }
  const answers: unknown[] = new Array(count)
  for (const [n, place = 0] of places.entries()) {
    const flaw = flawIn(items[n] as object, refusals[n])
    if (flaw !== undefined) throw unworded(flaw, { statusCode, count })
    answers[place] = answerIn(items[n] as object, refusals[n], requests[place]?.method)
  }
  return answers
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function flawOf(body: unknown, isWhole: boolean): string {
  if (body === undefined) return 'sent no JSON'
  if (!Array.isArray(body)) return 'sent no list of answers'
  return isWhole ? 'answered a request that was not sent' : 'left calls of the batch unanswered'
}

function flawIn(item: object, refusal: RpcRefusal | undefined): string | undefined {
  if ('result' in item === 'error' in item)
    return 'sent an answer that is not exactly one of result and error'
  return 'error' in item && refusal === undefined
    ? 'sent an error without code and message'
    : undefined
}

function answerIn(item: object, refusal: RpcRefusal | undefined, method: string | undefined) {
  if (refusal === undefined) return (item as { readonly result: unknown }).result
  const { kind, code } = refusal
  // Only eth_getLogs uses rate-limit codes for requests that are too large.
  if (kind === 'pace' || (method !== 'eth_getLogs' && LIMIT_CODES.includes(code)))
    throw limitedBy(refusal)
  return refusal
}

/** HTTP statuses of a server that rejects a body without giving a reason. */
const BODY_REFUSED: readonly number[] = [400, 413, 422]
/** HTTP statuses of a gateway that currently has no node behind it. */
const NO_NODE: readonly number[] = [502, 503, 504]

function unworded(
  flaw: string,
  { statusCode, count }: { readonly statusCode: number; readonly count: number },
): UnusableAnswer {
  if (statusCode === 200) return new UnusableAnswer(flaw, 'malformed')
  const Unusable = BODY_REFUSED.includes(statusCode) ? BatchRefused : UnusableAnswer
  const kind = kindBy(statusCode, { worded: 'other', count })
  return new Unusable(`answered HTTP ${statusCode}`, `${statusCode}`, kind)
}

function refusedWhole(refusal: RpcRefusal, count: number): UnusableAnswer {
  const { statusCode, message, kind } = refusal
  if (kind === 'pace' || kind === 'limit') return limitedBy(refusal)
  if (statusCode === 200) {
    const what = count > 1 ? 'batch' : 'request'
    return new BatchRefused(`refused the ${what}: ${message}`, 'malformed', kind)
  }
  const isGone = kind === 'other' && NO_NODE.includes(statusCode)
  const Unusable = isGone ? UnusableAnswer : BatchRefused
  return new Unusable(`answered HTTP ${statusCode}: ${message}`, `${statusCode}`, kind)
}

function limitedBy({ statusCode, message, kind }: RpcRefusal): UnusableAnswer {
  const status = statusCode === 200 ? 'limited' : `${statusCode}`
  return new UnusableAnswer(`is limiting us: ${message}`, status, kind)
}

function kindBy(
  statusCode: number,
  { worded, count }: { readonly worded: RefusalKind; readonly count: number },
): RefusalKind {
  if (statusCode === 429 && (worded === 'other' || worded === 'limit')) return 'pace'
  if (worded !== 'other') return worded
  if (statusCode === 413) return count > 1 ? 'batch' : 'results'
  return statusCode === 401 || statusCode === 403 ? 'missing' : 'other'
}

function indexOf(item: unknown, { firstId, requests }: SentBatch): number | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  if (!('jsonrpc' in item) || item.jsonrpc !== '2.0' || !('id' in item)) return undefined
  if (typeof item.id !== 'number' || !Number.isInteger(item.id)) return undefined
  const index = item.id - firstId
  return index >= 0 && index < requests.length ? index : undefined
}

/** The error of an answer. Some gateways send a bare error object as the answer. */
function refusalOf(
  item: unknown,
  { statusCode, count, scrub }: Pick<Reply, 'statusCode'> & { count: number; scrub: Scrub },
): RpcRefusal | undefined {
  if (typeof item !== 'object' || item === null || 'result' in item) return undefined
  const error: unknown = 'error' in item ? item.error : item
  if (typeof error !== 'object' || error === null) return undefined
  if (!('code' in error) || typeof error.code !== 'number') return undefined
  if (!('message' in error) || typeof error.message !== 'string') return undefined
  const data = 'data' in error ? error.data : undefined
  const message = scrub([error.message, ...messagesIn(data)].join(': '))
  const worded = refusalKind({ code: error.code, message })
  const kind = kindBy(statusCode, { worded, count })
  return new RpcRefusal({ code: error.code, message, data, statusCode, kind })
}

const SENTENCES_MAX = 3

/** Some nodes answer "invalid params" and put the reason into `data`, where others put revert bytes. */
function messagesIn(data: unknown): readonly string[] {
  const texts: readonly unknown[] = typeof data === 'object' ? Object.values(data ?? {}) : [data]
  const isSentence = (text: unknown): text is string =>
    typeof text === 'string' && /\S \S/.test(text) && !/0x[0-9a-f]{8}/i.test(text)
  return texts.filter(isSentence).slice(0, SENTENCES_MAX)
}
