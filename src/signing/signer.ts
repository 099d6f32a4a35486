import { hashMessage, keccak256, toHex } from 'viem/utils'
import type { CallRecord } from '../../domain/call.ts'
import type { PermitRecord } from '../../domain/permit.ts'
import type { Hex } from '../../domain/units.ts'
import type { Signature, SignedTransaction, Signer } from '../../ports.ts'
import { hashCall } from '../call/data.ts'
import { NO_SIGNATURE, onCallData, payloadOf } from './deeds.ts'
import {
  aggregatorOf,
  Barred,
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
  type SignerParts,
} from './judge.ts'
import { checkDeed, checkDeedTerms, recordedDeed } from './judge-deed.ts'
import { checkPrice } from './judge-price.ts'

/** See `Signer` of `ports.ts`. The first signature, a replay, a replacement and one after a crash are judged alike. */
export function createSigner(parts: SignerParts): Signer {
  const { key } = parts
  const { address } = key
  /** Permits that this process has signed. Of one that another has put on record nobody knows: it may never have been. */
  const made = new WeakSet<PermitRecord>()

  function judged<Value>(sign: () => Value): Signature<Value> {
    try {
      return { ok: true, value: sign() }
    } catch (error) {
      if (!(error instanceof Barred)) throw error
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
      judged(() => {
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
      judged(() => {
        const { open, call } = recordedCall(parts, id)
        if (route === 'service') checkMoment(parts, open)
        else checkFallback(parts)
        if (!isOut(parts, open, call)) checkTerms(parts, open)
        checkCall(parts, open, call)
        return onCallData(call, callSignature(call))
      }),
    envelope: (id) =>
      judged(() => {
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
        // The service pays, but its bytes are good for the chain itself, at the wallet's expense.
        const { nonce } = envelope
        checkGas(parts, { ...envelope, chainId, data }, { from: address, nonce })
        return key.signTransaction({ ...envelope, chainId, from: address, data })
      }),
    transaction: (id) =>
      judged(() => {
        const recorded = recordedDeed(parts, id)
        checkDeedTerms(parts, recorded)
        checkDeed(parts, recorded)
        const { record, deed } = recorded
        const signature = deed.type === 'call' ? callSignature(deed.call) : NO_SIGNATURE
        return key.signTransaction({ ...record, ...payloadOf(deed, signature) })
      }),
    delegation: () =>
      judged((): SignedTransaction => {
        const draft = recordedDelegation(parts)
        checkDelegation(parts, draft)
        return key.signDelegation(draft)
      }),
    /** EIP-191: its digest begins with a prefix that neither a transaction nor typed data has. */
    login: (requestId) =>
      judged(() => {
        checkHalt(parts)
        const method = `${aggregatorOf(parts).settings.wire.methodPrefix}accountInfo`
        const body = JSON.stringify({ jsonrpc: '2.0', id: requestId, method, params: [address] })
        const signature = key.signDigest(hashMessage({ raw: keccak256(toHex(body)) }))
        // The address is in lower case, as services that compare text have it.
        return { requestId, body, header: `${address}:${signature}` }
      }),
  } satisfies Signer)
}
