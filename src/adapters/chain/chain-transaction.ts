import { keccak256 } from 'viem/utils'
import { type Address, type Hex, mulDivUp } from '../../domain/units.ts'
import type { ChainFault, ChainReply, TransactionDraft } from '../../ports.ts'
import { revertReason } from './chain-abi.ts'
import { type RpcAnswers, type RpcCall, type RpcError, UnusableAnswer } from './json-rpc-batch.ts'
import { count, hash, object, quantity, toQuantity } from './json-rpc-values.ts'

export type Call = {
  readonly from: Address
  readonly to: Address
  readonly data: Hex
  readonly value: bigint
}

/** Gas is estimated on a state that may have moved when the transaction runs. */
const GAS_MARGIN = { num: 13n, den: 10n } as const
/** 0.001 gwei, what the cheapest chains take, for nodes that suggest no tip. */
const PRIORITY_FEE_FALLBACK = 1_000_000n

// Nodes agree on no codes for these, only roughly on the words.
const REVERTED =
  /revert|VM execution error|out ?of ?gas|invalid opcode|invalid jump|stack (?:under|over)flow|exceeds allowance|intrinsic gas|write protection/i
const NO_FUNDS = /insufficient (?:funds|balance|eth)|InsufficientFunds/i
const KNOWN = /already known|known transaction|already imported|already exists|AlreadyKnown/i
const NONCE_LOW = /nonce (?:is )?too low|NonceTooLow|OldNonce|invalid nonce.*lower/i
/** Revert codes: geth and those after it, and Nethermind. */
const REVERT_CODES: readonly number[] = [3, -32015]
/** "Internal error": the node failed at its own work, so that nothing is known. */
const INTERNAL_CODE = -32603

/** The calls whose answers `parseDraft` reads, from the given place in the batch on. */
export function draftCalls(call: Call): readonly RpcCall[] {
  const { from, to, data, value } = call
  return [
    { method: 'eth_getTransactionCount', params: [from, 'latest'] },
    { method: 'eth_estimateGas', params: [{ from, to, data, value: toQuantity(value) }] },
    { method: 'eth_maxPriorityFeePerGas', params: [] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
    { method: 'eth_getBalance', params: [from, 'latest'] },
  ]
}

/**
 * A draft that a node would accept: EIP-1559 fees that survive the base fee doubling, and an account that can pay
 * them.
 */
export function parseDraft(
  answers: RpcAnswers,
  at: number,
  draft: Call & { readonly chainId: number },
): ChainReply<TransactionDraft> {
  const nonce = count(answers.result(at), 'transaction count')
  const block = object<'baseFeePerGas'>(answers.result(at + 3), 'latest block')
  const baseFee = quantity(block.baseFeePerGas, 'base fee')
  const balance = quantity(answers.result(at + 4), 'balance')
  const estimateError = answers.error(at + 1)
  if (estimateError !== undefined) return { ok: false, fault: callFault(estimateError) }
  const estimate = quantity(answers.result(at + 1), 'gas estimate')
  const gas = mulDivUp(estimate, GAS_MARGIN.num, GAS_MARGIN.den)
  const maxPriorityFeePerGas =
    answers.error(at + 2) === undefined
      ? quantity(answers.result(at + 2), 'priority fee')
      : PRIORITY_FEE_FALLBACK
  const maxFeePerGas = 2n * baseFee + maxPriorityFeePerGas
  const needed = gas * maxFeePerGas + draft.value
  if (balance < needed) {
    const message = `the account holds ${balance} wei and needs up to ${needed} for gas and value`
    return { ok: false, fault: { tag: 'insufficientFunds', message } }
  }
  return { ok: true, value: { ...draft, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } }
}

/** The calls whose answers `parseSimulation` reads. `gas` bounds the call, as it would bound the transaction. */
export function simulationCalls(call: Call & { readonly gas?: bigint }): readonly RpcCall[] {
  const { from, to, data, value, gas } = call
  const limit = gas === undefined ? {} : { gas: toQuantity(gas) }
  const request = { from, to, data, value: toQuantity(value), ...limit }
  return [
    { method: 'eth_call', params: [request, 'latest'] },
    { method: 'eth_estimateGas', params: [request] },
  ]
}

/** What became of a call that was run without sending it. */
export function parseSimulation(
  answers: RpcAnswers,
  at: number,
): ChainReply<{ readonly gasUsed: bigint }> {
  // The call first: its error has the reason, while a node may word that of an estimate as it likes.
  const error = answers.error(at) ?? answers.error(at + 1)
  if (error !== undefined) return { ok: false, fault: callFault(error) }
  return { ok: true, value: { gasUsed: quantity(answers.result(at + 1), 'gas estimate') } }
}

/** Why a call cannot be estimated. Throws UnusableAnswer when the error is about the node, not the call. */
function callFault(error: RpcError): ChainFault {
  const reason = revertReason(error.data)
  if (REVERT_CODES.includes(error.code) || reason !== undefined || REVERTED.test(error.message))
    return {
      tag: 'refused',
      message: reason === undefined ? error.message : `the call reverts: ${reason}`,
    }
  if (NO_FUNDS.test(error.message)) return { tag: 'insufficientFunds', message: error.message }
  throw new UnusableAnswer(`error ${error.code}: ${error.message}`)
}

/** The answer to eth_sendRawTransaction. Bytes that the node holds already count as sent. */
export function parseBroadcast(answers: RpcAnswers, raw: Hex): ChainReply<Hex> {
  const expected = keccak256(raw)
  const error = answers.error(0)
  if (error === undefined) {
    if (hash(answers.result(0), 'transaction hash') !== expected)
      throw new UnusableAnswer('answered the hash of another transaction')
    return { ok: true, value: expected }
  }
  if (KNOWN.test(error.message)) return { ok: true, value: expected }
  return { ok: false, fault: broadcastFault(error) }
}

function broadcastFault(error: RpcError): ChainFault {
  if (NONCE_LOW.test(error.message)) return { tag: 'refused', message: 'nonce too low' }
  if (NO_FUNDS.test(error.message)) return { tag: 'insufficientFunds', message: error.message }
  if (error.code === INTERNAL_CODE)
    throw new UnusableAnswer(`error ${error.code}: ${error.message}`)
  return { tag: 'refused', message: error.message }
}
