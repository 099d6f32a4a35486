import { getAddress } from 'viem/utils'
import type { WalletFault, WalletKey } from '../../../adapters/keys/keystore.ts'
import { withoutKeys } from '../../../domain/outside-text.ts'
import type { Address } from '../../../domain/units.ts'
import { KEYS } from '../../compose/wallets.ts'
import { EXIT, type ExitCode, printJson } from '../../io.ts'
import type { WalletAddressData, WalletData, WalletFailureData } from '../../json/account.ts'
import type { WalletIo } from './wallet-io.ts'

export type WalletNewOptions = {
  /** Keystore to write; it must not exist. */
  readonly out: string
  /** Without it the password is asked for. */
  readonly passwordFile?: string
  readonly json?: boolean
}

export type WalletImportOptions = WalletNewOptions & {
  /** Without it the key is asked for, or read from a pipe. Never an argument: those show in process lists. */
  readonly privateKeyFile?: string
}

/** Exactly one of `keystore` and `privateKeyFile`. */
export type WalletAddressOptions = {
  readonly keystore?: string
  readonly passwordFile?: string
  readonly privateKeyFile?: string
  readonly json?: boolean
}

type Password =
  | { readonly ok: true; readonly password: string; readonly from: string }
  | (WalletFault & { readonly exitCode?: ExitCode })

const NEW_KEY_TRIES_MAX = 8

/** `wallet new`: a random key into a new keystore. Prints its address, never the key. */
export async function walletNew(options: WalletNewOptions, io: WalletIo): Promise<ExitCode> {
  const exposed = await KEYS.exposure(io.env)
  if (exposed !== undefined) return fail(exposed, options, io)
  const password = await newPassword(options, io)
  if (!password.ok) return fail(password, options, io)
  return store({ key: randomKey(io), password: password.password }, options, io)
}

/** `wallet import`: a key that exists already into a new keystore. */
export async function walletImport(options: WalletImportOptions, io: WalletIo): Promise<ExitCode> {
  const key = (await KEYS.exposure(io.env)) ?? (await givenKey(options, io))
  if (!key.ok) return fail(key, options, io)
  const password = await newPassword(options, io)
  if (!password.ok) {
    key.key.fill(0)
    return fail(password, options, io)
  }
  return store({ key: key.key, password: password.password }, options, io)
}

/** `wallet address`: opens the wallet and prints the address of the key that is really in it. */
export async function walletAddress(
  options: WalletAddressOptions,
  io: WalletIo,
): Promise<ExitCode> {
  const { keystore, privateKeyFile } = options
  if ((keystore === undefined) === (privateKeyFile === undefined))
    return fail(usage('name one wallet', 'give --keystore or --private-key-file'), options, io)
  const key =
    (await KEYS.exposure(io.env)) ??
    (keystore === undefined
      ? await KEYS.readWalletKey(
          { type: 'privateKeyFile', file: privateKeyFile ?? '' },
          { readFile: io.readFile, env: {} },
        )
      : await unlocked(keystore, options, io))
  if (!key.ok) return fail(key, options, io)
  const address = KEYS.addressOf(key.key)
  key.key.fill(0)
  report({ address }, options, io)
  return EXIT.done
}

function randomKey(io: WalletIo): Uint8Array {
  for (let tries = 0; tries < NEW_KEY_TRIES_MAX; tries++) {
    const checked = KEYS.checkPrivateKey(io.randomBytes(32))
    if (checked.ok) return checked.key
  }
  throw new Error('the random source yields no private key')
}

async function store(
  secret: { readonly key: Uint8Array; readonly password: string },
  options: WalletNewOptions,
  io: WalletIo,
): Promise<ExitCode> {
  const work = io.scryptN === undefined ? {} : { scryptN: io.scryptN }
  const made = await KEYS.createKeystore({ file: options.out, ...secret, ...work })
  if (!made.ok) return fail(made, options, io)
  report({ address: made.address, keystore: options.out }, options, io)
  if (!options.json)
    io.stderr(
      `wrote ${options.out}. Back it up together with its password: without both, nobody can reach the funds.\n`,
    )
  return EXIT.done
}

