import { randomBytes } from 'node:crypto'
import { getAddress } from 'viem/utils'
import { withoutKeys } from '../../../domain/text/outside-text.ts'
import { exposure } from '../../../signing/keys/exposure.ts'
import {
  createKeystore,
  openKeystore,
  type ReadSecretFile,
  readPassword,
  readPrivately,
  readSecretFile,
  readWalletKey,
  type WalletFault,
  type WalletKey,
} from '../../../signing/keys/keystore.ts'
import { checkPrivateKey, parsePrivateKey } from '../../../signing/keys/private-key.ts'
import { addressOf } from '../../../signing/keys/secp256k1-curve.ts'
import type {
  WalletAddressData,
  WalletData,
  WalletFailureData,
} from '../../json/account-outputs.ts'
import { EXIT, type ExitCode, type Io, print } from '../../process/io.ts'
import { Refusal } from '../../process/refusal.ts'

export type WalletNewOptions = {
  readonly out: string
  /** If missing, the command asks for the password. */
  readonly passwordFile?: string
  readonly json?: boolean
}

export type WalletImportOptions = WalletNewOptions & {
  /** If missing, the command asks for the key or reads it from a pipe. Never an argument: process lists show arguments. */
  readonly privateKeyFile?: string
}

/** Exactly one of `keystore` and `privateKeyFile`. */
export type WalletAddressOptions = Omit<WalletImportOptions, 'out'> & { readonly keystore?: string }

type Failed = WalletFault & { readonly exitCode?: ExitCode }
type Password = { readonly ok: true; readonly password: string; readonly from: string } | Failed

const NEW_KEY_TRIES_MAX = 8

/** `wallet new`: stores a random key in a new keystore. Prints its address, never the key. */
export async function walletNew(options: WalletNewOptions, io: WalletIo): Promise<ExitCode> {
  const exposed = await exposure(io.env)
  if (exposed !== undefined) throw refused(exposed)
  const { password } = usable(await newPassword(options, io))
  return store({ key: randomKey(io), password }, options, io)
}

/** `wallet import`: stores an existing key in a new keystore. */
export async function walletImport(options: WalletImportOptions, io: WalletIo): Promise<ExitCode> {
  const { key } = usable((await exposure(io.env)) ?? (await givenKey(options, io)))
  const password = await newPassword(options, io)
  if (!password.ok) key.fill(0)
  return store({ key, password: usable(password).password }, options, io)
}

/** `wallet address`: opens the wallet and prints its key's address. */
export async function walletAddress(
  options: WalletAddressOptions,
  io: WalletIo,
): Promise<ExitCode> {
  const { keystore, privateKeyFile } = options
  if ((keystore === undefined) === (privateKeyFile === undefined))
    throw refused(usage('name one wallet', 'give --keystore or --private-key-file'))
  const opened = async () =>
    keystore === undefined ? keyIn(privateKeyFile ?? '', io) : unlocked(keystore, options, io)
  const { key } = usable((await exposure(io.env)) ?? (await opened()))
  const address = getAddress(addressOf(key))
  key.fill(0)
  return print<WalletAddressData>(io, options, { address }, () => [address])
}

