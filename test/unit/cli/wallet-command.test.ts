import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as commands from '../../../src/cli/commands/account/wallet.ts'
import type { ExitCode } from '../../../src/cli/process/io.ts'
import { reportError } from '../../../src/cli/text/explain.ts'
import { readSecretFile } from '../../../src/signing/keys/keystore.ts'
import { outputOf } from '../../support/output-of.ts'

const KEY = '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d'
const ADDRESS = privateKeyToAddress(`0x${KEY}`)

let dir: string
let out: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tranched-wallet-'))
  out = join(dir, 'wallet.json')
})
afterEach(() => rm(dir, { recursive: true }))

const { createWalletIo } = commands
const walletNew = ending(commands.walletNew)
const walletImport = ending(commands.walletImport)
const walletAddress = ending(commands.walletAddress)

/** A command with its failures printed, as the program does. */
function ending<Options extends { readonly json?: boolean }>(
  command: (options: Options, io: commands.WalletIo) => Promise<ExitCode>,
) {
  return (options: Options, io: commands.WalletIo): Promise<ExitCode> =>
    command(options, io).catch((error: unknown) =>
      reportError(error, io, { json: options.json === true }),
    )
}

type Recorded = commands.WalletIo & {
  readonly texts: { stdout: string; stderr: string; prompts: string[] }
}

/** Answers prompts in order; without answers there is no terminal, only the pipe. */
function recordIo(
  given: { answers?: string[]; piped?: string; env?: Record<string, string> } = {},
): Recorded {
  const texts = { stdout: '', stderr: '', prompts: [] as string[] }
  const { answers } = given
  const streamOf = (name: 'stdout' | 'stderr') => {
    const write = (text: string) => {
      texts[name] += text
    }
    return { write } as unknown as NodeJS.WriteStream
  }
  return {
    texts,
    stdout: streamOf('stdout'),
    stderr: streamOf('stderr'),
    async readSecret(prompt) {
      texts.prompts.push(prompt)
      return answers === undefined ? undefined : (answers.shift() ?? '')
    },
    readPiped: async () => given.piped,
    readFile: readSecretFile,
    env: given.env ?? {},
    randomBytes: () => Uint8Array.from(Buffer.from(KEY, 'hex')),
    // The real work factor takes a second each time; keystore.test.ts covers it.
    scryptN: 1_024,
  }
}

async function secretFile(name: string, text: string, mode = 0o600): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, text)
  await chmod(path, mode)
  return path
}

function expectNoKey(io: Recorded): void {
  expect(JSON.stringify(io.texts).toLowerCase()).not.toContain(KEY.slice(0, 16))
}

test('a new wallet is a keystore that the same password opens, and only its address is printed', async () => {
  const io = recordIo({ answers: ['s3cret pass', 's3cret pass'] })
  expect(await walletNew({ out }, io)).toBe(0)
  expect(io.texts.stdout).toBe(`${ADDRESS}\n`)
  expectNoKey(io)
  expect((await stat(out)).mode & 0o777).toBe(0o600)

  const again = recordIo({ answers: ['s3cret pass'] })
  expect(await walletAddress({ keystore: out }, again)).toBe(0)
  expect(again.texts.stdout).toBe(`${ADDRESS}\n`)
  const wrong = recordIo({ answers: ['another'] })
  expect(await walletAddress({ keystore: out }, wrong)).toBe(1)
  expect(wrong.texts).toMatchObject({ stdout: '' })
  expect(wrong.texts.stderr).toContain('does not open')
})

test('a password file replaces the prompt, and --json prints data', async () => {
  const io = recordIo()
  const passwordFile = await secretFile('pass', 'from a file\n')
  expect(await walletNew({ out, passwordFile, json: true }, io)).toBe(0)
  expect(outputOf('wallet new', io.texts.stdout)).toMatchObject({ address: ADDRESS, keystore: out })
  expect(io.texts).toMatchObject({ stderr: '', prompts: [] })
})

test('a password that differs the second time creates no wallet', async () => {
  const io = recordIo({ answers: ['one', 'two'] })
  expect(await walletNew({ out }, io)).toBe(1)
  expect(io.texts.stderr).toContain('the passwords differ')
  await expect(stat(out)).rejects.toThrow('ENOENT')
})

test('usage is explained without a terminal and without a password file', async () => {
  const io = recordIo({ piped: KEY })
  expect(await walletNew({ out }, io)).toBe(2)
  expect(await walletImport({ out }, io)).toBe(2)
  expect(io.texts.stderr).toContain('--password-file')
  expectNoKey(io)
})

test('a trivial password creates no keystore', async () => {
  const io = recordIo({ answers: ['short', 'short'] })
  expect(await walletNew({ out, json: true }, io)).toBe(1)
  expect(io.texts.stdout).toContain('less than 8 characters')
  expect(existsSync(out)).toBe(false)
})

