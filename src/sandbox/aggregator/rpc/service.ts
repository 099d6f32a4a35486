import type { IncomingMessage } from 'node:http'
import type { Faults } from '../../faults.ts'
import { answerWithFaults } from '../../http/fault-injection.ts'
import { type Answer, type Reply, readJsonText } from '../../http/json-server.ts'
import { createRateLimiter } from '../../http/rate-limit.ts'
import type { AggregatorSettings } from '../settings.ts'
import {
  errorOf,
  fail,
  type Outcome,
  type RpcCall,
  type RpcErrorObject,
  type RpcResponse,
  readCalls,
  respond,
} from './json-rpc.ts'
import { createMethods, type Envelope, type Method, type MethodDeps } from './methods.ts'
import { openRpcDocument } from './openrpc.ts'

/** Room for a transaction with six blobs, each of which takes a quarter of a mebibyte in hex. */
const BODY_BYTES_MAX = 2 * 1024 * 1024

/** Request handler of the JSON-RPC interface, with every rule, limit and fault in it. */
export function createAggregatorService(
  settings: Pick<AggregatorSettings, 'rateLimit' | 'wire'>,
  deps: MethodDeps & { readonly faults: Faults },
): (request: IncomingMessage) => Promise<Answer> {
  const limiter = createRateLimiter(settings.rateLimit, 'epoch')
  const methods = createMethods(deps, settings.wire.methodPrefix)
  const docs = openRpcDocument(settings.wire)
  const header = settings.wire.signatureHeader.toLowerCase()
  const answerCalls = async (request: IncomingMessage): Promise<Answer> => {
    const rate = limiter(Date.now())
    if (!rate.allowed) return tooMany(rate.retryAfterSeconds)
    const read = await readJsonText(request, BODY_BYTES_MAX)
    if (!read.ok) return unreadable(read.problem)
    const body = readCalls(read.text)
    if (!body.ok) return rpcError(200, body.error)
    const given = request.headers[header]
    const envelope: Envelope = {
      signatureHeader: typeof given === 'string' ? given : undefined,
      bodyText: read.text,
    }
    const faults = body.calls.flatMap((call) => {
      const method = call === undefined ? undefined : methods.get(call.method)
      return method === undefined ? [] : deps.faults.forRequest(method.route)
    })
    return answerWithFaults(faults, FAULT_REPLIES, async () => {
      const responses = await answerAll(body.calls, { methods, envelope })
      const isSilent = responses.length === 0
      const { headers } = rate
      if (isSilent) return { status: 204, headers, body: undefined }
      return { status: 200, headers, body: body.isBatch ? responses : responses[0] }
    })
  }
  return async (request) => {
    const path = (request.url ?? '/').split('?')[0]
    const at = `${request.method} ${path}`
    if (at === 'POST /') return answerCalls(request)
    if (at === 'GET /docs') return { status: 200, body: docs }
    const isKnown = path === '/' || path === '/docs'
    return rpcError(isKnown ? 405 : 404, errorOf('invalidRequest', 'POST / or GET /docs'))
  }
}

const FAULT_REPLIES = {
  rateLimited: (retryAfterSeconds: number) => tooMany(retryAfterSeconds),
  internal: () => internalFailure(),
  stray: () => rpcError(200, errorOf('parse', 'the body is not well-formed JSON')),
}

/** What a crash of the service looks like from outside. */
export function internalFailure(): Reply {
  return rpcError(500, errorOf('internal', 'internal failure'))
}

/** Responses in the order of the calls, without those of notifications. */
async function answerAll(
  calls: readonly (RpcCall | undefined)[],
  context: { methods: ReadonlyMap<string, Method>; envelope: Envelope },
): Promise<RpcResponse[]> {
  const responses: RpcResponse[] = []
  for (const call of calls) {
    if (call === undefined) {
      responses.push(respond(null, fail('invalidRequest', 'not a JSON-RPC 2.0 request')))
      continue
    }
    const outcome = await answer(call, context)
    if (call.id !== undefined) responses.push(respond(call.id, outcome))
  }
  return responses
}

function answer(
  call: RpcCall,
  context: { methods: ReadonlyMap<string, Method>; envelope: Envelope },
): Promise<Outcome> {
  const method = context.methods.get(call.method)
  if (method !== undefined) return method.run(call.params, context.envelope)
  return Promise.resolve(
    fail('methodNotFound', 'no such method here: standard methods go to a standard provider'),
  )
}

function tooMany(retryAfterSeconds: number): Reply {
  return {
    ...rpcError(429, errorOf('rateLimited', 'too many requests')),
    headers: { 'retry-after': String(retryAfterSeconds) },
  }
}

function unreadable(problem: 'notJson' | 'tooLarge'): Reply {
  return problem === 'tooLarge'
    ? rpcError(413, errorOf('invalidRequest', `the body is larger than ${BODY_BYTES_MAX} bytes`))
    : rpcError(415, errorOf('invalidRequest', 'content-type must be application/json'))
}

function rpcError(status: number, error: RpcErrorObject): Reply {
  return { status, body: respond(null, { ok: false, error }) }
}
