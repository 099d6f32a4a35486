import { createECDH } from 'node:crypto'
import { createRequire } from 'node:module'
import { keccak256 } from 'viem/utils'
import type { Address } from '../../domain/money/units.ts'

/** The two required private key operations. Keys and digests have 32 bytes. */
export type Curve = {
  readonly kind: 'native' | 'portable'
  /** 65 bytes, uncompressed. Throws for a key that is zero or not below the group order. */
  publicKey(key: Uint8Array): Uint8Array
  /** r and s (64 bytes, s in the lower half), and the parity of R's y. Nonces follow RFC 6979, without randomness. */
  sign(
    digest: Uint8Array,
    key: Uint8Array,
  ): { readonly signature: Uint8Array; readonly recovery: number }
}

const KEY_BYTES = 32

// Loaded with the first signature, because creating its tables takes 8 ms, and not bundled, because a native addon must stay a file.
const load = createRequire(import.meta.url)

/** libsecp256k1 if its addon loads; otherwise portable code with identical results, ten times slower. */
export function loadCurve(): Curve {
  try {
    return loadNativeCurve()
  } catch {
    return loadPortableCurve()
  }
}

/** Throws if the addon is missing or built for another platform. */
export function loadNativeCurve(): Curve {
  // The package's main file would silently fall back to its own slow code.
  const addon: typeof import('secp256k1') = load('secp256k1/bindings.js')
  return {
    kind: 'native',
    publicKey: (key) => addon.publicKeyCreate(key, false),
    sign(digest, key) {
      const { signature, recid } = addon.ecdsaSign(digest, key)
      return { signature, recovery: recid }
    },
  }
}

export function loadPortableCurve(): Curve {
  const curve: typeof import('ox/Secp256k1') = load('ox/Secp256k1')
  const publicKeys: typeof import('ox/PublicKey') = load('ox/PublicKey')
  return {
    kind: 'portable',
    publicKey: (key) => publicKeys.toBytes(curve.getPublicKey({ privateKey: hex(key) })),
    sign(digest, key) {
      const { r, s, yParity } = curve.sign({
        payload: digest,
        privateKey: hex(key),
        extraEntropy: false,
      })
      const signature = Buffer.from(word(r) + word(s), 'hex')
      return { signature, recovery: yParity }
    },
  }
}

/** The last 20 bytes of the public key's hash. Throws for an invalid key. */
export function addressOf(key: Uint8Array, curve?: Curve): Address {
  if (key.length !== KEY_BYTES) throw new RangeError('a private key has 32 bytes')
  const point = curve === undefined ? publicKeyOf(key) : curve.publicKey(key)
  return `0x${keccak256(point.subarray(1)).slice(26)}`
}

/** By Node's OpenSSL, which is loaded anyway. A build of it may lack the curve. */
function publicKeyOf(key: Uint8Array): Uint8Array {
  try {
    const pair = createECDH('secp256k1')
    pair.setPrivateKey(key)
    return pair.getPublicKey()
  } catch {
    return loadCurve().publicKey(key)
  }
}

function hex(key: Uint8Array): `0x${string}` {
  return `0x${Buffer.from(key).toString('hex')}`
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}