test('an existing wallet file is kept', async () => {
  await writeFile(out, 'precious')
  const io = recordIo({ answers: ['long enough', 'long enough'] })
  expect(await walletNew({ out, json: true }, io)).toBe(1)
  expect(outputOf('wallet new', io.texts.stdout)).toMatchObject({
    ok: false,
    message: `${out} exists already`,
  })
  expect(await readFile(out, 'utf8')).toBe('precious')
})

test('a key is imported from a file, from a pipe, or from the keyboard', async () => {
  const passwordFile = await secretFile('pass', 'p')
  const privateKeyFile = await secretFile('key', `0x${KEY}\n`)
  const ways = [
    [{ privateKeyFile }, recordIo()],
    [{}, recordIo({ piped: `${KEY}\n` })],
    [{}, recordIo({ answers: [KEY] })],
  ] as const
  for (const [index, [options, io]] of ways.entries()) {
    const file = join(dir, `${index}.json`)
    expect(await walletImport({ ...options, out: file, passwordFile }, io)).toBe(0)
    expect(io.texts.stdout).toBe(`${ADDRESS}\n`)
    expectNoKey(io)
  }
})

test('an invalid key is neither imported nor printed', async () => {
  const io = recordIo({ piped: `${KEY}${KEY}` })
  const passwordFile = await secretFile('pass', 'p')
  expect(await walletImport({ out, passwordFile }, io)).toBe(1)
  expect(io.texts.stderr).toContain('no private key')
  expectNoKey(io)
})

test('a key file that other users can read is not imported', async () => {
  const io = recordIo({ answers: ['a', 'a'] })
  const privateKeyFile = await secretFile('key', KEY, 0o644)
  expect(await walletImport({ out, privateKeyFile }, io)).toBe(1)
  expect(io.texts.stderr).toContain(`chmod 600 ${privateKeyFile}`)
})

test('the address of a key file is printed', async () => {
  const io = recordIo()
  const privateKeyFile = await secretFile('key', KEY)
  expect(await walletAddress({ privateKeyFile, json: true }, io)).toBe(0)
  expect(outputOf('wallet address', io.texts.stdout)).toMatchObject({ address: ADDRESS })
})

test('an address requires exactly one wallet', async () => {
  for (const options of [{}, { keystore: out, privateKeyFile: out }]) {
    const io = recordIo()
    expect(await walletAddress(options, io)).toBe(2)
    expect(io.texts.stderr).toContain('--keystore or --private-key-file')
  }
})

test('no wallet command loads a key into a process whose memory others can read', async () => {
  const privateKeyFile = await secretFile('a.key', KEY)
  const io = recordIo({
    answers: ['s3cret pass', 's3cret pass'],
    env: { NODE_OPTIONS: '--inspect' },
  })
  expect(await walletNew({ out }, io)).toBe(1)
  expect(await walletImport({ out, privateKeyFile }, io)).toBe(1)
  expect(await walletAddress({ privateKeyFile }, io)).toBe(1)
  expect(
    io.texts.stderr.match(/NODE_OPTIONS has --inspect: others could read a key/g),
  ).toHaveLength(3)
  expect(existsSync(out)).toBe(false)
})

/** A terminal as the prompt sees it: its echo changes, and its output. */
function terminal(isTTY: boolean) {
  const shown: string[] = []
  const raw: boolean[] = []
  const stdin = Object.assign(new PassThrough(), {
    isTTY,
    setRawMode(mode: boolean) {
      raw.push(mode)
      return stdin
    },
  })
  const output = { write: (text: string) => shown.push(text) } as unknown as NodeJS.WriteStream
  // The prompt uses a handful of a terminal's methods, all of which are here.
  const io = createWalletIo(stdin as never, { stdout: output, stderr: output, env: {} })
  return { io, stdin, shown, raw }
}

test('a secret is read from the terminal without echo, with corrections', async () => {
  const { io, stdin, shown, raw } = terminal(true)
  const answer = io.readSecret('Password: ')
  stdin.write('pasx')
  stdin.write('\u007fs wörd\u001b')
  stdin.write('\rleft over')
  expect(await answer).toBe('pass wörd')
  expect(shown).toEqual(['Password: ', '\n'])
  expect(raw).toEqual([true, false])
})

test('an interrupted answer is empty', async () => {
  const { io, stdin } = terminal(true)
  const answer = io.readSecret('Password: ')
  stdin.write('half\u0003')
  expect(await answer).toBe('')
})

test('a pipe is read to its end and never prompts', async () => {
  const { io, stdin } = terminal(false)
  stdin.end(`${KEY}\n`)
  expect(await io.readSecret('Password: ')).toBeUndefined()
  expect(await io.readPiped()).toBe(`${KEY}\n`)
})

test('an endless pipe is given up after a while', async () => {
  const { io, stdin } = terminal(false)
  const timer = setInterval(() => stdin.write('x'.repeat(1_000)), 1)
  const text = await io.readPiped()
  clearInterval(timer)
  expect(text?.length).toBeLessThan(20_000)
})
