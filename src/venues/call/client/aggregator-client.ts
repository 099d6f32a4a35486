import { numberToHex } from 'viem/utils'
import type { ZodType } from 'zod'
import type { Hex } from '../../../domain/money/units.ts'
import { outsideText } from '../../../domain/text/outside-text.ts'
import type { AggregatorRoute, RuntimeEvent } from '../../../journal/runtime-event.ts'
import type {
  Aggregator,
  AggregatorFault,
  AggregatorReply,
  Clock,
  Login,
  Signer,
} from '../../../ports.ts'
import { type HttpAnswer, openEndpoint } from '../../../system/endpoint.ts'
import type { HttpHead } from '../../../system/exchange.ts'
import { readAs } from '../../../system/read-json.ts'
import { createScrubber } from '../../../system/scrubber.ts'
import { type RateLimitReading, readRateLimit, readRetryAfterMs } from '../../queue/rate-limit.ts'
import { statusLabel } from '../../swap/client/gasless-fault.ts'
import { faultTag, isUnauthenticated } from './aggregator-fault.ts'
import {
  accountInfoReply,
  hashReply,
  type RpcError,
  readRpcReply,
  receiptReply,
} from './aggregator-replies.ts'
import { METHODS, prefixedMethods, transactionStatusSchema } from './aggregator-wire.ts'

export type AggregatorRpcOptions = {
  /** http or https; used unchanged. Credentials are sent as basic auth. */
  readonly url: string
  readonly methodPrefix: string
  /** Header that authenticates `accountInfo`. */
  readonly signatureHeader: string
  /** Form of a bundle's parameters. Default `list`. */
  readonly bundle?: 'list' | 'object'
  readonly signer: Pick<Signer, 'address' | 'login'>
  readonly clock: Pick<Clock, 'now'>
  readonly observe: (event: RuntimeEvent) => void
  readonly onRateLimit: (route: AggregatorRoute, reading: RateLimitReading) => void
  readonly onRetryAfter: (route: AggregatorRoute, ms: number) => void
  /** Per exchange, including connecting and the body. Default 10,000. */
  readonly timeoutMs?: number
}

const BODY_BYTES_MAX = 1024 * 1024
const LABEL = 'the aggregation service'

type Ask<Value> = {
  readonly route: AggregatorRoute
  readonly asks: { readonly method: string; readonly params: readonly unknown[] } | Login
  readonly schema: ZodType<Value>
  /** Secret to redact from the service's messages. */
  readonly token?: string | undefined
}

/** The whole interface, including methods that the daemon does not use. */
export type AggregatorClient = Omit<Aggregator, 'transactionStatus'> & {
  /** The interface's optional token is redacted in the service's messages. */
  transactionStatus(hash: Hex, token?: string): ReturnType<Aggregator['transactionStatus']>
  close(): Promise<void>
}

type Verdict<Value> = { readonly label: string; readonly reply: AggregatorReply<Value> }

/**
 * The live aggregation service. One exchange per call, no retries, no redirects. Anything but a complete, readable answer
 * is `unavailable`: the request may have taken effect. Messages never contain the URL, a raw transaction or a signature.
 * Throws for an unusable URL.
 */
