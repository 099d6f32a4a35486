import type { TransactionSerializableEIP1559, TransactionSerializableEIP7702 } from 'viem'
import { hashAuthorization, keccak256, serializeTransaction } from 'viem/utils'
import { type Hex, parseAddress, ZERO_ADDRESS } from '../../domain/money/units.ts'
import type { DelegationDraft } from '../../domain/order/call.ts'
import type { Key, SignedTransaction, TransactionDraft } from '../../ports.ts'
import { addressOf, type Curve, loadCurve } from './secp256k1-curve.ts'

const DIGEST = /^0x[0-9a-f]{64}$/i

/** Copies field by field, because extra fields of a record must not change what is signed. */
function baseOf(draft: TransactionDraft | DelegationDraft) {
  const { chainId, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = draft
  return { chainId, nonce, gas, maxFeePerGas, maxPriorityFeePerGas }
}

/** Signs with a key held only in this closure; zeroes the given 32 bytes. Throws for an invalid key. */
export function createKey(privateKey: Uint8Array, given?: Curve): Key {
  const key = Uint8Array.from(privateKey)
  privateKey.fill(0)
  const address = addressOf(key, given)
  let curve = given

  function sign(digest: Hex): { readonly r: Hex; readonly s: Hex; readonly yParity: number } {
    if (!DIGEST.test(digest)) throw new TypeError('a digest has 32 bytes')
    curve ??= loadCurve()
    const { signature, recovery } = curve.sign(Buffer.from(digest.slice(2), 'hex'), key)
    const text = Buffer.from(signature).toString('hex')
    return { r: `0x${text.slice(0, 64)}`, s: `0x${text.slice(64)}`, yParity: recovery }
  }

  function signed(transaction: TransactionSerializableEIP1559 | TransactionSerializableEIP7702) {
    const signature = sign(keccak256(serializeTransaction(transaction)))
    const raw = serializeTransaction(transaction, signature)
    return { raw, hash: keccak256(raw) }
  }

  return Object.freeze({
    address,
    signDigest(digest: Hex): Hex {
      const { r, s, yParity } = sign(digest)
      return `${r}${s.slice(2)}${yParity === 0 ? '1b' : '1c'}`
    },
    signDelegation(draft: DelegationDraft): SignedTransaction {
      const { chainId, delegate, authorizationNonce: nonce } = draft
      if (!Number.isSafeInteger(chainId) || chainId <= 0)
        throw new RangeError(`an authorization needs the id of one chain, not ${chainId}`)
      const authorization = { address: delegate, chainId, nonce }
      const authorizationList = [{ ...authorization, ...sign(hashAuthorization(authorization)) }]
      return signed({
        type: 'eip7702',
        ...baseOf(draft),
        to: ZERO_ADDRESS,
        data: '0x',
        value: 0n,
        authorizationList,
      })
    },
    signTransaction(draft: TransactionDraft): SignedTransaction {
      if (parseAddress(draft.from) !== address)
        throw new Error(`the draft is from ${draft.from}, the key belongs to ${address}`)
      const { to, data, value } = draft
      return signed({ type: 'eip1559', ...baseOf(draft), to, data, value })
    },
  })
}
