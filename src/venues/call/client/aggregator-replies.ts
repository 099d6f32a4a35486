import type { Hex } from '../../../domain/money/units.ts'
import { withExactIntegers } from '../../../system/exact-integers.ts'
import { type Reading, readAs, readJson, wrong } from '../../../system/read-json.ts'
import {
  accountInfoSchema,
  receiptSchema,
  rpcResponseSchema,
  transactionHashSchema,
  transactionStatusSchema,
} from './aggregator-wire.ts'

/** The result as parsed, and with integers beyond double precision as decimal strings. */
export type RpcResult = { readonly result: unknown; readonly exact: unknown }

type RpcReply =
  | ({ readonly tag: 'result' } & RpcResult)
  | {
      readonly tag: 'error'
      readonly code: number
      readonly message: string
      /** Whether it has our id. Without it, the error proves nothing about our request. */
      readonly isOurs: boolean
    }

export type RpcError = Extract<RpcReply, { tag: 'error' }>

/** The JSON-RPC 2.0 response to a request id: exactly one of result and error. */
export function readRpcReply(text: string, id: number): Reading<RpcReply> {
  const parsed = readJson(rpcResponseSchema, text)
  if (!parsed.ok) return parsed
  const { error } = parsed.value
  const isOurs = parsed.value.id === id
  if (!isOurs && !(parsed.value.id === null && error))
    return wrong('id: a response to another request')
  if (error) return { ok: true, value: { tag: 'error', ...error, isOurs } }
  const { result } = parsed.value
  const exactText = withExactIntegers(text)
  const exact = exactText === undefined ? result : (JSON.parse(exactText) as RpcResult).result
  return { ok: true, value: { tag: 'result', result, exact } }
}

/** Any 32 bytes are accepted: the service defines its own hashes. */
export function readTransactionHash({ result }: RpcResult): Reading<Hex> {
  const parsed = readAs(transactionHashSchema, result)
  return parsed.ok ? { ok: true, value: lowerCase(parsed.value) } : parsed
}

/** Result of both receipt methods; `null` until the transaction is mined. */
export function readReceipt({
  result,
}: RpcResult): Reading<{ readonly transactionHash: Hex } | undefined> {
  const parsed = readAs(receiptSchema, result)
  if (!parsed.ok) return parsed
  if (parsed.value === null) return { ok: true, value: undefined }
  return { ok: true, value: { transactionHash: lowerCase(parsed.value.transactionHash) } }
}

/** In wei. */
export function readAccountInfo({
  exact,
}: RpcResult): Reading<{ readonly balance: bigint; readonly outstandingCharge: bigint }> {
  const parsed = readAs(accountInfoSchema, exact)
  if (!parsed.ok) return parsed
  const { balance, outstanding_charge } = parsed.value
  const value = { balance: BigInt(balance), outstandingCharge: BigInt(outstanding_charge) }
  return { ok: true, value }
}

/** All fields of a status, as the interface names none. Costs must not be rounded. */
export function readTransactionStatus({
  exact,
}: RpcResult): Reading<Readonly<Record<string, unknown>>> {
  return readAs(transactionStatusSchema, exact)
}

/** The schema has checked the shape. */
function lowerCase(text: string): Hex {
  return text.toLowerCase() as Hex
}
