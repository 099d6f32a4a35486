import { hash as digest, hkdfSync } from 'node:crypto'
import type { Address, Hex } from '../../domain/units.ts'
import { addressOf, type Curve, loadCurve } from './secp256k1-curve.ts'

/** Ties the derived key to this one use: nothing else that is derived from a wallet's key has the same bytes. */
const DOMAIN = 'tranched journal, format 2, message authentication'
const KEY_BYTES = 32
/** What SHA-256 takes in one step. */
const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
const TEXT_BYTES_MAX = 128

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
  const mac = createMac(bytes)
  bytes.fill(0)
  return Object.freeze({
    address: addressOf(privateKey, curve),
    macOf: (what: 'record' | 'snapshot', hash: Hex) => mac(`${what} ${hash}`),
  })
}

/**
 * HMAC-SHA-256 (RFC 2104) as the two digests that it is, of short ASCII text under a key that is shorter than a block. Node's own
 * makes a stream with a native object behind it for each text: at six records an order that and its collection are 3 % of
 * the main thread's time. Both buffers are this function's own: none of the key gets into the pool that buffers share.
 */
function createMac(key: Uint8Array): (text: string) => string {
  const inner = Buffer.alloc(BLOCK_BYTES + TEXT_BYTES_MAX)
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES)
  for (let at = 0; at < BLOCK_BYTES; at += 1) {
    inner.writeUInt8(0x36 ^ (key[at] ?? 0), at)
    outer.writeUInt8(0x5c ^ (key[at] ?? 0), at)
  }
  return (text) => {
    if (text.length > TEXT_BYTES_MAX) throw new RangeError('only hashes are signed')
    const end = BLOCK_BYTES + inner.write(text, BLOCK_BYTES, 'latin1')
    digest('sha256', inner.subarray(0, end), 'buffer').copy(outer, BLOCK_BYTES)
    return digest('sha256', outer)
  }
}
