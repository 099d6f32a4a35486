import { pbkdf2, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import type { DeriveOpts, Keystore, ScryptDeriveOpts } from 'ox/Keystore'
import { type Address, parseAddress } from '../../domain/money/units.ts'
import { checkPrivateKey } from './private-key.ts'
import { addressOf, loadCurve } from './secp256k1-curve.ts'

type OpenedKeystore =
  | { readonly ok: true; readonly key: Uint8Array }
  | { readonly ok: false; readonly cause: 'wrong-password' }
  /** `message` continues a sentence that begins with the file's name. */
  | { readonly ok: false; readonly cause: 'unreadable'; readonly message: string }

type KdfParams = DeriveOpts['kdfparams']
type ScryptParams = ScryptDeriveOpts['kdfparams']

const KEY_BYTES = 32
/** A keystore that requires more is a mistake, or made to exhaust the machine. */
const SCRYPT_BYTES_MAX = 1024 ** 3
const PBKDF2_ROUNDS_MAX = 10_000_000
const HEX = /^(?:[0-9a-f]{2})+$/i

// Derivation takes about a second, in a worker thread; ox's own would block the event loop.
const scryptAsync = promisify<string, Uint8Array, number, object, Buffer>(scrypt)
const pbkdf2Async = promisify(pbkdf2)

/** Private key of a Web3 Secret Storage v3 keystore (geth, foundry, ethers). Old files spell the key `Crypto`. */
export async function decryptKeystore(text: string, password: string): Promise<OpenedKeystore> {
  const keystore = parseKeystore(text)
  if (keystore === undefined)
    return unreadable('is no v3 keystore with aes-128-ctr and scrypt or pbkdf2')
  const { crypto } = keystore
  if (!isAffordable(crypto.kdfparams)) return unreadable('asks for too much work to derive its key')
  const derived = await deriveKey(crypto.kdfparams, password)
  const { decrypt } = await import('ox/Keystore')
  let plain: Uint8Array
  try {
    plain = decrypt(keystore, derived, { as: 'Bytes' })
  } catch {
    // Its only error: the MAC of the ciphertext does not match the derived key.
    return { ok: false, cause: 'wrong-password' }
  }
  const checked = checkPrivateKey(plain)
  if (!checked.ok) return unreadable(`holds what ${checked.message}`)
  if (keystore.address !== undefined && keystore.address !== addressOf(plain, loadCurve()))
    return unreadable('holds the key of another address than it says')
  return checked
}

/** Text of a new keystore: scrypt with r = 8 and p = 1, like geth. */
export async function encryptKeystore(wallet: {
  readonly key: Uint8Array
  readonly password: string
  readonly address: Address
  /** Work factor, a power of two. */
  readonly scryptN: number
}): Promise<string> {
  const salt = randomBytes(32)
  const kdfparams = {
    dklen: KEY_BYTES,
    n: wallet.scryptN,
    p: 1,
    r: 8,
    salt: salt.toString('hex'),
  }
  const derived = await deriveKey(kdfparams, wallet.password)
  const { encrypt } = await import('ox/Keystore')
  const iv = Uint8Array.from(randomBytes(16))
  const keystore = encrypt(wallet.key, derived, { kdf: 'scrypt', kdfparams, iv })
  return `${JSON.stringify({ address: wallet.address.slice(2), ...keystore }, null, 2)}\n`
}

async function deriveKey(params: KdfParams, password: string): Promise<`0x${string}`> {
  const salt = Buffer.from(params.salt, 'hex')
  if ('c' in params) {
    const derived = await pbkdf2Async(password, salt, params.c, KEY_BYTES, 'sha256')
    return `0x${derived.toString('hex')}`
  }
  if (!fitsOpenSsl(params)) return derivePortably(params, password)
  const { n: N, r, p } = params
  // Node refuses to use all of it, so the limit must exceed the need.
  const maxmem = 2 * scryptBytes(params)
  const derived = await scryptAsync(password, salt, KEY_BYTES, { N, r, p, maxmem })
  return `0x${derived.toString('hex')}`
}

/** RFC 7914 requires N below 2^(128 r / 8). OpenSSL enforces it; some wallets write r = 1 with a larger N. */
function fitsOpenSsl({ n, r }: ScryptParams): boolean {
  return Math.log2(n) < 16 * r
}

/** Blocks the event loop for a second or two: ox's asynchronous variant ignores r and p. */
async function derivePortably(params: ScryptParams, password: string): Promise<`0x${string}`> {
  const { scrypt: scryptPortably } = await import('ox/Keystore')
  const { n, r, p, salt } = params
  const [key] = scryptPortably({ n, r, p, salt: `0x${salt}`, password })
  return typeof key === 'function' ? key() : key
}

function isAffordable(params: KdfParams): boolean {
  if ('c' in params) return params.c <= PBKDF2_ROUNDS_MAX
  return scryptBytes(params) <= SCRYPT_BYTES_MAX
}

function scryptBytes({ n, r, p }: ScryptParams): number {
  return 128 * r * (n + p + 2)
}

function unreadable(message: string): OpenedKeystore {
  return { ok: false, cause: 'unreadable', message }
}

type ParsedKeystore = Keystore & { readonly address: Address | undefined }

/** Undefined for files that ox would misread: it checks neither version nor cipher nor lengths. */
function parseKeystore(text: string): ParsedKeystore | undefined {
  const file = fields<'version' | 'crypto' | 'Crypto' | 'id' | 'address'>(parseJson(text))
  const crypto = fields<'cipher' | 'ciphertext' | 'cipherparams' | 'mac' | 'kdf' | 'kdfparams'>(
    file?.crypto ?? file?.Crypto,
  )
  const iv = fields<'iv'>(crypto?.cipherparams)?.iv
  if (crypto === undefined || file?.version !== 3 || crypto.cipher !== 'aes-128-ctr')
    return undefined
  const { ciphertext, mac } = crypto
  if (!isHex(ciphertext) || !isHex(mac, 32) || !isHex(iv, 16)) return undefined
  const kdf = parseKdf(crypto.kdf, crypto.kdfparams)
  if (kdf === undefined) return undefined
  const stated = typeof file.address === 'string' ? file.address.replace(/^0x/, '') : ''
  return {
    crypto: { cipher: 'aes-128-ctr', ciphertext, cipherparams: { iv }, mac, ...kdf },
    id: typeof file.id === 'string' ? file.id : '',
    version: 3,
    address: parseAddress(`0x${stated}`),
  }
}

function parseKdf(
  kdf: unknown,
  value: unknown,
): Pick<Keystore['crypto'], 'kdf' | 'kdfparams'> | undefined {
  const params = fields<'dklen' | 'salt' | 'n' | 'r' | 'p' | 'c' | 'prf'>(value)
  if (params === undefined || params.dklen !== KEY_BYTES || !isHex(params.salt)) return undefined
  const { salt, n, r, p, c } = params
  if (kdf === 'pbkdf2' && params.prf === 'hmac-sha256' && isCount(c))
    return { kdf, kdfparams: { c, dklen: KEY_BYTES, prf: 'hmac-sha256', salt } }
  if (
    kdf === 'scrypt' &&
    isCount(n) &&
    isCount(r) &&
    isCount(p) &&
    n > 1 &&
    Number.isInteger(Math.log2(n))
  )
    return { kdf, kdfparams: { n, r, p, dklen: KEY_BYTES, salt } }
  return undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fields<Field extends string>(
  value: unknown,
): { readonly [field in Field]?: unknown } | undefined {
  return typeof value === 'object' && value !== null ? value : undefined
}

function isHex(value: unknown, bytes?: number): value is string {
  if (typeof value !== 'string' || !HEX.test(value)) return false
  return bytes === undefined || value.length === 2 * bytes
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}