async function givenKey(options: WalletImportOptions, io: WalletIo): Promise<WalletKey> {
  const { privateKeyFile } = options
  if (privateKeyFile !== undefined)
    return KEYS.readWalletKey(
      { type: 'privateKeyFile', file: privateKeyFile },
      { readFile: io.readFile, env: {} },
    )
  const text = (await io.readSecret('Private key: ')) ?? (await io.readPiped()) ?? ''
  const parsed = KEYS.parsePrivateKey(text)
  if (parsed.ok) return parsed
  return {
    ok: false,
    message: `what was entered ${parsed.message}`,
    remedy: 'enter it again, pipe it in, or give --private-key-file',
  }
}

/** Characters of a password that is typed for a new keystore. */
const TYPED_MIN = 8

async function newPassword(options: WalletNewOptions, io: WalletIo): Promise<Password> {
  if (options.passwordFile !== undefined)
    return KEYS.readPassword(options.passwordFile, io.readFile)
  const password = await io.readSecret('Password for the new keystore: ')
  if (password === undefined) return noTerminal()
  if ((await io.readSecret('The same password again: ')) !== password)
    return { ok: false, message: 'the passwords differ', remedy: 'try again' }
  if (password.length < TYPED_MIN)
    return {
      ...{
        ok: false,
        message: `a password of less than ${TYPED_MIN} characters is guessed at once`,
      },
      remedy: 'a longer one: it is all that guards the key where the file is copied',
    }
  return { ok: true, password, from: 'the terminal' }
}

async function unlocked(
  path: string,
  options: WalletAddressOptions,
  io: WalletIo,
): Promise<WalletKey> {
  const file = await KEYS.readPrivately(path, io.readFile)
  if (!file.ok) return file
  const password = await knownPassword(options, io)
  if (!password.ok) return password
  return KEYS.openKeystore({ path, text: file.text }, password)
}

async function knownPassword(options: WalletAddressOptions, io: WalletIo): Promise<Password> {
  if (options.passwordFile !== undefined)
    return KEYS.readPassword(options.passwordFile, io.readFile)
  const password = await io.readSecret('Password of the keystore: ')
  return password === undefined ? noTerminal() : { ok: true, password, from: 'the terminal' }
}

function noTerminal(): Password {
  return usage('there is no terminal to ask for a password', 'give --password-file')
}

function usage(message: string, remedy: string): WalletFault & { readonly exitCode: ExitCode } {
  return { ok: false, message, remedy, exitCode: EXIT.usage }
}

function report(
  wallet: { readonly address: Address; readonly keystore?: string },
  options: { readonly json?: boolean },
  io: WalletIo,
): void {
  const address = getAddress(wallet.address)
  const { keystore } = wallet
  const to = { stdout: { write: io.stdout } }
  if (!options.json) io.stdout(`${address}\n`)
  else if (keystore === undefined)
    printJson<WalletAddressData>(to, { ok: true, address, problems: [] })
  else printJson<WalletData>(to, { ok: true, address, keystore, problems: [] })
}

function fail(
  fault: WalletFault & { readonly exitCode?: ExitCode },
  options: { readonly json?: boolean },
  io: WalletIo,
): ExitCode {
  const { exitCode = EXIT.failed } = fault
  // Who mistook a flag for the key itself does not find it in the scrollback.
  const [message, remedy] = [withoutKeys(fault.message), withoutKeys(fault.remedy)]
  const to = { stdout: { write: io.stdout } }
  if (options.json) printJson<WalletFailureData>(to, { ok: false, message, remedy, problems: [] })
  else io.stderr(`tranched: ${message}\n  ${remedy}\n`)
  return exitCode
}
