import type { IncomingMessage } from 'node:http'
import type { Faults } from '../../faults.ts'
import { answerWithFaults } from '../../http/fault-injection.ts'
import { type Answer, type Reply, readJsonText } from '../../http/json-server.ts'
import { answerMethod, originOf } from '../../http/methods.ts'
import { createRateLimiter } from '../../http/rate-limit.ts'
import type { AggregatorSettings } from '../../options.ts'
import {
  errorOf,
  fail,
  type RpcCall,
  type RpcErrorObject,
  type RpcResponse,
  readCalls,
  respond,
  SERVICE_ERRORS,
} from './json-rpc.ts'
import { callMethod, type Envelope } from './method.ts'
import { askNode, createMethods, type MethodDeps } from './methods.ts'
import { openRpcDocument } from './openrpc.ts'

/** Room for a transaction with six blobs, each a quarter of a mebibyte in hex. */
const BODY_BYTES_MAX = 2 * 1024 * 1024

/** Request handler of the JSON-RPC interface, with its rules, limits and faults. */
export function createAggregatorService(
  settings: Pick<AggregatorSettings, 'rateLimit' | 'wire' | 'passthrough'>,
  deps: MethodDeps & { readonly faults: Faults },
): (request: IncomingMessage) => Promise<Answer> {
  const limiter = createRateLimiter(settings.rateLimit, 'epoch')
  const { passthrough } = settings
  const methods = createMethods(deps, settings)
  const noMethod = passthrough
    ? fail('methodNotFound', 'no such method here, and none that goes to the node')
    : ({ ok: false, error: SERVICE_ERRORS.methodNotFound } as const)
  const header = settings.wire.signatureHeader.toLowerCase()
  /** The response to a call; empty for a notification, which has no id. */
  const answer = async (call: RpcCall, envelope: Envelope): Promise<RpcResponse[]> => {
    const method = methods.get(call.method)
    const known = method && callMethod(method, call, envelope)
    const outcome = await (known ?? (passthrough ? askNode(deps, call) : undefined))
    return call.id === undefined ? [] : [respond(call.id, outcome ?? noMethod)]
  }
  const answerCalls = async (request: IncomingMessage): Promise<Answer> => {
    const rate = limiter(Date.now())
    if (!rate.allowed) {
      const { headers, ...reply } = tooMany(rate.retryAfterSeconds)
      return { ...reply, headers: { ...headers, ...rate.headers } }
    }
    const read = await readJsonText(request, BODY_BYTES_MAX)
    if (!read.ok) return UNREADABLE[read.problem]
    const body = readCalls(read.text)
    if (!body.ok) return rpcError(200, body.error)
    const given = request.headers[header]
    const signatureHeader = typeof given === 'string' ? given : undefined
    const envelope: Envelope = {
      signatureHeader,
      bodyText: read.text,
      origin: originOf(request),
    }
    const faults = body.calls.flatMap(({ call }) => {
      const route = call && methods.get(call.method)?.route
      return route === undefined ? [] : deps.faults.forRequest(route)
    })
    return answerWithFaults(faults, FAULT_REPLIES, async () => {
      const responses: RpcResponse[] = []
      for (const { call, id, error } of body.calls)
        responses.push(
          ...(call ? await answer(call, envelope) : [respond(id, { ok: false, error })]),
        )
      const { headers } = rate
      if (responses.length === 0) return { status: 204, headers, body: undefined }
      return { status: 200, headers, body: body.isBatch ? responses : responses[0] }
    })
  }
  const describe = async (request: IncomingMessage): Promise<Reply> => ({
    status: 200,
    body: openRpcDocument(methods.values(), { origin: originOf(request), passthrough }),
  })
  return (request) => {
    const path = (request.url ?? '/').split('?')[0]
    if (path === '/')
      return answerMethod(request.method, { POST: () => answerCalls(request) }, refused)
    const isDocs = path === '/docs' || path === '/docs/'
    return answerMethod(request.method, isDocs ? { GET: () => describe(request) } : {}, refused)
  }
}

const UNREADABLE = {
  tooLarge: rpcError(
    413,
    errorOf('invalidRequest', `the body is larger than ${BODY_BYTES_MAX} bytes`),
  ),
  notJson: rpcError(415, errorOf('invalidRequest', 'content-type must be application/json')),
}
const FAULT_REPLIES = {
  rateLimited: tooMany,
  internal: internalFailure,
  stray: () => rpcError(200, SERVICE_ERRORS.parse),
}

export function internalFailure(): Reply {
  return rpcError(500, SERVICE_ERRORS.internal)
}

function tooMany(retryAfterSeconds: number): Reply {
  return {
    ...rpcError(429, SERVICE_ERRORS.rateLimited),
    headers: { 'retry-after': String(retryAfterSeconds) },
  }
}

function refused(status: 404 | 405): Reply {
  return rpcError(status, errorOf('invalidRequest', 'POST / or GET /docs'))
}

function rpcError(status: number, error: RpcErrorObject): Reply {
  return { status, body: respond(null, { ok: false, error }) }
}
