import type { Address, Hex } from '../../src/domain/money/units.ts'
import type { Key, TransactionDraft } from '../../src/ports.ts'
import { fingerprint } from '../support/random-hex.ts'
import type { SimulatedProcess } from './process.ts'

export type SimulatedKeyOptions = {
  readonly address: Address
  readonly process: SimulatedProcess
  /** Called just before a permit's signature is made. */
  readonly onSign: (digest: Hex) => void
  /** The same for a transaction. */
  readonly onTransaction?: (draft: TransactionDraft) => void
}

/** Signs without a key: the address is enough to check the signature, which suffices for a simulation. */
export function createSimulatedKey(options: SimulatedKeyOptions): Key {
  const { address, process, onSign, onTransaction } = options
  return {
    address,
    signDigest(digest) {
      process.requireAlive()
      onSign(digest)
      return simulatedSignature(address, digest)
    },
    signTransaction(draft) {
      process.requireAlive()
      onTransaction?.(draft)
      const raw = encodeTransaction(draft)
      return { raw, hash: fingerprint(raw) }
    },
    signDelegation() {
      throw new Error('no simulated account changes its code')
    },
  }
}

/** The one valid signature of an owner over a digest. */
export function simulatedSignature(owner: Address, digest: Hex): Hex {
  return `${fingerprint(`${owner} ${digest}`)}${fingerprint(`${digest} ${owner}`).slice(2)}1b`
}

function encodeTransaction(draft: TransactionDraft): Hex {
  const { chainId, from, to, data, value, nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = draft
  const fields = [chainId, from, to, data, value, nonce, gas, maxFeePerGas, maxPriorityFeePerGas]
  return `0x${Buffer.from(fields.join(' ')).toString('hex')}`
}

/** The transaction in raw bytes that `signTransaction` made; undefined for other bytes. */
export function decodeTransaction(raw: Hex): TransactionDraft | undefined {
  const fields = Buffer.from(raw.slice(2), 'hex').toString().split(' ')
  const [chainId, from, to, data, value, nonce, gas, maxFeePerGas, maxPriorityFeePerGas] = fields
  if (maxPriorityFeePerGas === undefined) return undefined
  return {
    chainId: Number(chainId),
    from: from as Address,
    to: to as Address,
    data: data as Hex,
    value: BigInt(value ?? 0),
    nonce: Number(nonce),
    gas: BigInt(gas ?? 0),
    maxFeePerGas: BigInt(maxFeePerGas ?? 0),
    maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
  }
}
