import { afterEach, beforeEach } from 'vitest'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { AggregatorRoute, RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { AggregatorReply, Signer } from '../../../src/ports.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import {
  type AggregatorClient,
  type AggregatorRpcOptions,
  createAggregatorRpc,
} from '../../../src/venues/call/client/aggregator-client.ts'
import type { RateLimitReading } from '../../../src/venues/queue/rate-limit.ts'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import {
  type ScriptedReply,
  type ScriptedServer,
  startScriptedServer,
} from '../process/scripted-server.ts'
import { filesOfAggregator, signerWith } from '../signing.ts'
import { aggregatorGolden } from './aggregator-golden.ts'

export const HASH: Hex = `0x${'7d'.repeat(32)}`
export const LANDED: Hex = `0x${'5e'.repeat(32)}`
export const RAW: Hex = `0x02f86b83aa36a7${'ab'.repeat(120)}`
const KEY = createKey(Buffer.from('11'.repeat(32), 'hex'))
export const ACCOUNT: Address = KEY.address
export const TOKEN = 'token-of-the-operator'

export type AggregatorMethod =
  | 'sendRawTransaction'
  | 'sendBundle'
  | 'getTransactionReceipt'
  | 'accountInfo'
  | 'transactionStatus'
  | 'getBatchedTransactionReceipt'

export const calls: Readonly<
  Record<AggregatorMethod, (service: AggregatorClient) => Promise<AggregatorReply<unknown>>>
> = {
  sendRawTransaction: (service) => service.sendRawTransaction(RAW),
  sendBundle: (service) => service.sendBundle(RAW, 16n),
  getTransactionReceipt: (service) => service.receipt(HASH),
  accountInfo: (service) => service.accountInfo(),
  transactionStatus: (service) => service.transactionStatus(HASH),
  getBatchedTransactionReceipt: (service) => service.batchedReceipt(HASH),
}
export const methods = Object.keys(calls) as AggregatorMethod[]

/** A result that the interface describes for the method. */
export const results: Readonly<Record<AggregatorMethod, unknown>> = {
  sendRawTransaction: HASH,
  sendBundle: HASH,
  getTransactionReceipt: aggregatorGolden('receipt').example,
  accountInfo: aggregatorGolden('account-info').example,
  transactionStatus: aggregatorGolden('transaction-status').example,
  getBatchedTransactionReceipt: aggregatorGolden('receipt').example,
}

type Rest = Omit<ScriptedReply, 'body'>
type Body = { readonly jsonrpc?: unknown; readonly id?: unknown; readonly error?: unknown }

export type AggregatorRpcRig = {
  /** Fresh for each test. */
  readonly server: ScriptedServer
  readonly observed: readonly RuntimeEvent[]
  readonly readings: readonly (readonly [AggregatorRoute, RateLimitReading])[]
  readonly blocks: readonly (readonly [AggregatorRoute, number])[]
  /** Signs nothing from now on, for this reason. */
  halt(why: string): void
  /** The adapter against the server; closed after the test. */
  connect(overrides?: Partial<AggregatorRpcOptions>): AggregatorClient
  /** Answers every request with this result under its own id, or with the changes. */
  answers(result: unknown, rest?: Rest, changes?: Body): void
  /** Answers every request with this error. */
  fails(message: string, rest?: Rest & { code?: number }, changes?: Body): void
  /** The received bodies. */
  bodies(): readonly { jsonrpc: string; id: number; method: string; params: unknown[] }[]
  /** Status labels of the requests so far. */
  labels(): readonly string[]
}

/** Gives each test of the calling file a scripted service and the adapter's reports. */
export function useAggregatorRpc(): AggregatorRpcRig {
  let server: ScriptedServer
  let observed: RuntimeEvent[] = []
  let readings: [AggregatorRoute, RateLimitReading][] = []
  let blocks: [AggregatorRoute, number][] = []
  const guard = { blocked: () => blocked }
  let blocked: string | undefined

  function signerOf(methodPrefix: string): Signer {
    const wire = { ...AGGREGATOR.wire, methodPrefix }
    return signerWith(KEY, { guard, files: filesOfAggregator({ ...AGGREGATOR, wire }) })
  }
  const open: { close(): Promise<void> }[] = []

  beforeEach(async () => {
    server = await startScriptedServer()
    observed = []
    readings = []
    blocks = []
    blocked = undefined
  })
  afterEach(async () => {
    await server.close()
    for (const service of open.splice(0)) await service.close()
  })

  function answerWith(fields: object, rest: Rest, changes: Body): void {
    server.answerWith((request) => {
      const { id } = JSON.parse(request.body) as { id: number }
      return { ...rest, body: { jsonrpc: '2.0', id, ...fields, ...changes } }
    })
  }

  return {
    get server() {
      return server
    },
    get observed() {
      return observed
    },
    get readings() {
      return readings
    },
    get blocks() {
      return blocks
    },
    halt(why) {
      blocked = why
    },
    connect(overrides = {}) {
      const { methodPrefix = 'agg_' } = overrides
      const service = createAggregatorRpc({
        url: server.url,
        methodPrefix,
        signatureHeader: 'X-Relay-Signature',
        signer: signerOf(methodPrefix),
        clock: { now: () => Date.now() },
        observe: (event) => observed.push(event),
        onRateLimit: (route, reading) => readings.push([route, reading]),
        onRetryAfter: (route, ms) => blocks.push([route, ms]),
        ...overrides,
      })
      open.push(service)
      return service
    },
    answers: (result, rest = {}, changes = {}) => answerWith({ result }, rest, changes),
    fails: (message, { code = -32_000, ...rest } = {}, changes = {}) =>
      answerWith({ error: { code, message } }, rest, changes),
    bodies: () => server.requests.map((request) => JSON.parse(request.body)),
    labels: () => observed.flatMap((event) => (event.type === 'request' ? [event.status] : [])),
  }
}
