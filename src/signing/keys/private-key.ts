/** Order of the secp256k1 group: a private key is an integer from 1 to just below it. */
const GROUP_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const KEY_TEXT = /^(?:0x)?([0-9a-fA-F]{64})$/

type ParsedKey =
  | { readonly ok: true; readonly key: Uint8Array }
  | { readonly ok: false; readonly message: string }

/** Parses 64 hex digits, 0x optional, ignoring surrounding blanks. The message never repeats the key. */
export function parsePrivateKey(text: string): ParsedKey {
  const digits = KEY_TEXT.exec(text.trim())?.[1]
  if (digits === undefined)
    return { ok: false, message: 'is no private key (64 hex digits, 0x optional)' }
  return checkPrivateKey(Buffer.from(digits, 'hex'))
}

export function checkPrivateKey(key: Uint8Array): ParsedKey {
  if (key.length !== 32) return { ok: false, message: 'is no private key (32 bytes)' }
  const value = BigInt(`0x${Buffer.from(key).toString('hex')}`)
  if (value === 0n || value >= GROUP_ORDER)
    return { ok: false, message: 'is no private key (out of range for secp256k1)' }
  return { ok: true, key }
}
