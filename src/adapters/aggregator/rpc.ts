import { getAddress, hashMessage, keccak256 } from 'viem/utils'
import type { Observation } from '../../domain/observation.ts'
import type { Reply } from '../../domain/quote.ts'
import type { Aggregator, AggregatorFault, AggregatorReply, Clock, Signer } from '../../ports.ts'
import { METHODS, prefixedMethods } from '../../wire/aggregator.ts'
import {
  type RpcResult,
  readAccountInfo,
  readReceipt,
  readRpcReply,
  readTransactionHash,
  readTransactionStatus,
} from '../../wire/aggregator-replies.ts'
import { outsideText } from '../../wire/outside-text.ts'
import { type HttpAnswer, openEndpoint } from '../chain/json-rpc-http.ts'
import { toQuantity } from '../chain/json-rpc-values.ts'
import { statusLabel } from '../gasless/fault.ts'
import { createScrubber } from '../tell/scrubber.ts'
import { faultTag, isUnauthenticated } from './fault.ts'

export type AggregatorRpcOptions = {
  /** http or https. Requests go to this very address. Credentials go out as basic auth. */
  readonly url: string
  /** Begins the names of the service's own methods. */
  readonly methodPrefix: string
  /** Header that authenticates `accountInfo`. */
  readonly signatureHeader: string
  readonly signer: Pick<Signer, 'address' | 'signDigest'>
  readonly clock: Pick<Clock, 'now'>
  readonly observe: (event: Observation) => void
  /** For a whole exchange, connecting and the body included. Default 10,000. */
  readonly timeoutMs?: number
}

const BODY_BYTES_MAX = 1024 * 1024
const LABEL = 'the aggregation service'

type Route =
  | 'sendRawTransaction'
  | 'sendBundle'
  | 'getTransactionReceipt'
  | 'accountInfo'
  | 'transactionStatus'
  | 'getBatchedTransactionReceipt'

type Ask<Value> = {
  /** The method's name without its prefix. */
  readonly route: Route
  readonly method: string
  readonly params: readonly unknown[]
  readonly read: (result: RpcResult) => Reply<Value, string>
  readonly isSigned?: boolean
  /** Hidden in what the service says. */
  readonly token?: string | undefined
}

type Verdict<Value> = { readonly label: string; readonly reply: AggregatorReply<Value> }

/**
 * The live aggregation service. One exchange a call and no retry anywhere; redirects are not followed. Whatever is
 * not a whole, readable answer is `unavailable`: the request may have taken effect. No message holds the URL, a
 * raw transaction or a signature. Throws for an unusable URL.
 */
export function createAggregatorRpc(
  options: AggregatorRpcOptions,
): Aggregator & { close(): Promise<void> } {
  const { url, signer, clock, observe, timeoutMs } = options
  const bounds = timeoutMs === undefined ? {} : { timeoutMs }
  const endpoint = openEndpoint({ url, label: LABEL, bodyBytesMax: BODY_BYTES_MAX, ...bounds })
  const own = prefixedMethods(options.methodPrefix)
  let nextId = 1

  async function call<Value>(ask: Ask<Value>): Promise<AggregatorReply<Value>> {
    const id = nextId
    nextId += 1
    const { method, params } = ask
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    const headers =
      ask.isSigned === true ? { [options.signatureHeader]: signatureOf(body, signer) } : {}
    const startedMs = clock.now()
    const answer = await endpoint.post(body, headers)
    const durationMs = Math.max(0, clock.now() - startedMs)
    const { label, reply } = judge(ask, { id, answer, clean })
    observe({
      type: 'request',
      service: 'aggregator',
      route: ask.route,
      status: label,
      durationMs,
    })
    return reply
  }

  function clean(message: string, token: string | undefined): string {
    const hidden = createScrubber()
    if (token !== undefined) hidden.add(token)
    return outsideText(endpoint.scrub(hidden.text(message)))
  }

  return {
    sendRawTransaction: (raw) =>
      call({
        route: 'sendRawTransaction',
        method: METHODS.sendRawTransaction,
        params: [raw],
        read: readTransactionHash,
      }),
    sendBundle: (raw, blockNumber) =>
      call({
        route: 'sendBundle',
        method: METHODS.sendBundle,
        params: [[raw], toQuantity(blockNumber)],
        read: readTransactionHash,
      }),
    receipt: (hash) =>
      call({
        route: 'getTransactionReceipt',
        method: METHODS.getTransactionReceipt,
        params: [hash],
        read: readReceipt,
      }),
    batchedReceipt: (hash) =>
      call({
        route: 'getBatchedTransactionReceipt',
        method: own.getBatchedTransactionReceipt,
        params: [hash],
        read: readReceipt,
      }),
    accountInfo: (account) =>
      call({
        route: 'accountInfo',
        method: own.accountInfo,
        params: [account],
        read: readAccountInfo,
        isSigned: true,
      }),
    transactionStatus: (hash, token) =>
      call({
        route: 'transactionStatus',
        method: own.transactionStatus,
        params: token === undefined ? [hash] : [hash, token],
        read: readTransactionStatus,
        token,
      }),
    close: () => endpoint.close(),
  }
}

/**
 * `<address>:<signature>`: EIP-191 over the 32 bytes of the Keccak-256 hash of the body as it is sent. The address is
 * checksummed, which a service that compares text expects and any other takes as well.
 */
function signatureOf(body: string, signer: AggregatorRpcOptions['signer']): string {
  const digest = hashMessage({ raw: keccak256(Buffer.from(body, 'utf8')) })
  return `${getAddress(signer.address)}:${signer.signDigest(digest)}`
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
    return statusCode === 200 ? unreadable(reading.fault) : refusedByStatus(statusCode)
  const reply = reading.value
  if (reply.tag === 'error') {
    const { code, message } = reply
    const hasCredential = ask.isSigned === true || ask.token !== undefined
    const tag = faultTag({ statusCode, code, message, hasCredential })
    const label = statusCode === 200 ? tag : statusLabel(statusCode)
    return refused(label, { tag, message: clean(message, ask.token) || tag })
  }
  if (statusCode !== 200) return refusedByStatus(statusCode)
  const value = ask.read(reply)
  return value.ok ? { label: '200', reply: value } : unreadable(value.fault)
}

/** An answer with nothing to read but its status. */
function refusedByStatus<Value>(statusCode: number): Verdict<Value> {
  const message = `${LABEL} answered HTTP ${statusCode}`
  const tag = isUnauthenticated(statusCode) ? 'unauthenticated' : 'unavailable'
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
