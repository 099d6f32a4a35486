import { createHmac, createSecretKey, hkdfSync } from 'node:crypto'
import type { Address, Hex } from '../../domain/money/units.ts'
import { addressOf } from './secp256k1-curve.ts'

/** Domain separation: no other key derived from a wallet's key has the same bytes. */
const DOMAIN = 'tranched journal, format 2, message authentication'
const KEY_BYTES = 32

/** What a MAC is for: one of these never passes as another. */
type Sealed = 'record' | 'snapshot' | 'index'

/** Authenticates records of a wallet's daemon (rule T2). Derived from the wallet's private key. */
export type JournalKey = {
  readonly address: Address
  /** HMAC-SHA-256 over a record's hash, or the digest of a snapshot or an index file; 64 hex digits. */
  macOf(what: Sealed, hash: Hex): string
}

/**
 * A wallet's journal key: HKDF-SHA-256 (RFC 5869, no salt) of the private key's 32 bytes. The signer overwrites those bytes,
 * not this function. The derived key is in no property, so an object dump does not show it.
 */
export function deriveJournalKey(privateKey: Uint8Array): JournalKey {
  const bytes = new Uint8Array(hkdfSync('sha256', privateKey, '', DOMAIN, KEY_BYTES))
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return Object.freeze({
    address: addressOf(privateKey),
    macOf: (what: Sealed, hash: Hex) =>
      createHmac('sha256', key).update(`${what} ${hash}`).digest('hex'),
  })
}