export function createAggregatorRpc(options: AggregatorRpcOptions): AggregatorClient {
  const { url, signer, clock, observe, timeoutMs } = options
  const endpoint = openEndpoint({ url, label: LABEL, bodyBytesMax: BODY_BYTES_MAX, timeoutMs })
  const names: Readonly<Record<AggregatorRoute, string>> = {
    ...METHODS,
    ...prefixedMethods(options.methodPrefix),
  }
  let nextId = 1
  /** Also valid for later requests: nothing can be signed during a halt, so the last login is reused. */
  let lastLogin: Login | undefined

  function takeId(): number {
    nextId += 1
    return nextId - 1
  }

  async function request<Value>(ask: Ask<Value>): Promise<AggregatorReply<Value>> {
    const login = loginOf(ask)
    const id = login?.requestId ?? takeId()
    const body = login?.body ?? JSON.stringify({ jsonrpc: '2.0', id, ...ask.asks })
    const headers = login === undefined ? {} : { [options.signatureHeader]: login.header }
    const startedMs = clock.now()
    const answer = await endpoint.post(body, headers)
    const receivedMs = clock.now()
    const durationMs = Math.max(0, receivedMs - startedMs)
    const { label: status, reply } = verdictOf(ask, id, answer)
    const { route } = ask
    if (answer.ok) noteLimits(route, answer.headers, reply, receivedMs)
    observe({ type: 'request', service: 'aggregator', route, status, durationMs })
    return reply
  }

  function call<Value>(
    route: AggregatorRoute,
    params: readonly unknown[],
    schema: ZodType<Value>,
    token?: string,
  ): Promise<AggregatorReply<Value>> {
    return request({ route, asks: { method: names[route], params }, schema, token })
  }

  /** The interface defines no rate limits, but the usual headers are respected. */
  function noteLimits(
    route: AggregatorRoute,
    headers: HttpHead['headers'],
    reply: AggregatorReply<unknown>,
    receivedMs: number,
  ): void {
    const reading = readRateLimit(headers, receivedMs)
    if (reading !== undefined) {
      const { remaining } = reading
      options.onRateLimit(route, reading)
      observe({ type: 'rate-limit', service: 'aggregator', route, remaining })
    }
    if (!reply.ok && reply.fault.tag === 'rateLimited')
      options.onRetryAfter(route, readRetryAfterMs(headers, receivedMs))
  }

  function clean(message: string, token: string | undefined): string {
    const hidden = createScrubber()
    if (token !== undefined) hidden.add(token)
    return outsideText(endpoint.scrub(hidden.text(message)))
  }

  function verdictOf<Value>(ask: Ask<Value>, id: number, answer: HttpAnswer): Verdict<Value> {
    if (!answer.ok) return lost(answer.status, `${LABEL} ${answer.message}`)
    const { statusCode } = answer
    const reading = readRpcReply(answer.text, id)
    if (!reading.ok)
      return statusCode === 200 ? unreadable(reading.fault) : refusedByStatus(ask, statusCode)
    const reply = reading.value
    if (reply.tag === 'error') return errorVerdict(ask, statusCode, reply)
    if (statusCode !== 200) return refusedByStatus(ask, statusCode)
    const value = readAs(ask.schema, reply.result)
    return value.ok ? { label: '200', reply: value } : unreadable(value.fault)
  }

  function errorVerdict<Value>(
    ask: Ask<Value>,
    statusCode: number,
    error: RpcError,
  ): Verdict<Value> {
    const { code, message } = error
    const text = clean(message, ask.token)
    if (!error.isOurs) {
      // The body may not be about our request, which may have been accepted.
      if (statusCode !== 200) return refusedByStatus(ask, statusCode)
      return unreadable(`an error without the request's id: ${text}`)
    }
    const hasCredential = loginOf(ask) !== undefined || ask.token !== undefined
    const tag = faultTag({ statusCode, code, message, hasCredential })
    return refused(statusCode === 200 ? tag : statusLabel(statusCode), {
      tag,
      message: text || tag,
    })
  }

  return {
    sendRawTransaction: (raw) => call('sendRawTransaction', [raw], hashReply),
    sendBundle(raw, block) {
      const blockNumber = numberToHex(block)
      const params =
        options.bundle === 'object' ? [{ txs: [raw], blockNumber }] : [[raw], blockNumber]
      return call('sendBundle', params, hashReply)
    },
    receipt: (hash) => call('getTransactionReceipt', [hash], receiptReply),
    batchedReceipt: (hash) => call('getBatchedTransactionReceipt', [hash], receiptReply),
    accountInfo: () => {
      const signed = signer.login(takeId())
      if (signed.ok) lastLogin = signed.value
      else if (lastLogin === undefined) return Promise.resolve(unsigned(signed.detail))
      return request({ route: 'accountInfo', asks: lastLogin, schema: accountInfoReply })
    },
    transactionStatus: (hash, token) => {
      const params = token === undefined ? [hash] : [hash, token]
      return call('transactionStatus', params, transactionStatusSchema, token)
    },
    close: () => endpoint.close(),
  }
}

function loginOf({ asks }: Ask<unknown>): Login | undefined {
  return 'body' in asks ? asks : undefined
}

function unsigned(why: string): AggregatorReply<never> {
  const message = `the service reports an account's funds only for its signature, and none is made: ${why}`
  return { ok: false, fault: { tag: 'unsigned', message } }
}

/** An answer with only a status can reject a credential. Otherwise the effect of the request is unknown. */
function refusedByStatus<Value>(ask: Ask<Value>, statusCode: number): Verdict<Value> {
  const message = `${LABEL} answered HTTP ${statusCode}`
  const silence = statusCode === 429 ? 'rateLimited' : 'unavailable'
  const isLogin = loginOf(ask) !== undefined && isUnauthenticated(statusCode)
  const tag = isLogin ? 'unauthenticated' : silence
  return refused(statusLabel(statusCode), { tag, message })
}

function unreadable<Value>(what: string): Verdict<Value> {
  return lost('malformed', `${LABEL} sent an unreadable reply, ${what}`)
}

function lost<Value>(label: string, message: string): Verdict<Value> {
  return refused(label, { tag: 'unavailable', message })
}

function refused<Value>(label: string, fault: AggregatorFault): Verdict<Value> {
  return { label, reply: { ok: false, fault } }
}
