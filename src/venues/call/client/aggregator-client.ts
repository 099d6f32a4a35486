import { numberToHex } from 'viem/utils'
import type { AggregatorRoute, Observation } from '../../domain/observation.ts'
import { outsideText } from '../../domain/outside-text.ts'
import type { Reply } from '../../domain/quote.ts'
import type { Hex } from '../../domain/units.ts'
import type {
  Aggregator,
  AggregatorFault,
  AggregatorReply,
  Clock,
  Login,
  Signer,
} from '../../ports.ts'
import { METHODS, prefixedMethods } from '../../wire/aggregator.ts'
import {
  type RpcResult,
  readAccountInfo,
  readReceipt,
  readRpcReply,
  readTransactionHash,
  readTransactionStatus,
} from '../../wire/aggregator-replies.ts'
import { statusLabel } from '../gasless/fault.ts'
import { type HttpAnswer, openEndpoint } from '../http/endpoint.ts'
import type { HttpHead } from '../http/exchange.ts'
import { type RateLimitReading, readRateLimit, readRetryAfterMs } from '../pace/rate-limit.ts'
import { createScrubber } from '../tell/scrubber.ts'
import { faultTag, isUnauthenticated } from './fault.ts'

export type AggregatorRpcOptions = {
  /** http or https. Requests go to this very address. Credentials go out as basic auth. */
  readonly url: string
  /** Begins the names of the service's own methods. */
  readonly methodPrefix: string
  /** Header that authenticates `accountInfo`. */
  readonly signatureHeader: string
  readonly signer: Pick<Signer, 'address' | 'login'>
  readonly clock: Pick<Clock, 'now'>
  readonly observe: (event: Observation) => void
  readonly onRateLimit: (route: AggregatorRoute, reading: RateLimitReading) => void
  readonly onRetryAfter: (route: AggregatorRoute, ms: number) => void
  /** For a whole exchange, connecting and the body included. Default 10,000. */
  readonly timeoutMs?: number
}

const BODY_BYTES_MAX = 1024 * 1024
const LABEL = 'the aggregation service'

type Ask<Value> = {
  /** The method's name without its prefix. */
  readonly route: AggregatorRoute
  readonly asks: { readonly method: string; readonly params: readonly unknown[] } | Login
  readonly read: (result: RpcResult) => Reply<Value, string>
  /** Hidden in what the service says. */
  readonly token?: string | undefined
}

/** The whole interface: what the daemon asks for, and the methods beside it. */
export type AggregatorClient = Omit<Aggregator, 'transactionStatus'> & {
  /** The same as `sendRawTransaction` for a bundle of exactly this one transaction. */
  sendBundle(raw: Hex, blockNumber: bigint): Promise<AggregatorReply<Hex>>
  /** With the interface's optional token, which is hidden in whatever the service says. */
  transactionStatus(hash: Hex, token?: string): ReturnType<Aggregator['transactionStatus']>
  /** Waits for the requests under way. */
  close(): Promise<void>
}

type Verdict<Value> = { readonly label: string; readonly reply: AggregatorReply<Value> }

/**
 * The live aggregation service. One exchange a call and no retry anywhere; redirects are not followed. Whatever is
 * not a whole, readable answer is `unavailable`: the request may have taken effect. No message holds the URL, a
 * raw transaction or a signature. Throws for an unusable URL.
 */
