import { keccak256, serializeTransaction } from 'viem/utils'
import { type Hex, parseAddress } from '../../domain/money/units.ts'
import type { DelegationDraft } from '../../domain/order/call.ts'
import type { Key, TransactionDraft } from '../../ports.ts'
import { type SignatureParts, signDelegation } from './delegation-signature.ts'
import { addressOf, type Curve, loadCurve } from './secp256k1-curve.ts'

const DIGEST = /^0x[0-9a-f]{64}$/i

/** Field by field: extra fields of a record must not change what is signed. */
function unsigned(draft: TransactionDraft) {
  const { chainId, to, data, value, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = draft
  return {
    type: 'eip1559',
    chainId,
    to,
    data,
    value,
    nonce,
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
  } as const
}

/** Signs with a key held only in this closure; zeroes the given 32 bytes. Throws for an invalid key. */
export function createKey(privateKey: Uint8Array, curve: Curve = loadCurve()): Key {
  const key = Uint8Array.from(privateKey)
  privateKey.fill(0)
  if (key.length !== 32) throw new RangeError('a private key has 32 bytes')
  const address = addressOf(key, curve)

  function sign(digest: Hex): SignatureParts {
    if (!DIGEST.test(digest)) throw new TypeError('a digest has 32 bytes')
    const { signature, recovery } = curve.sign(Buffer.from(digest.slice(2), 'hex'), key)
    const text = Buffer.from(signature).toString('hex')
    return { r: `0x${text.slice(0, 64)}`, s: `0x${text.slice(64)}`, yParity: recovery }
  }

  return Object.freeze({
    address,
    signDigest(digest: Hex): Hex {
      const { r, s, yParity } = sign(digest)
      return `${r}${s.slice(2)}${yParity === 0 ? '1b' : '1c'}`
    },
    signDelegation: (draft: DelegationDraft) => signDelegation(sign, draft),
    signTransaction(draft: TransactionDraft): { readonly raw: Hex; readonly hash: Hex } {
      if (parseAddress(draft.from) !== address)
        throw new Error(`the draft is from ${draft.from}, the key belongs to ${address}`)
      const transaction = unsigned(draft)
      const signature = sign(keccak256(serializeTransaction(transaction)))
      const raw = serializeTransaction(transaction, signature)
      return { raw, hash: keccak256(raw) }
    },
  })
}
