import { open, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, messageOf } from '../../domain/errors.ts'
import type { Address } from '../../domain/money/units.ts'
import type { WalletSource } from '../../domain/settings.ts'
import { makeDirectory } from '../../system/directory.ts'
import { readRegular } from '../../system/regular-file.ts'
import { parsePrivateKey } from './private-key.ts'
import { addressOf } from './secp256k1-curve.ts'

/** A fault and its remedy. Never contains a key or a password. */
export type WalletFault = {
  readonly ok: false
  readonly message: string
  readonly remedy: string
}
export type WalletKey = { readonly ok: true; readonly key: Uint8Array } | WalletFault

type SecretFile = { readonly text: string; readonly mode: number }
/** Reads a file and its permission bits; rejects like node:fs. */
export type ReadSecretFile = (path: string) => Promise<SecretFile>

type WalletReader = {
  readonly readFile: ReadSecretFile
  readonly env: Readonly<Record<string, string | undefined>>
}

const SECRET_FILE_BYTES_MAX = 65_536
const OTHERS_MASK = 0o077
/** Geth's standard work factor: about a second and 256 MiB per password attempt. */
const SCRYPT_N = 262_144

/** Reads the permissions from the open file, not from its path. */
export async function readSecretFile(path: string): Promise<SecretFile> {
  const { data, mode } = readRegular(path, SECRET_FILE_BYTES_MAX)
  const text = data.toString('utf8')
  data.fill(0)
  return { text, mode }
}

/** Reads a wallet's key. The caller must overwrite the 32 bytes (`createKey` does). Refuses files that others may read. */
export async function readWalletKey(
  source: WalletSource,
  reader: WalletReader,
): Promise<WalletKey> {
  switch (source.type) {
    case 'privateKeyEnv':
      return keyFromEnvironment(source.name, reader.env)
    case 'privateKeyFile':
      return keyFromFile(source.file, reader.readFile)
    case 'keystore':
      return keyFromKeystore(source, reader.readFile)
    case 'address':
      return fault('this wallet is an address without a key', 'a key source, or `mode: dry-run`')
  }
}

function keyFromEnvironment(name: string, env: WalletReader['env']): WalletKey {
  const text = env[name] ?? ''
  const parsed = parsePrivateKey(text)
  if (parsed.ok) return parsed
  const message = text === '' ? 'is not set' : parsed.message
  return fault(`environment variable ${name} ${message}`, `set ${name} to the private key`)
}

async function keyFromFile(path: string, readFile: ReadSecretFile): Promise<WalletKey> {
  const file = await readPrivately(path, readFile, 'put the private key, and nothing else, into it')
  if (!file.ok) return file
  const parsed = parsePrivateKey(file.text)
  if (parsed.ok) return parsed
  return fault(`${path} ${parsed.message}`, 'put the private key, and nothing else, into the file')
}

async function keyFromKeystore(
  source: Extract<WalletSource, { type: 'keystore' }>,
  readFile: ReadSecretFile,
): Promise<WalletKey> {
  const { keystore: path } = source
  const remedy = `restore it from a backup, or make one: \`tranched wallet new --out ${path}\``
  const keystore = await readPrivately(path, readFile, remedy)
  if (!keystore.ok) return keystore
  const password = await readPassword(source.passwordFile, readFile)
  if (!password.ok) return password
  return openKeystore({ path, text: keystore.text }, password)
}

/** The password in a file, without the final line break that editors add. */
export async function readPassword(
  path: string,
  readFile: ReadSecretFile,
): Promise<{ ok: true; password: string; from: string } | WalletFault> {
  const file = await readPrivately(path, readFile, 'put the password of the keystore into it')
  if (!file.ok) return file
  const password = file.text.replace(/\r?\n$/, '')
  if (password === '') return fault(`${path} is empty`, 'put the password into the file')
  return { ok: true, password, from: path }
}

export async function openKeystore(
  keystore: { readonly path: string; readonly text: string },
  secret: { readonly password: string; readonly from: string },
): Promise<WalletKey> {
  const { decryptKeystore } = await import('./keystore-v3.ts')
  const opened = await decryptKeystore(keystore.text, secret.password)
  if (opened.ok) return opened
  if (opened.cause === 'wrong-password')
    return fault(
      `the password in ${secret.from} does not open ${keystore.path}`,
      `check that ${secret.from} holds the password of this keystore`,
    )
  return fault(`${keystore.path} ${opened.message}`, 'restore the keystore from a backup')
}

/** A secret file's text; refused if group or others have any permission. `whenMissing` is the remedy for a missing file. */
export async function readPrivately(
  path: string,
  readFile: ReadSecretFile,
  whenMissing = 'check the path',
): Promise<{ ok: true; text: string } | WalletFault> {
  let file: SecretFile
  try {
    file = await readFile(path)
  } catch (error) {
    const cause = codeOf(error) ?? messageOf(error)
    if (cause === 'ENOENT') return fault(`there is no ${path}`, whenMissing)
    if (cause === 'EISDIR' || cause === 'ENOTREG')
      return fault(`${path} is no regular file`, 'a file, which can be read again at every start')
    if (cause === 'EFBIG')
      return fault(`${path} is longer than ${SECRET_FILE_BYTES_MAX} bytes`, 'check the path')
    return fault(`${path} cannot be read (${cause})`, 'check the path and its owner')
  }
  if ((file.mode & OTHERS_MASK) !== 0)
    return fault(`${path} can be read or written by others`, `chmod 600 ${path}`)
  return { ok: true, text: file.text }
}

/** Writes a new v3 keystore, 0600, and returns its address. Never overwrites a file; zeroes the key when done. */
export async function createKeystore(options: {
  readonly file: string
  readonly key: Uint8Array
  readonly password: string
  /** Work factor, a power of two. Default 262,144. */
  readonly scryptN?: number
}): Promise<{ readonly ok: true; readonly address: Address } | WalletFault> {
  const { file, key, password, scryptN = SCRYPT_N } = options
  if (password === '') return fault('the password is empty', 'choose a password')
  const address = addressOf(key)
  const { encryptKeystore } = await import('./keystore-v3.ts')
  const text = await encryptKeystore({ key, password, address, scryptN })
  key.fill(0)
  try {
    await writeExclusively(file, text)
  } catch (error) {
    const cause = codeOf(error) ?? messageOf(error)
    if (cause === 'EEXIST')
      return fault(`${file} exists already`, 'choose another file; keystores are never overwritten')
    return fault(`${file} cannot be written (${cause})`, 'check the path and its owner')
  }
  return { ok: true, address }
}

async function writeExclusively(path: string, text: string): Promise<void> {
  makeDirectory(dirname(path), 0o700)
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    // A torn keystore must not look like a backup of the key.
    await unlink(path)
    throw error
  } finally {
    await file.close()
  }
}

function fault(message: string, remedy: string): WalletFault {
  return { ok: false, message, remedy }
}