export function createAggregatorRpc(options: AggregatorRpcOptions): AggregatorClient {
  const { url, signer, clock, observe, timeoutMs } = options
  const bounds = timeoutMs === undefined ? {} : { timeoutMs }
  const endpoint = openEndpoint({ url, label: LABEL, bodyBytesMax: BODY_BYTES_MAX, ...bounds })
  const own = prefixedMethods(options.methodPrefix)
  let nextId = 1
  /** Good for any later question of the same: while a halt lets nothing be signed, it is asked by the last one made. */
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
    const { label, reply } = judge(ask, { id, answer, clean })
    if (answer.ok) noteLimits(ask.route, { ...answer, reply, receivedMs })
    observe({
      type: 'request',
      service: 'aggregator',
      route: ask.route,
      status: label,
      durationMs,
    })
    return reply
  }

  /** The interface shows no limits; a service that tells of one in the usual headers is heeded. */
  function noteLimits(route: AggregatorRoute, { headers, reply, receivedMs }: Limited): void {
    const reading = readRateLimit(headers, receivedMs)
    if (reading !== undefined) {
      const { remaining } = reading
      options.onRateLimit(route, reading)
      observe({ type: 'rate-limit', service: 'aggregator', route, remaining })
    }
    if (!reply.ok && reply.fault.tag === 'rateLimited')
      options.onRetryAfter(route, readRetryAfterMs(headers))
  }

  function clean(message: string, token: string | undefined): string {
    const hidden = createScrubber()
    if (token !== undefined) hidden.add(token)
    return outsideText(endpoint.scrub(hidden.text(message)))
  }

  return {
    sendRawTransaction: (raw) =>
      request({
        route: 'sendRawTransaction',
        asks: { method: METHODS.sendRawTransaction, params: [raw] },
        read: readTransactionHash,
      }),
    sendBundle: (raw, blockNumber) =>
      request({
        route: 'sendBundle',
        asks: { method: METHODS.sendBundle, params: [[raw], numberToHex(blockNumber)] },
        read: readTransactionHash,
      }),
    receipt: (hash) =>
      request({
        route: 'getTransactionReceipt',
        asks: { method: METHODS.getTransactionReceipt, params: [hash] },
        read: readReceipt,
      }),
    batchedReceipt: (hash) =>
      request({
        route: 'getBatchedTransactionReceipt',
        asks: { method: own.getBatchedTransactionReceipt, params: [hash] },
        read: readReceipt,
      }),
    accountInfo: () => {
      const signed = signer.login(takeId())
      if (signed.ok) lastLogin = signed.value
      else if (lastLogin === undefined) return Promise.resolve(unsigned(signed.detail))
      return request({
        route: 'accountInfo',
        asks: lastLogin,
        read: readAccountInfo,
      })
    },
    transactionStatus: (hash, token) =>
      request({
        route: 'transactionStatus',
        asks: {
          method: own.transactionStatus,
          params: token === undefined ? [hash] : [hash, token],
        },
        read: readTransactionStatus,
        token,
      }),
    close: () => endpoint.close(),
  }
}

function loginOf({ asks }: Ask<unknown>): Login | undefined {
  return 'body' in asks ? asks : undefined
}

function unsigned(why: string): AggregatorReply<never> {
  const message = `the service tells an account's funds only to its signature, and none is made: ${why}`
  return { ok: false, fault: { tag: 'unsigned', message } }
}

type Limited = Pick<HttpHead, 'headers'> & {
  readonly reply: AggregatorReply<unknown>
  readonly receivedMs: number
}

type Exchange = {
  readonly id: number
  readonly answer: HttpAnswer
  readonly clean: (message: string, token: string | undefined) => string
}

function judge<Value>(ask: Ask<Value>, { id, answer, clean }: Exchange): Verdict<Value> {
  if (!answer.ok) return lost(answer.status, `${LABEL} ${answer.message}`)
  const { statusCode } = answer
  const reading = readRpcReply(answer.text, id)
  if (!reading.ok)
    return statusCode === 200 ? unreadable(reading.fault) : refusedByStatus(ask, statusCode)
  const reply = reading.value
  if (reply.tag === 'error' && !reply.isOurs) {
    // Whatever it says, it does not say it of our request: that may have been taken all the same.
    if (statusCode !== 200) return refusedByStatus(ask, statusCode)
    return unreadable(`an error without the request's id: ${clean(reply.message, ask.token)}`)
  }
  if (reply.tag === 'error') {
    const { code, message } = reply
    const hasCredential = loginOf(ask) !== undefined || ask.token !== undefined
    const tag = faultTag({ statusCode, code, message, hasCredential })
    const label = statusCode === 200 ? tag : statusLabel(statusCode)
    return refused(label, { tag, message: clean(message, ask.token) || tag })
  }
  if (statusCode !== 200) return refusedByStatus(ask, statusCode)
  const value = ask.read(reply)
  return value.ok ? { label: '200', reply: value } : unreadable(value.fault)
}

/** An answer with nothing to read but its status. Only a credential can be refused by that: what it carried is unknown. */
function refusedByStatus<Value>(ask: Ask<Value>, statusCode: number): Verdict<Value> {
  const message = `${LABEL} answered HTTP ${statusCode}`
  const isLimit = statusCode === 429
  const silence = isLimit ? 'rateLimited' : 'unavailable'
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
