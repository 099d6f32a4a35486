import type { Hex } from '../../../domain/money/units.ts'
import { type Reading, readJson, withExactIntegers, wrong } from '../../../system/read-json.ts'
import {
  accountInfoSchema,
  receiptSchema,
  rpcResponseSchema,
  transactionHashSchema,
} from './aggregator-wire.ts'

type RpcReply =
  /** Integers beyond double precision are decimal strings. */
  | { readonly tag: 'result'; readonly result: unknown }
  | {
      readonly tag: 'error'
      readonly code: number
      readonly message: string
      /** True if the response has our id. Without it, the error proves nothing about our request. */
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
  const exact = withExactIntegers(text)
  const { result } = exact === undefined ? parsed.value : JSON.parse(exact)
  return { ok: true, value: { tag: 'result', result } }
}

/** Any 32 bytes are accepted: the service defines its own hashes. */
export const hashReply = transactionHashSchema.transform(lowerCase)

/** Result of both receipt methods; undefined until the transaction is mined. */
export const receiptReply = receiptSchema.transform((receipt) =>
  receipt === null ? undefined : { transactionHash: lowerCase(receipt.transactionHash) },
)

/** In wei. */
export const accountInfoReply = accountInfoSchema.transform(({ balance, outstanding_charge }) => ({
  balance: BigInt(balance),
  outstandingCharge: BigInt(outstanding_charge),
}))

/** The schema has checked the shape. */
function lowerCase(text: string): Hex {
  return text.toLowerCase() as Hex
}
