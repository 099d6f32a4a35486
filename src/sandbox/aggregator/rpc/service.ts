import type { IncomingMessage } from 'node:http'
import type { Faults } from '../../faults.ts'
import { answerWithFaults } from '../../http/fault-injection.ts'
import { type Answer, type Reply, readJsonText } from '../../http/json-server.ts'
import { createRateLimiter } from '../../http/rate-limit.ts'
import type { AggregatorSettings } from '../aggregator-settings.ts'
import {
  errorOf,
  fail,
  type RpcCall,
  type RpcErrorObject,
  type RpcResponse,
  readCalls,
  respond,
} from './json-rpc.ts'
import { createMethods, type Envelope, type MethodDeps } from './methods.ts'
import { openRpcDocument } from './openrpc.ts'

/** Room for a transaction with six blobs, each a quarter of a mebibyte in hex. */
const BODY_BYTES_MAX = 2 * 1024 * 1024

/** Request handler of the JSON-RPC interface, with its rules, limits and faults. */
export function createAggregatorService(
  settings: Pick<AggregatorSettings, 'rateLimit' | 'wire'>,
  deps: MethodDeps & { readonly faults: Faults },
): (request: IncomingMessage) => Promise<Answer> {
  const limiter = createRateLimiter(settings.rateLimit, 'epoch')
  const methods = createMethods(deps, settings.wire.methodPrefix)
  const docs = openRpcDocument(settings.wire)
  const header = settings.wire.signatureHeader.toLowerCase()
  /** The response to a call; empty for a notification, which has no id. */
  const answer = async (call: RpcCall | undefined, envelope: Envelope): Promise<RpcResponse[]> => {
    if (call === undefined) return [respond(null, NO_REQUEST)]
    const outcome = (await methods.get(call.method)?.run(call.params, envelope)) ?? NO_METHOD
    return call.id === undefined ? [] : [respond(call.id, outcome)]
  }
  const answerCalls = async (request: IncomingMessage): Promise<Answer> => {
    const rate = limiter(Date.now())
    if (!rate.allowed) return tooMany(rate.retryAfterSeconds)
    const read = await readJsonText(request, BODY_BYTES_MAX)
    if (!read.ok) return UNREADABLE[read.problem]
    const body = readCalls(read.text)
    if (!body.ok) return rpcError(200, body.error)
    const given = request.headers[header]
    const signatureHeader = typeof given === 'string' ? given : undefined
    const envelope: Envelope = { signatureHeader, bodyText: read.text }
    const faults = body.calls.flatMap((call) => {
      const method = call && methods.get(call.method)
      return method === undefined ? [] : deps.faults.forRequest(method.route)
    })
    return answerWithFaults(faults, FAULT_REPLIES, async () => {
      const responses: RpcResponse[] = []
      for (const call of body.calls) responses.push(...(await answer(call, envelope)))
      const { headers } = rate
      if (responses.length === 0) return { status: 204, headers, body: undefined }
      return { status: 200, headers, body: body.isBatch ? responses : responses[0] }
    })
  }
  return async (request) => {
    const path = (request.url ?? '/').split('?')[0]
    const at = `${request.method} ${path}`
    if (at === 'POST /') return answerCalls(request)
    if (at === 'GET /docs') return { status: 200, body: docs }
    const allow = ALLOW.get(path)
    const refusal = rpcError(allow ? 405 : 404, errorOf('invalidRequest', 'POST / or GET /docs'))
    return allow === undefined ? refusal : { ...refusal, headers: { allow } }
  }
}

const ALLOW = new Map<string | undefined, string>([
  ['/', 'POST'],
  ['/docs', 'GET'],
])
const UNREADABLE = {
  tooLarge: rpcError(
    413,
    errorOf('invalidRequest', `the body is larger than ${BODY_BYTES_MAX} bytes`),
  ),
  notJson: rpcError(415, errorOf('invalidRequest', 'content-type must be application/json')),
}
const NO_METHOD = fail(
  'methodNotFound',
  'no such method here: standard methods go to a standard provider',
)
const NO_REQUEST = fail('invalidRequest', 'not a JSON-RPC 2.0 request')
const FAULT_REPLIES = {
  rateLimited: tooMany,
  internal: internalFailure,
  stray: () => rpcError(200, errorOf('parse', 'the body is not well-formed JSON')),
}

/** The service's answer after an internal failure. */
export function internalFailure(): Reply {
  return rpcError(500, errorOf('internal', 'internal failure'))
}

function tooMany(retryAfterSeconds: number): Reply {
  return {
    ...rpcError(429, errorOf('rateLimited', 'too many requests')),
    headers: { 'retry-after': String(retryAfterSeconds) },
  }
}

function rpcError(status: number, error: RpcErrorObject): Reply {
  return { status, body: respond(null, { ok: false, error }) }
}
