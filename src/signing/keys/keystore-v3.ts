import { pbkdf2, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import type { DeriveOpts, ScryptDeriveOpts } from 'ox/Keystore'
import * as z from 'zod'
import { type Address, parseAddress } from '../../domain/money/units.ts'
import { checkPrivateKey } from './private-key.ts'
import { addressOf } from './secp256k1-curve.ts'

type OpenedKeystore =
  | { readonly ok: true; readonly key: Uint8Array }
  | { readonly ok: false; readonly cause: 'wrong-password' }
  /** `message` completes a sentence that begins with the file's name. */
  | { readonly ok: false; readonly cause: 'unreadable'; readonly message: string }

type KdfParams = DeriveOpts['kdfparams']
type ScryptParams = ScryptDeriveOpts['kdfparams']

const KEY_BYTES = 32
/** A keystore that requires more is a mistake, or was made to exhaust the machine. */
const SCRYPT_BYTES_MAX = 1024 ** 3
const PBKDF2_ROUNDS_MAX = 10_000_000

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
  if (keystore.address !== undefined && keystore.address !== addressOf(plain))
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
  // Node refuses to use the whole limit, so it must exceed the need.
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

const hexOf = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`, 'i'))
const anyHex = z.string().regex(/^(?:[0-9a-f]{2})+$/i)
const count = z.int().positive()
const shared = { dklen: z.literal(KEY_BYTES), salt: anyHex }
const workFactor = count.refine((n) => n > 1 && Number.isInteger(Math.log2(n)))
const cipherSchema = z.object({
  cipher: z.literal('aes-128-ctr'),
  ciphertext: anyHex,
  cipherparams: z.object({ iv: hexOf(16) }),
  mac: hexOf(32),
})
/** Rejects files that ox would misread, because ox checks neither version nor cipher nor lengths. */
const keystoreSchema = z.object({
  version: z.literal(3),
  id: z.string().catch(''),
  address: z
    .string()
    .transform((text) => parseAddress(`0x${text.replace(/^0x/, '')}`))
    .catch(undefined),
  crypto: z.discriminatedUnion('kdf', [
    cipherSchema.extend({
      kdf: z.literal('pbkdf2'),
      kdfparams: z.object({ ...shared, c: count, prf: z.literal('hmac-sha256') }),
    }),
    cipherSchema.extend({
      kdf: z.literal('scrypt'),
      kdfparams: z.object({ ...shared, n: workFactor, r: count, p: count }),
    }),
  ]),
})

function parseKeystore(text: string): z.output<typeof keystoreSchema> | undefined {
  try {
    const file = JSON.parse(text) as { readonly crypto?: unknown; readonly Crypto?: unknown }
    return keystoreSchema.parse({ ...file, crypto: file.crypto ?? file.Crypto })
  } catch {
    return undefined
  }
}
