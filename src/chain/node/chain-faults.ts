import type { Hex } from '../../domain/money/units.ts'
import type { ChainFault, ChainReply } from '../../ports.ts'
import { RpcRefusal, UnusableAnswer } from './batch.ts'
import { revertReason } from './contract-errors.ts'
import { REVERT_CODES } from './refusals.ts'

// Nodes share no error codes for these, only similar wording.
const REVERTED =
  /revert|VM execution error|out ?of ?gas|invalid opcode|invalid jump|stack (?:under|over)flow|exceeds allowance|intrinsic gas|write protection/i
const NO_FUNDS = /insufficient (?:funds|balance|eth)|InsufficientFunds/i
const KNOWN = /already known|known transaction|already imported|already exists|AlreadyKnown/i
const NONCE_LOW = /nonce (?:is )?too low|NonceTooLow|OldNonce|invalid nonce.*lower/i
/** "Internal error": the node itself failed, so the outcome is unknown. */
const INTERNAL_CODE = -32603

type Refused = { readonly ok: false; readonly fault: ChainFault }

/** Maps an error about the call. Rethrows an error about the node. */
export function callFault(error: unknown): Refused {
  if (!(error instanceof RpcRefusal)) throw error
  const { code, message, data } = error
  const reason = revertReason(data)
  if (REVERT_CODES.includes(code) || reason !== undefined || REVERTED.test(message))
    return fault('refused', reason === undefined ? message : `the call reverts: ${reason}`)
  if (NO_FUNDS.test(message)) return fault('insufficientFunds', message)
  throw error
}

/** Maps a node's rejection of raw bytes. Bytes that it already holds count as sent. */
export function broadcastFault(error: unknown, hash: Hex): ChainReply<Hex> {
  // A gateway's error page proves nothing about the node behind it.
  if (!(error instanceof RpcRefusal) || error.statusCode !== 200) throw error
  const { code, message } = error
  if (KNOWN.test(message)) return { ok: true, value: hash }
  if (NONCE_LOW.test(message)) return fault('refused', 'nonce too low')
  if (NO_FUNDS.test(message)) return fault('insufficientFunds', message)
  if (code === INTERNAL_CODE) throw error
  return fault('refused', message)
}

function fault(tag: ChainFault['tag'], message: string): Refused {
  return { ok: false, fault: { tag, message } }
}

export function unavailable(message: string): Refused {
  return fault('unavailable', message)
}

export function present<Value>(value: Value | null | undefined, what: string): Value {
  if (value === null || value === undefined) throw new UnusableAnswer(`answered no usable ${what}`)
  return value
}
