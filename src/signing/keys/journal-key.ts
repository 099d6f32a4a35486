import { createHmac, createSecretKey, hkdfSync } from 'node:crypto'
import type { Address, Hex } from '../../domain/units.ts'
import { addressOf, type Curve, loadCurve } from './secp256k1-curve.ts'

/** Ties the derived key to this one use: nothing else that is derived from a wallet's key has the same bytes. */
const DOMAIN = 'tranched journal, format 2, message authentication'
const KEY_BYTES = 32

/** Tells what a wallet's daemon wrote from what anybody else did (rule T2). Only the wallet's private key yields it. */
export type JournalKey = {
  /** Of the wallet. */
  readonly address: Address
  /** HMAC-SHA-256 over a record's hash or a snapshot's digest, 64 hex digits. */
  macOf(what: 'record' | 'snapshot', hash: Hex): string
}

/**
 * The journal key of a wallet: HKDF-SHA-256 (RFC 5869, no salt) of its 32 bytes. Those are left as they are, for the
 * signer, which overwrites them; of its own key this keeps no bytes that a property or a dump of objects would show.
 */
export function deriveJournalKey(privateKey: Uint8Array, curve: Curve = loadCurve()): JournalKey {
  const bytes = new Uint8Array(hkdfSync('sha256', privateKey, '', DOMAIN, KEY_BYTES))
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return Object.freeze({
    address: addressOf(privateKey, curve),
    macOf: (what: 'record' | 'snapshot', hash: Hex) =>
      createHmac('sha256', key).update(`${what} ${hash}`).digest('hex'),
  })
}
