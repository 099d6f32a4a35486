import type { Hex } from '../domain/units.ts'
import {
  accountInfoSchema,
  receiptSchema,
  rpcResponseSchema,
  transactionHashSchema,
  transactionStatusSchema,
} from './aggregator.ts'
import { withExactIntegers } from './exact-integers.ts'
import { type Reading, readAs, readJson, wrong } from './reading.ts'

/** Replies of the transaction aggregation service as domain values. */

/** A result as JSON has it, and with the integers that a double cannot hold as decimal strings. */
export type RpcResult = { readonly result: unknown; readonly exact: unknown }

/** What a response holds: a result of any shape, or the service's error as it came. */
export type RpcReply =
  | ({ readonly tag: 'result' } & RpcResult)
  | {
      readonly tag: 'error'
      readonly code: number
      readonly message: string
      /** Whether it carries our id. One without says what somebody could not read, and nothing of our request. */
      readonly isOurs: boolean
    }

/** The JSON-RPC 2.0 response to the request of that id: exactly one of result and error. */
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

/** Result of the methods that take a transaction. Any 32 bytes will do: how the service makes them is its own. */
export function readTransactionHash({ result }: RpcResult): Reading<Hex> {
  const parsed = readAs(transactionHashSchema, result)
  return parsed.ok ? { ok: true, value: lowerCase(parsed.value) } : parsed
}

/** Result of both receipt methods; `null` until the transaction has landed. */
export function readReceipt({
  result,
}: RpcResult): Reading<{ readonly transactionHash: Hex } | undefined> {
  const parsed = readAs(receiptSchema, result)
  if (!parsed.ok) return parsed
  if (parsed.value === null) return { ok: true, value: undefined }
  return { ok: true, value: { transactionHash: lowerCase(parsed.value.transactionHash) } }
}

/** Result of the account method, in wei. */
export function readAccountInfo({
  exact,
}: RpcResult): Reading<{ readonly balance: bigint; readonly outstandingCharge: bigint }> {
  const parsed = readAs(accountInfoSchema, exact)
  if (!parsed.ok) return parsed
  const { balance, outstanding_charge } = parsed.value
  const value = { balance: BigInt(balance), outstandingCharge: BigInt(outstanding_charge) }
  return { ok: true, value }
}

/** Result of the status method: every field that came, as the interface names none. Costs must not be rounded. */
export function readTransactionStatus({
  exact,
}: RpcResult): Reading<Readonly<Record<string, unknown>>> {
  return readAs(transactionStatusSchema, exact)
}

/** The schema has checked the shape; only the case is left to settle. */
function lowerCase(text: string): Hex {
  return text.toLowerCase() as Hex
}