function randomKey(io: WalletIo): Uint8Array {
  for (let tries = 0; tries < NEW_KEY_TRIES_MAX; tries++) {
    const checked = checkPrivateKey(io.randomBytes(32))
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
  const made = usable(await createKeystore({ file: options.out, ...secret, ...work }))
  const address = getAddress(made.address)
  const code = print<WalletData>(io, options, { address, keystore: options.out }, () => [address])
  if (!options.json)
    io.stderr.write(
      `wrote ${options.out}. Back it up together with its password: without both, the funds are lost.\n`,
    )
  return code
}

function keyIn(file: string, { readFile }: WalletIo): Promise<WalletKey> {
  return readWalletKey({ type: 'privateKeyFile', file }, { readFile, env: {} })
}

async function givenKey(options: WalletImportOptions, io: WalletIo): Promise<WalletKey> {
  const { privateKeyFile } = options
  if (privateKeyFile !== undefined) return keyIn(privateKeyFile, io)
  const text = (await io.readSecret('Private key: ')) ?? (await io.readPiped()) ?? ''
  const parsed = parsePrivateKey(text)
  if (parsed.ok) return parsed
  return {
    ok: false,
    message: `the entered key ${parsed.message}`,
    remedy: 'enter it again, pipe it in, or give --private-key-file',
  }
}

const TYPED_MIN = 8

async function newPassword(options: WalletNewOptions, io: WalletIo): Promise<Password> {
  if (options.passwordFile !== undefined) return readPassword(options.passwordFile, io.readFile)
  const password = await io.readSecret('Password for the new keystore: ')
  if (password === undefined) return noTerminal()
  if ((await io.readSecret('The same password again: ')) !== password)
    return { ok: false, message: 'the passwords differ', remedy: 'try again' }
  if (password.length < TYPED_MIN)
    return {
      ok: false,
      message: `a password of less than ${TYPED_MIN} characters is easy to guess`,
      remedy: 'choose a longer one: it alone protects a copied keystore',
    }
  return { ok: true, password, from: 'the terminal' }
}

async function unlocked(
  path: string,
  options: WalletAddressOptions,
  io: WalletIo,
): Promise<WalletKey> {
  const file = await readPrivately(path, io.readFile)
  if (!file.ok) return file
  const password = await knownPassword(options, io)
  if (!password.ok) return password
  return openKeystore({ path, text: file.text }, password)
}

async function knownPassword(options: WalletAddressOptions, io: WalletIo): Promise<Password> {
  if (options.passwordFile !== undefined) return readPassword(options.passwordFile, io.readFile)
  const password = await io.readSecret('Password of the keystore: ')
  return password === undefined ? noTerminal() : { ok: true, password, from: 'the terminal' }
}

function noTerminal(): Password {
  return usage('there is no terminal to ask for a password', 'give --password-file')
}

function usage(message: string, remedy: string): Failed {
  return { ok: false, message, remedy, exitCode: EXIT.usage }
}

function usable<Result extends { readonly ok: boolean }>(
  result: Result | Failed,
): Extract<Result, { readonly ok: true }> {
  if (result.ok) return result as Extract<Result, { readonly ok: true }>
  throw refused(result as Failed)
}

function refused({ message, remedy, exitCode: code = EXIT.failed }: Failed): Refusal {
  const data: Pick<WalletFailureData, 'remedy'> = { remedy: withoutKeys(remedy) }
  return new Refusal(message, { code, data, text: `tranched: ${message}\n  ${remedy}` })
}

export type WalletIo = Pick<Io, 'stdout' | 'stderr' | 'env'> & {
  /** Asks without echo. Undefined without a terminal; empty if interrupted. */
  readSecret(prompt: string): Promise<string | undefined>
  /** Piped text; undefined on a terminal. */
  readPiped(): Promise<string | undefined>
  readonly readFile: ReadSecretFile
  randomBytes(size: number): Uint8Array
  /** Work factor of new keystores, a power of two. Default: geth's. */
  readonly scryptN?: number
}

type Input = Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'> &
  AsyncIterable<unknown>

/** A key has 66 characters; longer input was piped by mistake. */
const PIPED_LENGTH_MAX = 4_096
const SECRET_LENGTH_MAX = 1_024
const BREAK_OFF = ['\u0003', '\u0004']
const ENTER = ['\r', '\n']
const DELETE = ['\u007f', '\b']

export function createWalletIo(
  stdin: Input,
  { stdout, stderr, env }: Pick<Io, 'stdout' | 'stderr' | 'env'>,
): WalletIo {
  return {
    stdout,
    stderr,
    env,
    async readSecret(prompt) {
      if (stdin.isTTY !== true) return undefined
      stderr.write(prompt)
      const secret = await readLineWithoutEcho(stdin)
      stderr.write('\n')
      return secret
    },
    async readPiped() {
      if (stdin.isTTY === true) return undefined
      let text = ''
      for await (const chunk of stdin) {
        text += String(chunk)
        if (text.length > PIPED_LENGTH_MAX) break
      }
      return text
    },
    readFile: readSecretFile,
    randomBytes: (size) => Uint8Array.from(randomBytes(size)),
  }
}

function readLineWithoutEcho(stdin: Input): Promise<string> {
  return new Promise((resolve) => {
    let typed = ''
    const finish = (line: string): void => {
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
      resolve(line)
    }
    const onData = (chunk: unknown): void => {
      for (const character of String(chunk)) {
        if (BREAK_OFF.includes(character) || ENTER.includes(character)) {
          finish(ENTER.includes(character) ? typed : '')
          return
        }
        typed = afterKey(typed, character)
      }
    }
    stdin.setRawMode(true)
    stdin.on('data', onData)
    stdin.resume()
  })
}

function afterKey(typed: string, character: string): string {
  if (DELETE.includes(character)) return typed.slice(0, -1)
  return character >= ' ' && typed.length < SECRET_LENGTH_MAX ? typed + character : typed
}
