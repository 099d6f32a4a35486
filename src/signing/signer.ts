import { hashMessage, keccak256, toHex } from 'viem/utils'
import type { Hex } from '../domain/money/units.ts'
import type { CallRecord } from '../domain/order/call.ts'
import type { PermitRecord } from '../domain/order/permit.ts'
import type { Signature, SignedTransaction, Signer } from '../ports.ts'
import { hashCall } from './call-data.ts'
import {
  aggregatorOf,
  check,
  checkCall,
  checkCaps,
  checkDelegation,
  checkFallback,
  checkGas,
  checkHalt,
  checkMoment,
  checkPermit,
  checkTerms,
  isOut,
  recordedCall,
  recordedDelegation,
  recordedPermit,
  SignatureRefused,
  type SignerParts,
} from './policy.ts'
import { checkPrice } from './price-policy.ts'
import {
  checkTransaction,
  checkTransactionTerms,
  recordedTransaction,
} from './wallet-transaction-policy.ts'
import { NO_SIGNATURE, onCallData, payloadOf } from './wallet-transactions.ts'

/** See `Signer` in `ports.ts`. First signatures, replays, replacements and recoveries get the same checks. */
export function createSigner(parts: SignerParts): Signer {
  const { key } = parts
  const { address } = key
  /** Permits that this process signed. A permit recorded by another process may never have been signed. */
  const made = new WeakSet<PermitRecord>()

  function guarded<Value>(sign: () => Value): Signature<Value> {
    try {
      return { ok: true, value: sign() }
    } catch (error) {
      if (!(error instanceof SignatureRefused)) throw error
      return { ok: false, reason: error.reason, detail: error.message }
    }
  }

  function callSignature(call: CallRecord): Hex {
    if (call.trust === 'trusted') return NO_SIGNATURE
    const digest = hashCall(call)
    check(digest === call.digest, 'digest-mismatch', 'the record is not what its digest says')
    return key.signDigest(digest)
  }

  return Object.freeze({
    address,
    permit: (id) =>
      guarded(() => {
        const { open, permit } = recordedPermit(parts, id)
        checkMoment(parts, open)
        if (!made.has(permit)) checkTerms(parts, open)
        checkPermit(parts, open, permit)
        checkCaps(parts, open, permit.amount)
        if (!made.has(permit)) checkPrice(parts, open, permit)
        const digest = parts.hashPermit(permit)
        check(digest === permit.digest, 'digest-mismatch', 'the record is not what its digest says')
        made.add(permit)
        return key.signDigest(digest)
      }),
    onCall: (id, route) =>
      guarded(() => {
        const { open, call } = recordedCall(parts, id)
        if (route === 'service') checkMoment(parts, open)
        else checkFallback(parts)
        if (!isOut(parts, open, call)) checkTerms(parts, open)
        checkCall(parts, open, call)
        return onCallData(call, callSignature(call))
      }),
    envelope: (id) =>
      guarded(() => {
        const { open, call } = recordedCall(parts, id)
        checkMoment(parts, open)
        if (!isOut(parts, open, call)) checkTerms(parts, open)
        const { contracts } = checkCall(parts, open, call)
        const { envelope, account, chainId } = call
        const isTrusted = call.trust === 'trusted'
        const carriers = isTrusted ? [call.target] : [account, contracts.trustlessProposer]
        check(carriers.includes(envelope.to), 'proposer-mismatch', `it goes to ${envelope.to}`)
        check(envelope.value === (isTrusted ? call.value : 0n), 'amount-mismatch', 'of its ether')
        const data = isTrusted ? call.calldata : onCallData(call, callSignature(call))
        // The service pays, but the chain itself accepts the bytes at the wallet's expense.
        const { nonce } = envelope
        checkGas(parts, { ...envelope, chainId, data }, { from: address, nonce })
        return key.signTransaction({ ...envelope, chainId, from: address, data })
      }),
    transaction: (id) =>
      guarded(() => {
        const recorded = recordedTransaction(parts, id)
        checkTransactionTerms(parts, recorded)
        checkTransaction(parts, recorded)
        const { record, transaction } = recorded
        const signature =
          transaction.type === 'call' ? callSignature(transaction.call) : NO_SIGNATURE
        return key.signTransaction({ ...record, ...payloadOf(transaction, signature) })
      }),
    delegation: () =>
      guarded((): SignedTransaction => {
        const draft = recordedDelegation(parts)
        checkDelegation(parts, draft)
        return key.signDelegation(draft)
      }),
    /** EIP-191: the digest has a prefix that neither transactions nor typed data have. */
    login: (requestId) =>
      guarded(() => {
        checkHalt(parts)
        const method = `${aggregatorOf(parts).settings.wire.methodPrefix}accountInfo`
        const body = JSON.stringify({ jsonrpc: '2.0', id: requestId, method, params: [address] })
        const signature = key.signDigest(hashMessage({ raw: keccak256(toHex(body)) }))
        // Lower case, because some services compare addresses as text.
        return { requestId, body, header: `${address}:${signature}` }
      }),
  } satisfies Signer)
}
